"""What judges wrote about the papers whose score moved most: the section ``reviews`` of a suite's results.

Looks up answers that are stored; which shifts are worth reading is decided here, how they are shown is the report's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import polars as pl

from storage.results import ConfigurationResult, ReviewPair
from storage.store import Store
from storage.vocabulary import ORIGINAL

SHIFTS = 4
"""Shifts a judge, at most two of one paper."""
A_PAPER = 2
LONGEST = 4_000
"""Characters of one answer that are kept; the whole is in the store (``evenhand trace KEY``)."""


class Shift(NamedTuple):
    """A version that moved a judge's score."""

    family: str
    label: str
    size: float


def worst_shifts(scores: Mapping[str, Mapping[str, float | None]], most: int = SHIFTS) -> list[Shift]:
    """The largest shifts of one judge against the original, in either direction, at most two a paper.

    Args:
        scores: family -> version label -> score, as in ``ConfigurationResult.scores``.
        most: how many.
    """
    found = []
    for family, row in scores.items():
        first = row.get(ORIGINAL)
        if first is not None:
            found += [
                Shift(family, label, score - first)
                for label, score in row.items()
                if label != ORIGINAL and score is not None and score != first
            ]
    found.sort(key=lambda shift: -abs(shift.size))
    taken: dict[str, int] = {}
    chosen: list[Shift] = []
    for shift in found:
        taken[shift.family] = taken.get(shift.family, 0) + 1
        if taken[shift.family] <= A_PAPER and len(chosen) < most:
            chosen.append(shift)
    return chosen


def review_pairs(
    store: Store, cells: pl.DataFrame, configurations: Iterable[ConfigurationResult], most: int = SHIFTS
) -> list[dict[str, Any]]:
    """The answers behind the worst shifts of every judge, as the JSON of ``ReviewPair``.

    Args:
        store: where answers are remembered.
        cells: the suite's cells as ``flows.numbers`` joins them: configuration, family, version, repeat, key, outcome.
        configurations: the judges with their scores.
        most: shifts a judge.

    Returns:
        One entry a shift, largest first within a judge; shifts without stored answers are left out.
    """
    wanted = [(each.name, shift) for each in configurations for shift in worst_shifts(each.scores, most)]
    keys = _first_keys(cells)
    needed = {
        key
        for name, shift in wanted
        for label in (ORIGINAL, shift.label)
        if (key := keys.get((name, shift.family, label))) is not None
    }
    texts = _answers(store, needed)
    found = []
    for name, shift in wanted:
        original, reworded = (texts.get(keys.get((name, shift.family, label), "")) for label in (ORIGINAL, shift.label))
        if original is None or reworded is None:
            continue
        condition, _, producer = shift.label.partition("/")
        pair = ReviewPair(
            configuration=name,
            family=shift.family,
            condition=condition,
            producer=producer,
            original=original[:LONGEST],
            reworded=reworded[:LONGEST],
            is_cut=max(len(original), len(reworded)) > LONGEST,
        )
        found.append(pair.model_dump(mode="json"))
    return found


def _first_keys(cells: pl.DataFrame) -> dict[tuple[str, str, str], str]:
    """Configuration, family and version -> the judgement of its first answered repeat."""
    answered = cells.filter(pl.col("outcome") == "answered").sort("repeat", maintain_order=True)
    first = answered.unique(["configuration", "family", "version"], keep="first", maintain_order=True)
    rows = first.select("configuration", "family", "version", "key").iter_rows()
    return {(configuration, family, version): key for configuration, family, version, key in rows}


def _answers(store: Store, keys: set[str]) -> dict[str, str]:
    """Judgement key -> the answers it was read from, in order."""
    if not keys:
        return {}
    rows = store.query(
        """
        WITH asked AS (
            SELECT j.key, unnest(j.attempt_ids) AS attempt_id, generate_subscripts(j.attempt_ids, 1) AS place
            FROM judgements_best j JOIN wanted_reviews w ON w.key = j.key
        )
        SELECT a.key, string_agg(c.answer, chr(10) || chr(10) ORDER BY a.place) AS answer
        FROM asked a JOIN calls c ON c.attempt_id = a.attempt_id
        WHERE c.answer IS NOT NULL
        GROUP BY a.key
        """,
        frames={"wanted_reviews": pl.DataFrame({"key": sorted(keys)})},
    )
    return dict(zip(rows["key"].to_list(), rows["answer"].to_list(), strict=True))
