"""The metrics of SciStyleBench for one judge and context: SBI, SRR, AWR, ADR and their kernels over ideas.

Definitions only. Ranks and agreement are ``style_ranks.py``, the whole document is ``style_results.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tasks.metrics.fast import Kernel, divide
from tasks.metrics.grid import Floats, Point
from tasks.metrics.style_frame import DIMENSIONS, PARAPHRASE, PLAIN, STYLE_ONLY, StyleGrid

Numbers = tuple[Point, Kernel]
COLLAPSE_SBI, COLLAPSE_RATE = 0.5, 0.1
"""A judge with an SBI below the first and both SRR and AWR below the second scores everything alike."""


def _absolute_bias(grid: StyleGrid, variant: str, dimension: int | None) -> Floats:
    """|(J(p) - J(plain)) - (J(para) - J(plain))| as printed; a cell needs all three scores (ideas x dimensions)."""
    plain = grid.scores(PLAIN)
    bias = np.abs((grid.scores(variant) - plain) - (grid.scores(PARAPHRASE) - plain))
    return bias if dimension is None else bias[:, [dimension]]


def _absolute_drift(grid: StyleGrid, variant: str, dimension: int | None) -> Floats:
    """|J(p) - J(plain)| (ideas x dimensions)."""
    drift = np.abs(grid.scores(variant) - grid.scores(PLAIN))
    return drift if dimension is None else drift[:, [dimension]]


def _mean_of_means(cells: Sequence[Floats], subtract: Floats | None = None) -> Numbers:
    """Mean over variants of the mean over observed cells, less the mean of ``subtract``; ``n`` counts cells.

    Variants without any cell are left out and flagged: the rest keep equal weight.
    """
    present = [one for one in cells if (~np.isnan(one)).any()]
    flags = ("variants_missing",) if len(present) < len(cells) else ()
    columns = [*present, *([] if subtract is None else [subtract])]
    ideas = (cells[0] if subtract is None else subtract).shape[0]
    empty = Kernel(lambda weights: np.full(weights.shape[0], np.nan), np.zeros(ideas, dtype=bool))
    if not present:
        return Point(None, 0, "no idea has scores for the variants that are compared"), empty
    if subtract is not None and not (~np.isnan(subtract)).any():
        return Point(None, 0, f"no idea has scores for both {PARAPHRASE} and {PLAIN}"), empty
    seen = np.stack([(~np.isnan(one)).sum(axis=1) for one in columns], axis=1).astype(float)
    sums = np.stack([np.nansum(one, axis=1) for one in columns], axis=1)
    m = len(present)

    def value(weights: Floats) -> Floats:
        means = divide(weights @ sums, weights @ seen)
        level = means[:, :m].mean(axis=1)
        return np.asarray(level if subtract is None else level - means[:, m])

    point = float(value(np.ones((1, ideas)))[0])
    return Point(point, int(seen[:, :m].sum()), flags=flags), Kernel(value, seen[:, :m].sum(axis=1) > 0)


def sbi(grid: StyleGrid, variants: Sequence[str] = STYLE_ONLY, dimension: int | None = None) -> Numbers:
    """Style bias index as printed; the plain terms cancel, so it is the drift from the paraphrase."""
    return _mean_of_means([_absolute_bias(grid, variant, dimension) for variant in variants])


def sbi_plain(grid: StyleGrid, variants: Sequence[str] = STYLE_ONLY, dimension: int | None = None) -> Numbers:
    """Mean absolute drift from the plain core."""
    return _mean_of_means([_absolute_drift(grid, variant, dimension) for variant in variants])


def sbi_net(grid: StyleGrid, variants: Sequence[str] = STYLE_ONLY, dimension: int | None = None) -> Numbers:
    """SBI_plain less that of the paraphrase: drift beyond what any rewrite causes."""
    return _mean_of_means([_absolute_drift(grid, variant, dimension) for variant in variants],
                          _absolute_drift(grid, PARAPHRASE, dimension))


def win_rates(grid: StyleGrid, pairs: Sequence[tuple[str, str]]) -> dict[str, Numbers]:
    """Shares of (idea, pair) where the first scores strictly higher overall (``wins``) or just as high (``ties``)."""
    wins, ties, seen = (np.zeros(len(grid.ideas)) for _ in range(3))
    for better, worse in pairs:
        gap = grid.total(better) - grid.total(worse)
        seen += ~np.isnan(gap)
        wins += gap > 0
        ties += gap == 0
    return {"wins": _rate(wins, seen), "ties": _rate(ties, seen)}


def _rate(top: Floats, seen: Floats) -> Numbers:
    parts = np.stack([top, seen], axis=1)

    def value(weights: Floats) -> Floats:
        sums = weights @ parts
        return divide(sums[:, 0], sums[:, 1])

    n = int(seen.sum())
    point = Point(float(top.sum()) / n, n) if n else Point(None, 0, "no idea has an overall score for both of a pair")
    return point, Kernel(value, seen > 0)


def score_delta(grid: StyleGrid, variants: Sequence[str]) -> Numbers:
    """Mean signed change of the overall score against plain; ``n`` counts (idea, variant) cells."""
    gaps = np.stack([grid.total(variant) - grid.total(PLAIN) for variant in variants], axis=1)
    seen = ~np.isnan(gaps)
    point, kernel = _rate(np.nansum(gaps, axis=1), seen.sum(axis=1).astype(float))
    if point.value is None:
        return Point(None, 0, f"no idea has an overall score for {PLAIN} and a variant"), kernel
    return point, kernel


def adr(grid: StyleGrid, variants: Sequence[str] = STYLE_ONLY) -> Numbers:
    """Aggregation dilution: 1 - |mean shift of overall| / mean over dimensions of |mean shift|, mean over variants.

    Ours: the benchmark's paper names it without a formula. Shifts are means over ideas, against plain. 1 says that the
    overall score hides all that the dimensions show; negative, that it moves more than they do. A variant whose
    dimensions do not move at all has no ratio and is left out.
    """
    shifts = np.stack(
        [np.concatenate([grid.scores(v) - grid.scores(PLAIN), (grid.total(v) - grid.total(PLAIN))[:, None]], axis=1)
         for v in variants], axis=1)
    seen = ~np.isnan(shifts)
    ideas, flat = shifts.shape[0], shifts.shape[1] * shifts.shape[2]
    sums, counts = np.where(seen, shifts, 0.0).reshape(ideas, flat), seen.reshape(ideas, flat).astype(float)

    def value(weights: Floats) -> Floats:
        means = divide(weights @ sums, weights @ counts).reshape(-1, len(variants), len(DIMENSIONS) + 1)
        by_dimension = np.abs(means[:, :, :-1]).mean(axis=2)
        ratios = 1 - divide(np.abs(means[:, :, -1]), by_dimension)
        defined = ~np.isnan(ratios)
        return divide(np.where(defined, ratios, 0.0).sum(axis=1), defined.sum(axis=1).astype(float))

    used = seen.any(axis=(1, 2))
    point = float(value(np.ones((1, ideas)))[0])
    if np.isnan(point):
        return Point(None, 0, "no variant moves any dimension, or scores are missing"), Kernel(value, used)
    return Point(point, int(used.sum())), Kernel(value, used)


def collapsed(index: Point, substance: Point, adversarial: Point) -> bool:
    """Whether a low SBI is no virtue: the judge hardly ever prefers substance, nor sees through deception."""
    values = [point.value for point in (index, substance, adversarial)]
    limits = (COLLAPSE_SBI, COLLAPSE_RATE, COLLAPSE_RATE)
    return all(value is not None and value < limit for value, limit in zip(values, limits, strict=True))


HEADLINES: dict[str, Callable[..., Numbers]] = {
    "sbi": sbi, "sbi_plain": sbi_plain, "sbi_net": sbi_net, "adr": adr,
}
"""Each takes a grid and, optionally, the variants (by default the style-only ones)."""
