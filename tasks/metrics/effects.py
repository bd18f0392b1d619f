"""What moves the scores: mean shift by condition and producer, and variance components.

Versions are labelled ``condition/producer``; a label without a slash is a condition without producer.
"""

from __future__ import annotations

import numpy as np

from storage.results import Effect, Estimate
from tasks.metrics.grid import Floats, Grid, Point, complete_rows
from tasks.metrics.intervals import estimate, mean_t_interval

COMPONENTS: tuple[str, ...] = ("family", "condition", "producer", "family_x_condition", "residual")


def split_label(version: str) -> tuple[str, str]:
    """``condition/producer`` into its two parts; the producer is empty where there is none."""
    condition, _, producer = version.partition("/")
    return condition, producer


def effects(configuration: str, grid: Grid) -> list[Effect]:
    """Mean shift against the original for each version, over families (t interval; one shift a family)."""
    found = []
    for k, version in enumerate(grid.versions[1:], start=1):
        shift = grid.y[:, k] - grid.y[:, 0]
        shift = shift[~np.isnan(shift)]
        condition, producer = split_label(version)
        if shift.size:
            number = estimate(Point(float(shift.mean()), shift.size, flags=("few",) if shift.size < 5 else ()),
                              mean_t_interval(shift))
        else:
            number = Estimate(value=None, n=0, reason="no family has a score for the original and this version")
        found.append(Effect(configuration=configuration, condition=condition, producer=producer, shift=number))
    return found


def _cube(grid: Grid) -> Floats | str:
    """Complete families x conditions x producers, or why there is no such cube."""
    labels = [split_label(version) for version in grid.versions[1:]]
    conditions = sorted({condition for condition, _ in labels})
    producers = sorted({producer for _, producer in labels})
    if len(labels) != len(conditions) * len(producers):
        return "not every producer made every condition"
    if len(conditions) < 2 or len(producers) < 2:
        return "needs at least two conditions and two producers"
    order = [1 + labels.index((c, p)) for c in conditions for p in producers]
    y = grid.y[:, order]
    y = y[complete_rows(y)]
    if y.shape[0] < 2:
        return "fewer than two families with a score for every variant"
    return y.reshape(-1, len(conditions), len(producers))


def variance_components(grid: Grid) -> dict[str, Estimate]:
    """ANOVA (method of moments) components of the variants' scores, on complete families.

    y = family + condition + producer + family x condition + residual, all random; the residual holds every other
    interaction. Components are differences of mean squares and may be negative: they are not clipped. Without a full
    grid of conditions and producers, or with a single one of either, they are null with the reason.
    """
    cube = _cube(grid)
    if isinstance(cube, str):
        return {name: Estimate(value=None, reason=cube) for name in COMPONENTS}
    n, c, p = cube.shape
    z = cube - cube[0, 0, 0]
    grand = z.mean()
    by_family, by_condition, by_producer = z.mean((1, 2)), z.mean((0, 2)), z.mean((0, 1))
    by_cell = z.mean(2)
    crossed = by_cell - by_family[:, None] - by_condition[None, :] + grand
    residual = z - by_cell[:, :, None] - by_producer[None, None, :] + grand
    freedom = n * c * p - 1 - (n * c - 1) - (p - 1)
    mean_square = {
        "family": c * p * float(((by_family - grand) ** 2).sum()) / (n - 1),
        "condition": n * p * float(((by_condition - grand) ** 2).sum()) / (c - 1),
        "producer": n * c * float(((by_producer - grand) ** 2).sum()) / (p - 1),
        "family_x_condition": p * float((crossed**2).sum()) / ((n - 1) * (c - 1)),
        "residual": float((residual**2).sum()) / freedom,
    }
    values = {
        "family": (mean_square["family"] - mean_square["family_x_condition"]) / (c * p),
        "condition": (mean_square["condition"] - mean_square["family_x_condition"]) / (n * p),
        "producer": (mean_square["producer"] - mean_square["residual"]) / (n * c),
        "family_x_condition": (mean_square["family_x_condition"] - mean_square["residual"]) / p,
        "residual": mean_square["residual"],
    }
    return {name: Estimate(value=values[name], n=n) for name in COMPONENTS}
