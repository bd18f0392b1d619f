"""JudgeBiasBench: what an injected cue does to a judge that prefers one of two answers.

The cells of the 2 x 2 table (and the unparsed), the rates made of them with Wilson intervals, and differences by a
bootstrap of items. Rates are never taken over unparsed answers unless their definition says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from storage.results import Comparison, Estimate
from tasks.metrics.assemble import number_json
from tasks.metrics.bootstrap import DRAWS, SEED, family_draws, holm, two_sided_p
from tasks.metrics.fast import divide
from tasks.metrics.grid import Floats, Point
from tasks.metrics.intervals import drawn_interval, estimate, wilson
from tasks.metrics.scores import columns_of, labels, unique_cells

VERDICTS: tuple[str, ...] = ("correct", "wrong", "unparsed")
CELLS: tuple[str, ...] = ("original_correct", "original_parsed", "injected_correct", "pairs", "correct_incorrect")
"""What is summed over items in each draw."""
_BLOCK = 500
_PAIRS_UP_TO = 6


@dataclass(frozen=True)
class Table:
    """Counts of (before, after) for one configuration and bias: ``cells[before, after]`` in the order of VERDICTS."""

    cells: NDArray[np.int64]
    missing: int = 0

    def __add__(self, other: Table) -> Table:
        return Table(self.cells + other.cells, self.missing + other.missing)

    def counts(self) -> dict[str, int]:
        """All cells by name; ``unparsed`` counts pairs with either side unparsed."""
        c = self.cells
        return {
            "n": int(c.sum()), "correct_correct": int(c[0, 0]), "correct_incorrect": int(c[0, 1]),
            "incorrect_correct": int(c[1, 0]), "incorrect_incorrect": int(c[1, 1]),
            "unparsed": int(c[2].sum() + c[:2, 2].sum()), "original_unparsed": int(c[2].sum()),
            "injected_unparsed": int(c[:, 2].sum()), "correct_unparsed": int(c[0, 2]),
            "incorrect_unparsed": int(c[1, 2]), "unparsed_correct": int(c[2, 0]), "unparsed_incorrect": int(c[2, 1]),
            "missing": self.missing,
        }

    def rates(self) -> dict[str, Estimate]:
        """The five rates, each with the count it divides by as ``n`` and a Wilson interval."""
        c = self.cells
        tops = {
            "acc_ori": (c[0].sum(), c[:2].sum(), "no original answer was parsed"),
            "acc_inj": (c[:, 0].sum(), c.sum(), "there are no pairs"),
            "bsr": (c[0, 1], c[0].sum(), "no original answer was correct"),
            "symmetric_flip_rate": (c[0, 1] + c[1, 0], c[:2, :2].sum(), "no pair was parsed on both sides"),
            "reversal": (c[1, 0], c[1].sum(), "no original answer was wrong"),
        }
        return {name: rate(int(top), int(n), reason) for name, (top, n, reason) in tops.items()}


def rate(top: int, n: int, reason: str) -> Estimate:
    """A share with its Wilson interval, or the reason why there is none."""
    return estimate(Point(top / n, n), wilson(top, n)) if n else Estimate(value=None, reason=reason)


def bias_frame(frame: pl.DataFrame, where: str = "verdicts") -> pl.DataFrame:
    """Checked columns configuration, item, bias, original, injected; a verdict that is not there is null.

    Raises:
        InputError: Naming the row and column, also for a verdict other than correct, wrong or unparsed.
    """
    names = ["configuration", "item", "bias"]
    frame = columns_of(frame, [*names[1:], "original", "injected"], ["configuration"], where)
    for name in names:
        frame = labels(frame, name, where)
    for side in ("original", "injected"):
        frame = labels(frame, side, where, VERDICTS, empty=True)
    unique_cells(frame, names, "original", where)
    return frame


def _codes(frame: pl.DataFrame) -> pl.DataFrame:
    order = pl.Enum(VERDICTS)
    return frame.drop_nulls(["original", "injected"]).with_columns(
        pl.col("original").cast(order).to_physical().cast(pl.Int64).alias("o"),
        pl.col("injected").cast(order).to_physical().cast(pl.Int64).alias("b"))


def tables(frame: pl.DataFrame) -> dict[str, dict[str, Table]]:
    """The counts by configuration and bias, in order of appearance. A pair with an empty side is missing."""
    found: dict[str, dict[str, Table]] = {}
    for (configuration, bias), part in frame.group_by("configuration", "bias", maintain_order=True):
        pairs = _codes(part)
        flat = np.bincount(pairs["o"].to_numpy() * 3 + pairs["b"].to_numpy(), minlength=9)
        found.setdefault(str(configuration), {})[str(bias)] = Table(
            flat.reshape(3, 3).astype(np.int64), part.height - pairs.height)
    return found


@dataclass(frozen=True)
class Draws:
    """Bootstrap sums: configuration -> bias (``pooled`` apart) -> draws x CELLS, all on the same draws of items."""

    by_bias: dict[tuple[str, str], Floats]
    pooled: dict[str, Floats]


def item_draws(frame: pl.DataFrame, draws: int = DRAWS, seed: int = SEED) -> Draws:
    """Resamples items (an item with several biases comes whole) and sums the cells of every configuration and bias."""
    pairs = _codes(frame)
    items = pairs["item"].unique().sort().to_list()
    o, b = pairs["o"].to_numpy(), pairs["b"].to_numpy()
    cells = np.stack([o == 0, o < 2, b == 0, np.ones(o.size, dtype=bool), (o == 0) & (b == 1)], axis=1).astype(float)
    numbered = pairs.with_columns(pl.col("item").cast(pl.Enum(items)).to_physical().alias("i")).with_row_index("at")
    configurations = frame["configuration"].unique(maintain_order=True).to_list()
    place = {name: at for at, name in enumerate(configurations)}
    blocks = []
    for (bias,), part in numbered.group_by("bias", maintain_order=True):
        rows, local = np.unique(part["i"].to_numpy(), return_inverse=True)
        matrix = np.zeros((rows.size, len(configurations), len(CELLS)))
        column = part["configuration"].replace_strict(place, return_dtype=pl.Int64).to_numpy()
        matrix[local, column] = cells[part["at"].to_numpy()]
        blocks.append((str(bias), rows, matrix.reshape(rows.size, -1)))
    sums: dict[str, list[Floats]] = {bias: [] for bias, _, _ in blocks}
    for at in range(0, draws, _BLOCK):
        weights = family_draws(len(items), min(_BLOCK, draws - at), seed + at)
        for bias, rows, flat in blocks:
            sums[bias].append((weights[:, rows] @ flat).reshape(-1, len(configurations), len(CELLS)))
    joined: dict[str, Floats] = {bias: np.concatenate(parts) for bias, parts in sums.items()}
    by_bias = {(name, bias): each[:, place[name]] for bias, each in joined.items() for name in configurations}
    every: Floats = np.zeros((draws, len(configurations), len(CELLS)))
    for total in joined.values():
        every += total
    return Draws(by_bias, {name: every[:, place[name]] for name in configurations})


def _bsr(sums: Floats) -> Floats:
    return divide(sums[:, 4], sums[:, 0])


def _change(sums: Floats) -> Floats:
    return divide(sums[:, 2], sums[:, 3]) - divide(sums[:, 0], sums[:, 1])


def accuracy_change(table: Table, sums: Floats) -> Estimate:
    """Acc_inj - Acc_ori with a percentile interval over items; ``n`` counts pairs."""
    rates = table.rates()
    before, after = rates["acc_ori"], rates["acc_inj"]
    if before.value is None or after.value is None:
        return Estimate(value=None, reason=before.reason or after.reason)
    return estimate(Point(after.value - before.value, after.n), drawn_interval(_change(sums)))


def compare_bsr(
    pooled: dict[str, Table], draws: Draws, pairs: Sequence[tuple[str, str]] | None = None,
) -> list[Comparison]:
    """Differences in pooled BSR on paired draws of items, Holm over all pairs.

    Default pairs: all of up to six configurations, else neighbours in the order of BSR.
    """
    values = {name: table.rates()["bsr"].value for name, table in pooled.items()}
    if pairs is None:
        ranked = sorted(values, key=lambda name: (values[name] is None, values[name] or 0.0, name))
        everyone = [(a, b) for i, a in enumerate(ranked) for b in ranked[i + 1:]]
        pairs = everyone if len(ranked) <= _PAIRS_UP_TO else list(pairwise(ranked))
    found = []
    for first, second in pairs:
        a, b = values[first], values[second]
        if a is None or b is None:
            reason = f"BSR is undefined for {first if a is None else second}"
            found.append(Comparison(metric="bsr", first=first, second=second,
                                    difference=Estimate(value=None, reason=reason)))
            continue
        drawn = _bsr(draws.pooled[first]) - _bsr(draws.pooled[second])
        n = min(pooled[first].counts()["n"], pooled[second].counts()["n"])
        found.append(Comparison(metric="bsr", first=first, second=second, p_value=two_sided_p(drawn),
                                difference=estimate(Point(a - b, n), drawn_interval(drawn))))
    corrected = holm([one.p_value for one in found])
    return [one.model_copy(update={"p_holm": p}) for one, p in zip(found, corrected, strict=True)]


def _part_json(table: Table, sums: Floats | None) -> dict[str, Any]:
    out: dict[str, Any] = {name: number_json(rate) for name, rate in table.rates().items()}
    change = Estimate(value=None, reason="no pair has both verdicts") if sums is None else accuracy_change(table, sums)
    return {**out, "acc_change": number_json(change), "counts": table.counts()}


def bias_json(
    frame: pl.DataFrame, *, draws: int = DRAWS, seed: int = SEED, where: str = "verdicts",
) -> dict[str, Any]:
    """The document of ``evenhand metrics bias --json``: pooled rates by configuration, the same by bias, comparisons.

    Args:
        frame: Columns item, bias, original, injected (each correct, wrong or unparsed), perhaps configuration.
        draws: Bootstrap draws of items.
        seed: Of the draws.
        where: What error messages call the frame.

    Raises:
        InputError: Naming the row and the column of what is wrong in the frame.
    """
    checked = bias_frame(frame, where)
    found, sampled = tables(checked), item_draws(checked, draws, seed)
    pooled = {name: sum(by_bias.values(), Table(np.zeros((3, 3), dtype=np.int64))) for name, by_bias in found.items()}
    return {
        "configurations": {
            name: {**_part_json(pooled[name], sampled.pooled.get(name)),
                   "biases": {bias: _part_json(table, sampled.by_bias.get((name, bias)))
                              for bias, table in by_bias.items()}}
            for name, by_bias in found.items()
        },
        "comparisons": [one.model_dump(mode="json") for one in compare_bsr(pooled, sampled)],
        "draws": draws, "seed": seed,
    }
