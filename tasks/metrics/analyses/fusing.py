"""Judges made of judges: the fusion at every weight, and the equal average. Arithmetic on scores that are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from storage.results import Estimate
from tasks.metrics.analyses.result import Analysis, Line, Panel, Row, point
from tasks.metrics.analyses.spec import COMPARED, AlphaSweep, Backbones, EqualAverage
from tasks.metrics.assemble import RobustResults, robust_results
from tasks.metrics.bootstrap import DRAWS, SEED

CELL = ["family", "version"]
SHOWN: tuple[tuple[str, str], ...] = (
    ("mad", "MAD"), ("discriminability", "Discriminability"), ("human_mae", "Human MAE"), ("spr", "SPR"),
)




def computed(frame: pl.DataFrame, human: Mapping[str, float], draws: Sequence[int]) -> RobustResults:
    """The metrics of every configuration of a frame, without comparisons.

    Args:
        frame: configuration, family, version, score.
        human: mean human score by family.
        draws: ``(draws, seed)``.
    """
    return robust_results(frame, human, draws=draws[0], seed=draws[1], pairs=[])


def metric_row(label: str, results: RobustResults, name: str) -> Row:
    """The seven metrics of one configuration."""
    return Row(label=label, values=[results.configurations[name].metrics[metric] for metric in COMPARED])


def common(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """One column of scores a configuration, over the cells that all of them answered.

    Args:
        frame: configuration, family, version, score.
        names: the configurations.
    """
    wide = frame.filter(pl.col("configuration").is_in(names)).pivot(on="configuration", index=CELL, values="score")
    return wide.drop_nulls() if set(names) <= set(wide.columns) else wide.clear()


def named(cells: pl.DataFrame, name: str, score: pl.Expr) -> pl.DataFrame:
    """The cells with one made score under a name."""
    return cells.select(pl.lit(name).alias("configuration"), *CELL, score.alias("score"))


NOTHING = "no cell was answered by all of them"


def alpha_sweep(
    spec: AlphaSweep, frame: pl.DataFrame, human: Mapping[str, float], draws: Sequence[int] = (DRAWS, SEED)
) -> Analysis:
    """``alpha`` x manuscript + (1 - alpha) x core, for every weight, on the cells that both answered."""
    note = (f"The score is α × {spec.manuscript} + (1 − α) × {spec.core}, not rounded, on the cells both answered. "
            "No further call is made; α = 0.5 was fixed before results were seen.")
    cells = common(frame, (spec.manuscript, spec.core))
    if cells.is_empty():
        return Analysis(name=spec.name, kind=spec.kind, note=note, reason=NOTHING)
    weights = [round(float(alpha), 6) for alpha in np.linspace(0, 1, spec.steps)]
    made = pl.concat([
        named(cells, f"{alpha:g}", alpha * pl.col(spec.manuscript) + (1 - alpha) * pl.col(spec.core))
        for alpha in weights
    ])
    results = computed(made, human, draws)
    rows = [metric_row(f"α = {alpha:g}", results, f"{alpha:g}") for alpha in weights]
    panels = []
    for metric, title in SHOWN:
        points = [point(alpha, results.configurations[f"{alpha:g}"].metrics[metric], f"α = {alpha:g}")
                  for alpha in weights]
        found = [each for each in points if each is not None]
        if found:
            panels.append(Panel(title=title, x_title="α (weight of the manuscript)",
                                lines=[Line(name=title, points=found, is_joined=True)]))
    return Analysis(name=spec.name, kind=spec.kind, note=note, columns=list(COMPARED), rows=rows, panels=panels)


def equal_average(
    spec: EqualAverage, frame: pl.DataFrame, human: Mapping[str, float], draws: Sequence[int] = (DRAWS, SEED)
) -> Analysis:
    """The mean of the configurations' scores beside each of them, on the cells that all answered."""
    names = list(spec.configurations)
    note = ("The mean of their scores as one judge, beside each alone, on the cells that all answered: what averaging "
            "alone does.")
    cells = common(frame, names)
    if cells.is_empty():
        return Analysis(name=spec.name, kind=spec.kind, note=note, reason=NOTHING)
    average = "the equal average"
    made = pl.concat([named(cells, average, pl.mean_horizontal(names)), *(named(cells, n, pl.col(n)) for n in names)])
    results = computed(made, human, draws)
    return Analysis(name=spec.name, kind=spec.kind, note=note, columns=list(COMPARED),
                    rows=[metric_row(name, results, name) for name in (average, *names)],
                    panels=side_by_side(results, (average, *names)))


def backbones(
    spec: Backbones, frame: pl.DataFrame, human: Mapping[str, float], draws: Sequence[int] = (DRAWS, SEED)
) -> Analysis:
    """The same way to judge on several models, each on all cells that it answered."""
    note = "The same protocol on several models, each on all cells that it answered."
    own = frame.filter(pl.col("configuration").is_in(spec.configurations))
    there = [name for name in spec.configurations if name in set(own.drop_nulls("score")["configuration"])]
    if not there:
        return Analysis(name=spec.name, kind=spec.kind, note=note, reason="none of them has an answered cell")
    results = computed(own.filter(pl.col("configuration").is_in(there)), human, draws)
    missing = [Row(label=name, values=[Estimate(value=None, reason="no answered cell")] * len(COMPARED))
               for name in spec.configurations if name not in there]
    return Analysis(name=spec.name, kind=spec.kind, note=note, columns=list(COMPARED),
                    rows=[*(metric_row(name, results, name) for name in there), *missing],
                    panels=side_by_side(results, there))


def side_by_side(results: RobustResults, names: Sequence[str]) -> list[Panel]:
    """A panel a metric, a point a configuration."""
    panels = []
    for metric, title in SHOWN:
        points = [point(name, results.configurations[name].metrics[metric], name) for name in names]
        found = [each for each in points if each is not None]
        if found:
            panels.append(Panel(title=title, x_title="", lines=[Line(name=title, points=found)]))
    return panels
