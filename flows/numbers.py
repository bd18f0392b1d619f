"""From judgements to frames: the cells of a suite joined with what is stored of them, and what they cost.

Queries and joins only; formulas belong to ``tasks.metrics``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from flows.grid import Grid, cells_by_label
from flows.suites import Suite
from storage.results import CellCounts, Spend
from storage.store import Store

NOT_RUN = "not_run"
OVERALL = "overall"


@dataclass(frozen=True)
class Judged:
    """Every cell of a suite with what is stored of it.

    ``cells`` has the columns configuration, family, version (label), repeat, key, outcome (``not_run`` where there is
    no judgement), reason and overall (null unless answered).
    """

    cells: pl.DataFrame


def judged(suite: Suite, store: Store, grid: Grid) -> Judged:
    """Join the wanted cells of every configuration with the judgements that count."""
    columns: dict[str, list[object]] = {name: [] for name in ("configuration", "family", "version", "repeat", "key")}
    for configuration in suite.judge.all_configurations():
        endpoint = suite.judge.endpoints[configuration.endpoint]
        for version, cell in cells_by_label(configuration, endpoint, grid, suite.judge.repeats):
            row = (configuration.name, version.family.family, version.label, cell.repeat, cell.key)
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
    schema = {
        "configuration": pl.String,
        "family": pl.String,
        "version": pl.String,
        "repeat": pl.Int64,
        "key": pl.String,
    }
    wanted = pl.DataFrame(columns, schema=schema)
    found = store.query(
        "SELECT key, outcome, reason, scores[?] AS overall FROM judgements_best "
        "WHERE key IN (SELECT key FROM wanted_keys)",
        [OVERALL],
        frames={"wanted_keys": wanted.select(pl.col("key").unique())},
    )
    joined = wanted.join(found, on="key", how="left").with_columns(pl.col("outcome").fill_null(NOT_RUN))
    return Judged(joined)


def cell_counts(cells: pl.DataFrame) -> CellCounts:
    """Wanted, answered and missing cells of one configuration."""
    outcomes = Counter(cells["outcome"].to_list())
    answered = outcomes.pop("answered", 0)
    return CellCounts(wanted=cells.height, answered=answered, missing=dict(sorted(outcomes.items())))


def score_frame(cells: pl.DataFrame) -> pl.DataFrame:
    """Columns configuration, family, version, score: the mean over the answered repeats, null where there is none."""
    return cells.group_by("configuration", "family", "version", maintain_order=True).agg(
        pl.col("overall").mean().alias("score")
    )


def spending(store: Store, cells: pl.DataFrame) -> dict[str, Spend]:
    """What the calls behind each configuration's judgements cost: every attempt; shared calls count for each."""
    rows = store.query(
        """
        WITH asked AS (
            SELECT DISTINCT w.configuration, unnest(j.call_keys) AS key
            FROM wanted_cells w JOIN judgements j ON j.key = w.key
        )
        SELECT a.configuration, count(DISTINCT c.key) AS calls, count(*) AS attempts,
               coalesce(sum(c.input_tokens), 0) AS input_tokens, coalesce(sum(c.output_tokens), 0) AS output_tokens,
               sum(c.cost_usd) AS usd, bool_or(c.cost_usd IS NULL AND c.input_tokens IS NOT NULL) AS is_unpriced,
               coalesce(sum(c.latency_ms), 0) / 1000 AS seconds
        FROM asked a JOIN calls c ON c.key = a.key
        GROUP BY a.configuration
        """,
        frames={"wanted_cells": cells.select("configuration", "key").unique()},
    )
    return {row["configuration"]: _spend(row) for row in rows.iter_rows(named=True)}


def _spend(row: dict[str, object]) -> Spend:
    return Spend.model_validate(
        {
            "calls": row["calls"],
            "attempts": row["attempts"],
            "input_tokens": row["input_tokens"],
            "output_tokens": row["output_tokens"],
            "usd": None if row["is_unpriced"] else row["usd"] or 0.0,
            "seconds": row["seconds"],
        }
    )


def total(parts: Sequence[Spend]) -> Spend:
    """The sum; its dollars are unknown when any part's are."""
    known = [part.usd for part in parts if part.usd is not None]
    return Spend(
        calls=sum(part.calls for part in parts),
        attempts=sum(part.attempts for part in parts),
        input_tokens=sum(part.input_tokens for part in parts),
        output_tokens=sum(part.output_tokens for part in parts),
        usd=sum(known) if len(known) == len(parts) else None,
        seconds=sum(part.seconds for part in parts),
    )
