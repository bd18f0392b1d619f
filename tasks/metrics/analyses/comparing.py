"""Scores beside the overall one, and two configurations compared by the same draws of families."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from storage.results import Estimate
from tasks.metrics.analyses.fusing import computed
from tasks.metrics.analyses.result import Analysis, Line, Panel, PlotPoint, Row, point
from tasks.metrics.analyses.spec import Criteria, Paired
from tasks.metrics.assemble import robust_results
from tasks.metrics.bootstrap import DRAWS, SEED

TITLES = {"mad": "MAD", "drift_sd": "drift SD", "icc_a1": "ICC(A,1)", "spr": "SPR",
          "discriminability": "discriminability", "human_mae": "human MAE", "human_spearman": "human Spearman"}
CRITERION_METRICS: tuple[str, ...] = ("mad", "drift_sd", "icc_a1", "spr", "discriminability")


def criteria(spec: Criteria, frame: pl.DataFrame, draws: Sequence[int] = (DRAWS, SEED)) -> Analysis:
    """Every dimension of every configuration as a judge of its own.

    Args:
        spec: configurations and dimensions.
        frame: configuration, dimension, family, version, score.
        draws: ``(draws, seed)``.
    """
    note = ("Stability of each criterion on its own scale (soundness, presentation and contribution 1 to 4, "
            "confidence 1 to 5), so values compare within a criterion. Presentation is a diagnostic: it should follow "
            "the wording.")
    rows: list[Row] = []
    lines: dict[str, list[PlotPoint]] = {}
    for dimension in spec.dimensions:
        own = frame.filter(pl.col("configuration").is_in(spec.configurations) & (pl.col("dimension") == dimension))
        if own.drop_nulls("score").is_empty():
            continue
        results = computed(own.drop("dimension"), {}, draws)
        for name in spec.configurations:
            if name not in results.configurations:
                continue
            metrics = results.configurations[name].metrics
            rows.append(Row(label=name, values=[dimension, *(metrics[metric] for metric in CRITERION_METRICS)]))
            found = point(dimension, metrics["mad"], f"{name}, {dimension}")
            if found is not None:
                lines.setdefault(name, []).append(found)
    if not rows:
        return Analysis(name=spec.name, kind=spec.kind, note=note, reason="none of them gives such a score")
    panel = Panel(title="MAD by criterion", x_title="", lines=[Line(name=n, points=p) for n, p in lines.items()])
    return Analysis(name=spec.name, kind=spec.kind, note=note, columns=["criterion", *CRITERION_METRICS], rows=rows,
                    panels=[panel] if lines else [])


def paired(
    spec: Paired, frame: pl.DataFrame, human: Mapping[str, float], draws: Sequence[int] = (DRAWS, SEED)
) -> Analysis:
    """Differences by paired draws of families, Holm-corrected over everything that the analysis compares."""
    note = (f"Differences, first minus second, over {draws[0]:,} draws of families that both share. p is two-sided, "
            "and Holm's over all rows of this table.")
    names = list(dict.fromkeys(name for pair in spec.pairs for name in pair))
    own = frame.filter(pl.col("configuration").is_in(names))
    there = set(own.drop_nulls("score")["configuration"])
    pairs = [pair for pair in spec.pairs if there >= set(pair)]
    if not pairs:
        return Analysis(name=spec.name, kind=spec.kind, note=note, reason="no pair has answered cells on both sides")
    answered = own.filter(pl.col("configuration").is_in(sorted(there)))
    results = robust_results(answered, human, draws=draws[0], seed=draws[1], pairs=pairs, compared=spec.metrics)
    rows = [
        Row(label=f"{each.first} − {each.second}",
            values=[each.metric, each.difference, _p(each.p_value, each.difference), _p(each.p_holm, each.difference)])
        for each in results.comparisons
    ]
    panels = []
    for metric in spec.metrics:
        points = [point(f"{each.first} − {each.second}", each.difference) for each in results.comparisons
                  if each.metric == metric]
        found = [each for each in points if each is not None]
        if found:
            title = f"Difference in {TITLES[metric]}"
            panels.append(Panel(title=title, x_title="", lines=[Line(name=metric, points=found)]))
    return Analysis(name=spec.name, kind=spec.kind, note=note, columns=["metric", "difference", "p", "p (Holm)"],
                    rows=rows, panels=panels)


def _p(value: float | None, difference: Estimate) -> float | Estimate:
    """A p-value, or why there is none."""
    if value is not None:
        return value
    why = difference.reason or difference.interval_reason or "no interval"
    return Estimate(value=None, n=difference.n, reason=why)
