"""The named analyses of a suite: frames from what is stored, and what each analysis makes of them.

Queries and joins only; formulas belong to ``tasks.metrics.analyses``. Makes no call: embeddings that an endpoint gives
are asked for by the judge stage (``flows.embedding``) and recalled here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from flows.embedding import embedded_vectors, records_by_cell
from flows.sitting import Sitting
from flows.suites import Suite
from tasks.judge.native.reviewer import Reviewer
from tasks.metrics.analyses import comparing, fusing, repeating, separation
from tasks.metrics.analyses.result import Analysis
from tasks.metrics.analyses.spec import (
    AlphaSweep,
    AnalysisSpec,
    Backbones,
    ConditionEffects,
    Criteria,
    EmbeddingSeparation,
    EqualAverage,
    Paired,
    configurations_of,
)

REPEATED = ["configuration", "family", "version", "repeat"]


def dimension_scores(sitting: Sitting, cells: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Columns configuration, dimension, family, version, repeat, score of some configurations' answered cells."""
    wanted = cells.filter(pl.col("configuration").is_in(names) & (pl.col("outcome") == "answered"))
    found = sitting.store.query(
        "SELECT key, dimension, value AS score FROM scores WHERE key IN (SELECT key FROM wanted_keys)",
        frames={"wanted_keys": wanted.select(pl.col("key").unique())},
    )
    return wanted.select(*REPEATED, "key").join(found, on="key", maintain_order="left").drop("key")


def _mean_over_repeats(frame: pl.DataFrame, *more: str) -> pl.DataFrame:
    columns = ["configuration", *more, "family", "version"]
    return frame.group_by(columns, maintain_order=True).agg(pl.col("score").mean())


def _computed(
    spec: AnalysisSpec, sitting: Sitting, cells: pl.DataFrame, human: Mapping[str, float]
) -> Analysis:
    draws = (sitting.suite.draws, sitting.suite.seed)
    if isinstance(spec, EmbeddingSeparation):
        return _separated(spec, sitting, cells)
    scores = dimension_scores(sitting, cells, configurations_of(spec))
    if isinstance(spec, Criteria):
        return comparing.criteria(spec, _mean_over_repeats(scores, "dimension"), draws)
    repeated = scores.filter(pl.col("dimension") == "overall").drop("dimension")
    if isinstance(spec, ConditionEffects):
        return repeating.condition_effects(spec, repeated)
    frame = _mean_over_repeats(repeated)
    if isinstance(spec, AlphaSweep):
        return fusing.alpha_sweep(spec, frame, human, draws)
    if isinstance(spec, EqualAverage):
        return fusing.equal_average(spec, frame, human, draws)
    if isinstance(spec, Backbones):
        return fusing.backbones(spec, frame, human, draws)
    if isinstance(spec, Paired):
        return comparing.paired(spec, frame, human, draws)
    return repeating.repeats(spec, repeated, human, draws)


def _separated(spec: EmbeddingSeparation, sitting: Sitting, cells: pl.DataFrame) -> Analysis:
    records = records_by_cell(sitting.store, cells.filter(pl.col("configuration") == spec.configuration))
    if not records:
        return Analysis(name=spec.name, kind=spec.kind, note="", reason=f"{spec.configuration} has no record yet")
    if spec.endpoint is None or spec.model is None:
        vectors = separation.local_embeddings(list(records.values()))
        return separation.separation(spec, dict(zip(records, vectors, strict=True)))
    found = embedded_vectors(sitting.store, sitting.suite.judge.endpoints[spec.endpoint], spec.model, records.values())
    known = {cell: found[text] for cell, text in records.items() if text in found}
    return separation.separation(spec, known, f"{spec.model} ({len(known)} of {len(records)} records)")


def analyses(sitting: Sitting, cells: pl.DataFrame, human: Mapping[str, float]) -> list[dict[str, Any]]:
    """Every analysis that the suite names, as JSON, in their order.

    Args:
        sitting: the suite and its store.
        cells: what ``numbers.judged`` gave.
        human: mean human score by family.
    """
    return [_computed(spec, sitting, cells, human).model_dump(mode="json") for spec in sitting.suite.analyses]


def reviewers(suite: Suite) -> list[dict[str, str]]:
    """What a reader must know of configurations with a flow of their own: whose prompt, which parser, which scale."""
    rows = []
    for configuration in suite.judge.all_configurations():
        way = configuration.way()
        if notes := way.notes():
            kind = "native reviewer" if isinstance(way, Reviewer) else way.name
            rows.append({"configuration": configuration.name, "flow": kind, **notes})
    return rows
