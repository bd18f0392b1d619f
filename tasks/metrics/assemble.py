"""All robustness numbers of one frame of scores: points, intervals, effects, comparisons, flags.

The entry points of RobustReview. Nothing is defined here; it is put together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import polars as pl

from storage.results import ROBUST_METRICS, Comparison, Effect, Estimate
from tasks.metrics import fast, robust
from tasks.metrics.bootstrap import DRAWS, SEED, families_needed, family_draws, holm, two_sided_p
from tasks.metrics.effects import effects, variance_components
from tasks.metrics.grid import Floats, Grid, Point, complete_rows
from tasks.metrics.intervals import DEFAULT_METHODS, Interval, drawn_interval, estimate, icc_f_interval, interval
from tasks.metrics.scores import grids, robust_frame
from tasks.metrics.stability import CHANCE, Spread, false_robustness, lowest_quarter, spread

ALL_PAIRS_UP_TO = 6
"""With more configurations, the default is to compare neighbours in the order of ICC(A,1)."""
COMPARED: tuple[str, ...] = ("mad", "discriminability")


@dataclass(frozen=True)
class ConfigurationNumbers:
    """Everything about one configuration."""

    metrics: dict[str, Estimate]
    """The seven, ``human_mae_isotonic``, ``icc_a1_cluster`` and, with a null arm, ``noise_*`` and ``excess_mad``."""
    false_robustness: list[str]
    spread: Spread
    components: dict[str, Estimate]
    scores: dict[str, dict[str, float | None]]
    """family -> version -> score, null arm included."""


@dataclass(frozen=True)
class RobustResults:
    """Everything about a frame of scores."""

    configurations: dict[str, ConfigurationNumbers]
    effects: list[Effect]
    comparisons: list[Comparison]
    families: list[str]
    draws: int
    seed: int


@dataclass(frozen=True)
class _Work:
    """One configuration with its kernels and what they gave on the shared draws."""

    grid: Grid
    points: dict[str, Point]
    kernels: dict[str, fast.Kernel]
    drawn: dict[str, Floats]


def _points(y: Floats, human: Floats) -> dict[str, Point]:
    return {
        "mad": robust.mad(y), "drift_sd": robust.drift_sd(y), "icc_a1": robust.icc_a1(y), "spr": robust.spr(y),
        "discriminability": robust.discriminability(y), "human_mae": robust.human_mae(y, human),
        "human_spearman": robust.human_spearman(y, human),
    }


def _work(grid: Grid, weights: Floats) -> _Work:
    points, kernels = _points(grid.y, grid.human), fast.robust_kernels(grid.y, grid.human)
    points["human_mae_isotonic"] = robust.human_mae_isotonic(grid.y, grid.human)
    kernels["human_mae_isotonic"] = fast.mean_kernel(robust.human_residuals(grid.y, grid.human))
    if grid.null is not None:
        null = _points(grid.null, grid.human)
        null_kernels = fast.repeat_kernels(grid.null)
        for name, kernel in null_kernels.items():
            points[f"noise_{name}"], kernels[f"noise_{name}"] = null[name], kernel
        excess = fast.excess_kernel(grid.y, grid.null)
        points["excess_mad"], kernels["excess_mad"] = _excess_point(excess, grid), excess
    drawn = {name: kernel.value(weights) for name, kernel in kernels.items()}
    return _Work(grid, points, kernels, drawn)


def _excess_point(kernel: fast.Kernel, grid: Grid) -> Point:
    n = int(kernel.used.sum())
    if n == 0:
        return Point(None, 0, "no family has pairs both in the rewrites and in the null arm")
    value = float(kernel.value(np.ones((1, len(grid.families))))[0])
    return Point(value, n, flags=("few",) if n < robust.FEW else ())


def _interval(name: str, work: _Work, weights: Floats, methods: Mapping[str, str]) -> Interval:
    base = name.removeprefix("noise_")
    method = methods.get(base, "bca")
    if base == "human_spearman" and work.points[name].n < robust.FEW:
        return Interval(None, None, None, f"fewer than {robust.FEW} pairs")
    if method != "f":
        return interval(work.kernels[name], weights, method, work.drawn[name])
    y = work.grid.null if name.startswith("noise_") and work.grid.null is not None else work.grid.y
    return _f_interval(y[complete_rows(y)])


def _f_interval(complete: Floats) -> Interval:
    """The F interval of ICC(A,1) over settings that differ: one that repeats another in every family is no evidence."""
    distinct = np.unique(complete, axis=1)
    if distinct.shape[1] == complete.shape[1]:
        return icc_f_interval(robust.mean_squares(complete))
    if distinct.shape[1] < 2:
        return Interval(None, None, None, "no residual variance: no F interval")
    limits = icc_f_interval(robust.mean_squares(distinct))
    return replace(limits, flags=(*limits.flags, "repeated_settings"))


def _metrics(work: _Work, weights: Floats, methods: Mapping[str, str]) -> dict[str, Estimate]:
    found = {}
    for name, point in work.points.items():
        found[name] = estimate(point, _interval(name, work, weights, methods) if point.value is not None else None)
    cluster = work.points["icc_a1"]
    limits = interval(work.kernels["icc_a1"], weights, methods["icc_a1_cluster"], work.drawn["icc_a1"])
    found["icc_a1_cluster"] = estimate(cluster, limits if cluster.value is not None else None)
    return found


def default_pairs(icc: Mapping[str, float | None]) -> list[tuple[str, str]]:
    """Which configurations to compare when nobody says: all pairs of up to six, else neighbours in ICC(A,1)."""
    names = list(icc)
    if len(names) <= ALL_PAIRS_UP_TO:
        return [(a, b) for i, a in enumerate(names) for b in names[i + 1:]]
    ranked = sorted(names, key=lambda name: (icc[name] is None, -(icc[name] or 0.0), name))
    return list(pairwise(ranked))


def pairs_to_test(
    icc: Mapping[str, float | None], best: str | None, metrics: Sequence[str]
) -> list[tuple[str, str, str]]:
    """What is tested when nobody says: ``default_pairs`` on every metric, and the best judge against all others.

    Args:
        icc: ICC(A,1) by configuration.
        best: The judge of the highest discriminability among those that can be trusted; None when there is none.
        metrics: What is compared.

    Returns:
        Metric, first, second; the best judge is compared on discriminability only, so that Holm's correction, which
        counts every test, is not spent on more.
    """
    pairs = default_pairs(icc)
    tested = [(metric, a, b) for metric in metrics for a, b in pairs]
    if best is not None and "discriminability" in metrics:
        there = {frozenset(pair) for pair in pairs}
        others = [name for name in icc if name != best and frozenset((best, name)) not in there]
        tested += [("discriminability", best, name) for name in others]
    return tested


def best_judge(configurations: Mapping[str, ConfigurationNumbers]) -> str | None:
    """The highest discriminability (then SPR) among judges above chance that do not only look stable."""
    able = {}
    for name, numbers in configurations.items():
        found, signal = numbers.metrics["discriminability"], numbers.metrics["spr"].value
        if found.value is not None and not numbers.false_robustness and (found.low or 0.0) > CHANCE:
            able[name] = (found.value, -1.0 if signal is None else signal)
    return max(able, key=lambda name: able[name], default=None)


def _compare(metric: str, first: tuple[str, _Work], second: tuple[str, _Work]) -> Comparison:
    (name_a, a), (name_b, b) = first, second
    both = int((a.kernels[metric].used & b.kernels[metric].used).sum())
    values = a.points[metric].value, b.points[metric].value
    if values[0] is None or values[1] is None:
        reason = f"{metric} is undefined for {name_a if values[0] is None else name_b}"
        return Comparison(metric=metric, first=name_a, second=name_b, difference=Estimate(value=None, reason=reason))
    drawn = a.drawn[metric] - b.drawn[metric]
    point = Point(values[0] - values[1], both)
    limits = drawn_interval(drawn) if both >= 2 else Interval(None, None, None, "fewer than two common families")
    if not np.array_equal(np.isnan(a.grid.y), np.isnan(b.grid.y)):
        limits = replace(limits, flags=(*limits.flags, "unequal_cells"))
    if limits.low is None:
        return Comparison(metric=metric, first=name_a, second=name_b, difference=estimate(point, limits))
    error = limits.standard_error or 0.0
    return Comparison(
        metric=metric, first=name_a, second=name_b, difference=estimate(point, limits), p_value=two_sided_p(drawn),
        standard_error=error, families_needed=families_needed(error, both, values[0] - values[1]),
    )


def _comparisons(
    works: Mapping[str, _Work], tested: Sequence[tuple[str, str, str]], described: Sequence[tuple[str, str, str]],
) -> Iterator[Comparison]:
    """The tests with Holm's correction over them, then differences that are only described: no p-value."""
    found = [_compare(metric, (a, works[a]), (b, works[b])) for metric, a, b in tested]
    for comparison, corrected in zip(found, holm([one.p_value for one in found]), strict=True):
        yield comparison.model_copy(update={"p_holm": corrected})
    for metric, a, b in described:
        yield _compare(metric, (a, works[a]), (b, works[b])).model_copy(update={"p_value": None})


