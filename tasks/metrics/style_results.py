"""All numbers of SciStyleBench for one frame of scores, as one JSON document.

Definitions are ``style.py`` and ``style_ranks.py``; here every number gets its interval on shared draws of ideas, and
settings and judges are averaged with equal weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from storage.results import Estimate
from tasks.metrics import style, style_ranks
from tasks.metrics.assemble import number_json
from tasks.metrics.bootstrap import DRAWS, SEED, family_draws
from tasks.metrics.fast import mean_kernel
from tasks.metrics.grid import Floats, Point
from tasks.metrics.intervals import drawn_interval, estimate, interval
from tasks.metrics.style_frame import (
    ADVERSARIAL_PAIRS,
    DIMENSIONS,
    ENRICHED_PAIRS,
    PLAIN,
    SUBSTANCE_PAIRS,
    VARIANTS,
    StyleGrid,
    style_frame,
    style_grids,
)

METHOD = "percentile"
GROUPS: dict[str, tuple[str, ...]] = {
    "A": ("A1", "A2"), "B": ("B1", "B2", "B3", "B4", "B5"), "C": ("C1", "C2", "C3"), "H": ("H1", "H2", "H3", "H4"),
}
"""Variant groups for score delta and rank shift; A without the plain core itself."""
Headline = dict[str, tuple[Estimate, Floats]]


def _number(numbers: style.Numbers, weights: Floats) -> tuple[Estimate, Floats]:
    point, kernel = numbers
    if point.value is None:
        return estimate(point), np.full(weights.shape[0], np.nan)
    drawn = kernel.value(weights)
    return estimate(point, interval(kernel, weights, METHOD, drawn)), drawn


def _headline(grid: StyleGrid, weights: Floats) -> Headline:
    """The numbers that are averaged over settings, with their draws."""
    found = {name: _number(function(grid), weights) for name, function in style.HEADLINES.items()}
    for name, pairs in (("srr", SUBSTANCE_PAIRS), ("awr", ADVERSARIAL_PAIRS), ("awr_enriched", ENRICHED_PAIRS)):
        rates = style.win_rates(grid, pairs)
        found[name] = _number(rates["wins"], weights)
        found[f"{name}_ties"] = _number(rates["ties"], weights)
    return found


def _rank_shift(grid: StyleGrid, variants: Sequence[str], weights: Floats) -> Estimate:
    """Mean rank shift over variants; ranks are those among all ideas, in every draw."""
    shifts = np.stack([style_ranks.rank_shifts(grid, variant) for variant in variants], axis=1)
    seen = ~np.isnan(shifts)
    counts = seen.sum(axis=1)
    by_idea = np.divide(np.nansum(shifts, axis=1), counts, out=np.full(counts.size, np.nan), where=counts > 0)
    used = by_idea[~np.isnan(by_idea)]
    if not used.size:
        return Estimate(value=None, reason=f"no idea has an overall score for {PLAIN} and a variant")
    kernel = mean_kernel(by_idea, "identity")
    return estimate(Point(float(used.mean()), used.size), interval(kernel, weights, METHOD))


def _by_variant(grid: StyleGrid, weights: Floats) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for variant in VARIANTS:
        numbers = {name: _number(function(grid, (variant,)), weights)[0]
                   for name, function in {**style.HEADLINES, "score_delta": style.score_delta}.items()}
        numbers["rank_shift"] = _rank_shift(grid, (variant,), weights)
        changes = {str(k): number_json(number) | {"tied_edge": "tied_edge" in number.flags}
                   for k, number in style_ranks.top_k_change(grid, variant).items()}
        out[variant] = {name: number_json(number) for name, number in numbers.items()} | {"top_k_change": changes}
    return out


def _context(grid: StyleGrid, headline: Headline, weights: Floats) -> dict[str, Any]:
    dimensions = {
        name: {"sbi": number_json(_number(style.sbi(grid, dimension=d), weights)[0]),
               "sbi_plain": number_json(_number(style.sbi_plain(grid, dimension=d), weights)[0])}
        for d, name in enumerate(DIMENSIONS)
    }
    groups = {
        name: {"score_delta": number_json(_number(style.score_delta(grid, variants), weights)[0]),
               "rank_shift": number_json(_rank_shift(grid, variants, weights))}
        for name, variants in GROUPS.items()
    }
    points = [style.sbi(grid)[0], style.win_rates(grid, SUBSTANCE_PAIRS)["wins"][0],
              style.win_rates(grid, ADVERSARIAL_PAIRS)["wins"][0]]
    return {**{name: _with_error(number) for name, (number, _) in headline.items()},
            "collapsed": style.collapsed(*points), "dimensions": dimensions, "groups": groups,
            "variants": _by_variant(grid, weights)}


def _with_error(number: Estimate) -> dict[str, Any]:
    return number_json(number) | {"standard_error": number.standard_error, "flags": number.flags}


def _average(parts: Sequence[Headline]) -> Headline:
    """Equal-weight mean of each number over settings or judges, on the same draws; null when any of them is."""
    if len(parts) == 1:
        return parts[0]
    out: Headline = {}
    for name in parts[0]:
        numbers, draws = [part[name][0] for part in parts], np.stack([part[name][1] for part in parts])
        lacking = next((number.reason for number in numbers if number.value is None), None)
        mean = draws.mean(axis=0)
        if lacking is not None:
            out[name] = (Estimate(value=None, reason=lacking), mean)
            continue
        point = Point(float(np.mean([n.value for n in numbers if n.value is not None])), sum(n.n for n in numbers),
                      flags=tuple(sorted({flag for n in numbers for flag in n.flags if flag != "degenerate"})))
        out[name] = (estimate(point, drawn_interval(mean)), mean)
    return out


def _agreements(grids: Mapping[tuple[str, str], StyleGrid]) -> list[dict[str, Any]]:
    return [
        {"context": one[1], "first": one[0], "second": two[0],
         **{name: number_json(estimate(point))
            for name, point in style_ranks.agreement(grids[one], grids[two]).items()}}
        for one, two in combinations(grids, 2) if one[1] == two[1]
    ]


def style_json(
    frame: pl.DataFrame, *, draws: int = DRAWS, seed: int = SEED, details: bool = True, where: str = "scores",
) -> dict[str, Any]:
    """The document of ``evenhand metrics style --json``.

    ``configurations.NAME`` holds the headline numbers (equal weight to its contexts) and ``contexts.CONTEXT`` the same
    for each, with dimensions, variants and groups; ``aggregate`` averages judges with equal weight and names them;
    ``agreement`` compares judges within a context. All intervals come from one set of draws of ideas.

    Args:
        frame: Columns idea, variant, dimension (``overall`` included), score, perhaps configuration and context.
        draws: Bootstrap draws.
        seed: Of the draws.
        details: Whether dimensions, variants, groups and agreement are worked out.
        where: What error messages call the frame.

    Raises:
        InputError: Naming the row and the column of what is wrong in the frame.
    """
    grids = {(grid.configuration, grid.context): grid for grid in style_grids(style_frame(frame, where))}
    ideas = len(next(iter(grids.values())).ideas) if grids else 0
    weights = family_draws(ideas, draws, seed)
    headlines = {key: _headline(grid, weights) for key, grid in grids.items()}
    names = list(dict.fromkeys(configuration for configuration, _ in grids))
    per_judge = {name: _average([part for (judge, _), part in headlines.items() if judge == name]) for name in names}
    configurations = {}
    for name in names:
        contexts = {}
        for (judge, context), part in headlines.items():
            if judge == name:
                contexts[context] = (_context(grids[judge, context], part, weights) if details
                                     else {key: _with_error(number) for key, (number, _) in part.items()})
        configurations[name] = {key: _with_error(number) for key, (number, _) in per_judge[name].items()}
        configurations[name]["contexts"] = contexts
    total = _average(list(per_judge.values())) if per_judge else {}
    return {
        "configurations": configurations,
        "aggregate": {"judges": names, "rule": "equal weight to contexts within a judge, then to judges",
                      **{key: _with_error(number) for key, (number, _) in total.items()}},
        "agreement": _agreements(grids) if details else [], "ideas": ideas, "draws": draws, "seed": seed,
    }
