"""The same question asked again: how far answers differ, and whether effects of conditions come back.

Works on frames with a column ``repeat``; formulas of the metrics themselves are ``tasks.metrics``'s.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import polars as pl

from storage.results import Estimate
from storage.vocabulary import NULL_ARM, ORIGINAL
from tasks.metrics.analyses.fusing import computed
from tasks.metrics.analyses.result import Analysis, Line, Panel, PlotPoint, Row
from tasks.metrics.analyses.spec import ConditionEffects, Repeats
from tasks.metrics.bootstrap import DRAWS, SEED, family_draws
from tasks.metrics.effects import split_label
from tasks.metrics.grid import Floats, Point
from tasks.metrics.intervals import drawn_interval, estimate, mean_t_interval

ONE_REPEAT = "asked once: set repeats of the configuration to 2 or more"


def _families(own: pl.DataFrame) -> list[Floats]:
    """By family, cells x repeats of the cells that every repeat answered."""
    wide = own.pivot(on="repeat", index=["family", "version"], values="score").drop_nulls()
    repeats = [name for name in wide.columns if name not in ("family", "version")]
    if len(repeats) < 2:
        return []
    return [part.select(repeats).to_numpy() for _, part in wide.group_by("family", maintain_order=True)]


def _within(blocks: Sequence[Floats], draws: Sequence[int]) -> tuple[Estimate, Estimate]:
    """SD between repeats of a cell, and the share of cells in which all agree, over families."""
    variances = np.asarray([float(block.var(axis=1, ddof=1).sum()) for block in blocks])
    same = np.asarray([float((np.ptp(block, axis=1) == 0).sum()) for block in blocks])
    cells = np.asarray([float(len(block)) for block in blocks])
    weights = family_draws(len(blocks), draws[0], draws[1])
    n = int(cells.sum())
    found = []
    for total, root in ((variances, True), (same, False)):
        value = total.sum() / n
        drawn = (weights @ total) / (weights @ cells)
        point = Point(math.sqrt(value) if root else float(value), n)
        found.append(estimate(point, drawn_interval(np.sqrt(drawn) if root else drawn) if len(blocks) > 1 else None))
    return found[0], found[1]


def repeats(
    spec: Repeats, frame: pl.DataFrame, human: Mapping[str, float], draws: Sequence[int] = (DRAWS, SEED)
) -> Analysis:
    """Spread between repeats of one cell, and MAD and ICC of each repeat alone.

    Args:
        spec: the configurations.
        frame: configuration, family, version, repeat, score.
        human: mean human score by family.
        draws: ``(draws, seed)``.
    """
    note = ("The same file under the same words, asked again. A drift that is not larger than the spread between "
            "repeats is no drift.")
    rows: list[Row] = []
    lines: list[Line] = []
    for name in spec.configurations:
        own = frame.filter(pl.col("configuration") == name).drop_nulls("score")
        blocks = _families(own)
        if not blocks:
            rows.append(Row(label=name, values=["all", *[Estimate(value=None, reason=ONE_REPEAT)] * 2, None, None]))
            continue
        spread, same = _within(blocks, draws)
        rows.append(Row(label=name, values=["all", spread, same, None, None]))
        points = []
        for (number,), part in own.sort("repeat", maintain_order=True).group_by("repeat", maintain_order=True):
            metrics = computed(part.drop("repeat"), human, draws).configurations[name].metrics
            rows.append(Row(label=name, values=[f"repeat {number}", None, None, metrics["mad"], metrics["icc_a1"]]))
            if metrics["mad"].value is not None:
                points.append(PlotPoint(x=f"repeat {number}", y=metrics["mad"].value, low=metrics["mad"].low,
                                        high=metrics["mad"].high, tip=f"{name}, repeat {number}"))
        lines.append(Line(name=name, points=points))
    panels = [Panel(title="MAD of each repeat", x_title="", lines=lines)] if lines else []
    return Analysis(name=spec.name, kind=spec.kind, note=note, rows=rows, panels=panels,
                    columns=["repeat", "SD between repeats", "identical cells", "mad", "icc_a1"])


def shifts_by_label(own: pl.DataFrame) -> dict[str, Floats]:
    """Version label -> shift against the original, by family (one configuration, one repeat)."""
    originals = own.filter(pl.col("version") == ORIGINAL).select("family", pl.col("score").alias("original"))
    joined = own.filter(pl.col("version") != ORIGINAL).join(originals, on="family").drop_nulls(["score", "original"])
    return {
        str(label): (part["score"] - part["original"]).to_numpy()
        for (label,), part in joined.group_by("version", maintain_order=True)
        if split_label(str(label))[0] not in NULL_ARM
    }


def _correlations(by_repeat: Sequence[Mapping[str, float]]) -> Estimate:
    """The mean Pearson correlation of the effects between two repeats, over all pairs of them."""
    found: list[float] = []
    labels = sorted(set.intersection(*(set(each) for each in by_repeat))) if by_repeat else []
    for first, second in combinations(by_repeat, 2):
        a, b = (np.asarray([each[label] for label in labels]) for each in (first, second))
        if len(labels) >= 3 and np.ptp(a) > 0 and np.ptp(b) > 0:
            found.append(float(np.corrcoef(a, b)[0, 1]))
    if len(by_repeat) < 2:
        return Estimate(value=None, reason=ONE_REPEAT)
    if not found:
        return Estimate(value=None, n=len(labels), reason="effects do not vary, or fewer than three")
    return Estimate(value=float(np.mean(found)), n=len(labels),
                    interval_reason="a mean over pairs of repeats has no interval here")


def condition_effects(spec: ConditionEffects, frame: pl.DataFrame) -> Analysis:
    """Mean shift by condition and producer over all repeats, and how well effects of one repeat foretell another's."""
    note = ("Mean shift against the original by condition and producer, with t intervals over families; below, the "
            "correlation of these effects between repeats: effects that do not come back are noise.")
    rows: list[Row] = []
    lines: list[Line] = []
    for name in spec.configurations:
        own = frame.filter(pl.col("configuration") == name).drop_nulls("score")
        if own.is_empty():
            continue
        mean = own.group_by("family", "version", maintain_order=True).agg(pl.col("score").mean())
        effects = shifts_by_label(mean)
        points: dict[str, list[PlotPoint]] = {}
        for label, shifts in effects.items():
            condition, producer = split_label(label)
            number = estimate(Point(float(shifts.mean()), shifts.size), mean_t_interval(shifts))
            rows.append(Row(label=name, values=[condition, producer or "–", number]))
            points.setdefault(producer, []).append(PlotPoint(
                x=condition, y=float(shifts.mean()), low=number.low, high=number.high, tip=f"{name}, {label}"))
        by_repeat = [
            {label: float(shifts.mean()) for label, shifts in shifts_by_label(part.drop("repeat")).items()}
            for _, part in own.group_by("repeat", maintain_order=True)
        ]
        rows.append(Row(label=name, values=["correlation between repeats", "", _correlations(by_repeat)]))
        lines += [Line(name=f"{name} · {producer}" if producer else name, points=p) for producer, p in points.items()]
    if not rows:
        return Analysis(name=spec.name, kind=spec.kind, note=note, reason="none of them has an answered cell")
    return Analysis(name=spec.name, kind=spec.kind, note=note, columns=["condition", "producer", "shift"], rows=rows,
                    panels=[Panel(title="Mean shift by condition", x_title="", lines=lines)])