def _described(
    names: Sequence[str], tested: Sequence[tuple[str, str, str]], metrics: Sequence[str]
) -> list[tuple[str, str, str]]:
    """All pairs that are not tested."""
    there = {(metric, frozenset((a, b))) for metric, a, b in tested}
    pairs = combinations(names, 2)
    return [(metric, a, b) for a, b in pairs for metric in metrics if (metric, frozenset((a, b))) not in there]


def robust_results(
    frame: pl.DataFrame,
    human: Mapping[str, float] | None = None,
    *,
    draws: int = DRAWS,
    seed: int = SEED,
    pairs: Sequence[tuple[str, str]] | None = None,
    compared: Sequence[str] = COMPARED,
    methods: Mapping[str, str] | None = None,
    where: str = "scores",
) -> RobustResults:
    """The numbers of every configuration in a frame, on one set of cluster-bootstrap draws of families.

    Args:
        frame: Columns family, version (``original`` is the reference; others ``condition/producer``), score, and
            perhaps configuration. Versions whose condition is in ``NULL_ARM`` are the noise floor, not rewrites.
        human: Mean human score by family.
        draws: Bootstrap draws, the same for every configuration.
        seed: Of the draws.
        pairs: Configurations to compare; by default see ``pairs_to_test``, and all other pairs are described (their
            difference and its interval, no test).
        compared: The metrics they are compared on. Holm's correction is over all pairs and metrics together.
        methods: Interval methods by metric, over ``DEFAULT_METHODS``.
        where: What error messages call the frame.

    Raises:
        InputError: Naming the row and the column of what is wrong in the frame.
    """
    laid_out = grids(robust_frame(frame, where), human)
    families = list(next(iter(laid_out.values())).families)
    weights = family_draws(len(families), draws, seed)
    works = {name: _work(grid, weights) for name, grid in laid_out.items()}
    chosen = {**DEFAULT_METHODS, **(methods or {})}
    metrics = {name: _metrics(work, weights, chosen) for name, work in works.items()}
    low_mad = lowest_quarter({name: numbers["mad"] for name, numbers in metrics.items()})
    configurations = {}
    for name, work in works.items():
        cells = spread(work.grid.y)
        configurations[name] = ConfigurationNumbers(
            metrics=metrics[name], spread=cells, components=variance_components(work.grid), scores=_scores(work.grid),
            false_robustness=false_robustness(name in low_mad, metrics[name]["discriminability"], cells),
        )
    described: list[tuple[str, str, str]] = []
    if pairs is None:
        icc = {name: work.points["icc_a1"].value for name, work in works.items()}
        tested = pairs_to_test(icc, best_judge(configurations), compared)
        described = _described(list(works), tested, compared)
    else:
        tested = [(metric, a, b) for metric in compared for a, b in pairs]
    return RobustResults(
        configurations=configurations,
        effects=[effect for name, work in works.items() for effect in effects(name, work.grid)],
        comparisons=list(_comparisons(works, tested, described)), families=families, draws=draws, seed=seed,
    )


def _scores(grid: Grid) -> dict[str, dict[str, float | None]]:
    versions, y = list(grid.versions), grid.y
    if grid.null is not None:
        versions, y = [*versions, *grid.null_versions], np.concatenate([y, grid.null[:, 1:]], axis=1)
    rows = y.tolist()
    return {
        family: {version: None if value != value else value for version, value in zip(versions, row, strict=True)}
        for family, row in zip(grid.families, rows, strict=True)
    }


def number_json(number: Estimate) -> dict[str, Any]:
    """An estimate as the command line gives it; the reason also says why there is a value but no proper interval."""
    return {"value": number.value, "low": number.low, "high": number.high, "n": number.n,
            "reason": number.reason or number.interval_reason}


def robust_json(results: RobustResults) -> dict[str, Any]:
    """The document of ``evenhand metrics robust --json``: the seven metrics of every configuration."""
    return {"configurations": {
        name: {metric: number_json(numbers.metrics[metric]) for metric in ROBUST_METRICS}
        for name, numbers in results.configurations.items()
    }}
