"""Aggregate: from what is stored of a suite's cells to every number of its report."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from importlib.metadata import version as package_version
from typing import Any

import numpy as np
import polars as pl
from prefect import flow

from flows.analyses import analyses, reviewers
from flows.bias import bias_results
from flows.fidelity import fidelity_sections
from flows.grid import NOBODY, Grid, LabelledVersion, judged_by, producers
from flows.ideas import variant_plan
from flows.numbers import cell_counts, judged, score_frame, spending, total
from flows.pairs import injection_plan
from flows.progress import BOARD
from flows.reviews import review_pairs
from flows.sitting import Sitting, sit
from flows.style import style_results
from flows.suites import Suite
from storage.keys import step_key
from storage.records import HumanScore, Step, now
from storage.results import (
    CellCounts,
    ConfigurationResult,
    Estimate,
    Exclusion,
    FamilyResult,
    Results,
    Spend,
    VersionResult,
)
from storage.store import Store
from storage.vocabulary import ORIGINAL
from tasks.ingest.sources import NOT_FETCHED
from tasks.judge.protocols import PROTOCOLS, Configuration
from tasks.judge.single_call import SingleCall
from tasks.metrics.assemble import ConfigurationNumbers, RobustResults, robust_results
from tasks.metrics.calibration import implied
from tasks.metrics.power import power
from tasks.models.phantom import PHANTOMS
from tasks.report.across import SECTION, across_benchmarks

NO_CELL = "no cell has been answered"


def _human(store: Store, grid: Grid) -> dict[str, float]:
    wanted = {family.family for family in grid.families}
    latest: dict[str, float] = {}
    for row in store.load(HumanScore):
        if row.dimension == "overall" and row.family in wanted:
            latest[row.family] = row.score
    return latest


def _planted(
    configuration: Configuration, store: Store, grid: Grid, human: dict[str, float]
) -> dict[str, float | None] | None:
    """What a phantom's parameters imply for exactly these families and versions."""
    phantom = PHANTOMS.get(configuration.model)
    if phantom is None or not isinstance(configuration.way(), SingleCall):
        # What a phantom's parameters imply is known for the text it reads itself, not for a record of it.
        return None
    versions = judged_by(configuration, grid)
    key = step_key(
        "planted",
        1,
        phantom=phantom.model_dump(mode="json", exclude={"name", "title", "protocol"}) | {"seed_name": phantom.name},
        texts=[[v.family.family, v.label, v.version.text_hash] for v in versions],
        human=human,
    )
    if known := store.load(Step, [key]):
        return known[0].output
    if not versions:
        return None
    names = list(dict.fromkeys(version.family.family for version in versions))
    labels = sorted({version.label for version in versions}, key=lambda label: (label != ORIGINAL, label))
    expected = np.full((len(names), len(labels)), np.nan)
    texts = store.get_texts(version.version.text_hash for version in versions)
    for version in versions:
        row, column = names.index(version.family.family), labels.index(version.label)
        expected[row, column] = phantom.expected(texts[version.version.text_hash])
    scores = np.asarray([human.get(name, np.nan) for name in names])
    found = implied(expected, phantom.noise_sd, phantom.scale.snap, scores)
    store.append(Step(key=key, step="planted", outcome="done", output=found))
    return found


def _configuration(
    configuration: Configuration, suite: Suite, numbers: ConfigurationNumbers | None, counts: CellCounts, spend: Spend
) -> ConfigurationResult:
    common: dict[str, Any] = {
        "name": configuration.name,
        "title": PHANTOMS[configuration.model].title if configuration.model in PHANTOMS else None,
        "endpoint": configuration.endpoint,
        "model": configuration.model,
        "protocol": configuration.protocol,
        "kind": suite.judge.endpoints[configuration.endpoint].kind,
        "cells": counts,
        "spend": spend,
    }
    if numbers is None:
        return ConfigurationResult(metrics={"mad": Estimate(value=None, reason=NO_CELL)}, **common)
    return ConfigurationResult(
        metrics={**numbers.metrics, **{f"variance_{name}": part for name, part in numbers.components.items()}},
        false_robustness=numbers.false_robustness,
        histogram=numbers.spread.histogram,
        entropy_bits=numbers.spread.entropy_bits,
        top_share=numbers.spread.top_share,
        scores=numbers.scores,
        **common,
    )


def _versions(versions: Iterable[LabelledVersion]) -> list[VersionResult]:
    return [
        VersionResult(
            family=entry.family.family,
            condition=entry.condition,
            producer="" if entry.producer == NOBODY else entry.producer,
            pages=entry.version.pages,
            words=entry.version.words,
            segments=entry.version.segments,
            segments_changed=entry.version.segments_changed,
            segments_fallback=entry.version.segments_fallback,
            facts=entry.version.facts,
            key=entry.version.key,
        )
        for entry in versions
    ]


def _families(grid: Grid, human: dict[str, float]) -> list[FamilyResult]:
    counts: dict[str, int] = {}
    for version in grid.versions:
        counts[version.family.family] = counts.get(version.family.family, 0) + 1
    return [
        FamilyResult(
            family=family.family,
            title=family.title,
            source_kind=family.source_kind,
            pages=family.pages,
            words=family.words,
            human_score=human.get(family.family),
            versions=counts.get(family.family, 0),
            flags=family.flags,
        )
        for family in grid.families
    ]


def _provenance(sitting: Sitting, numbers: RobustResults | None) -> dict[str, Any]:
    suite = sitting.suite
    protocols = sorted({configuration.protocol for configuration in suite.judge.all_configurations()})
    return {
        "evenhand": package_version("evenhand"),
        "suite_hash": suite.hash(),
        "run_id": sitting.run_id,
        "seed": suite.seed,
        "bootstrap": {"draws": suite.draws, "seed": suite.seed, "unit": "family", "paired": True},
        "protocols": {name: PROTOCOLS[name].identity("sampled") for name in protocols},
        "options": {
            each.name: each.way().identity(each.scoring) for each in suite.judge.all_configurations() if each.options
        },
        "producers": {p.name: p.identity("joint") for p in producers(suite)},
        "python": platform.python_version(),
        "packages": {
            name: package_version(name)
            for name in ("prefect", "duckdb", "openai", "numpy", "scipy", "polars", "pymupdf", "pydantic")
        },
        "families": len(numbers.families) if numbers else 0,
    }


def _state(counts: Iterable[CellCounts], grid: Grid, excluded_families: Iterable[Exclusion] = ()) -> str:
    missing = any(entry.answered < entry.wanted for entry in counts)
    if not grid.versions:
        return "failed"
    to_fetch = any(entry.reason in NOT_FETCHED for entry in excluded_families)
    return "complete_with_gaps" if missing or grid.unmade or to_fetch else "complete"


def _writers(suite: Suite, grid: Grid) -> list[str]:
    """The suite's producers, then those whose versions came with the papers."""
    made = [spec.name for spec in suite.rewrite.producers]
    return list(dict.fromkeys([*made, *(v.producer for v in grid.versions if v.version.facts.get("imported"))]))


def results_of(sitting: Sitting) -> Results:
    """Every number of a suite, from what is stored now. Makes no call."""
    if sitting.suite.benchmark == "judge_bias":
        return bias_results_of(sitting)
    if sitting.suite.benchmark == "sci_style":
        return style_results_of(sitting)
    suite, store = sitting.suite, sitting.store
    grid, excluded_families = sitting.looked_at()
    cells = judged(suite, store, grid).cells
    human = _human(store, grid)
    answered = cells.filter(pl.col("outcome") == "answered")["configuration"].unique().to_list()
    frame = score_frame(cells.filter(pl.col("configuration").is_in(answered)))
    numbers = robust_results(frame, human, draws=suite.draws, seed=suite.seed) if answered else None
    spends, by_name = spending(store, cells), dict(cells.group_by("configuration"))
    configurations = []
    for configuration in suite.judge.all_configurations():
        own = by_name.get((configuration.name,), cells.clear())
        found = numbers.configurations.get(configuration.name) if numbers else None
        made = _configuration(configuration, suite, found, cell_counts(own), spends.get(configuration.name, Spend()))
        configurations.append(made.model_copy(update={"planted": _planted(configuration, store, grid, human)}))
    return Results(
        suite=suite.name,
        benchmark=suite.benchmark,
        title=suite.title or suite.name,
        made_at=now(),
        state=_state([entry.cells for entry in configurations], grid, excluded_families),
        families=_families(grid, human),
        versions=_versions(grid.versions),
        conditions=list(suite.rewrite.names()),
        producers=_writers(suite, grid),
        configurations=configurations,
        effects=numbers.effects if numbers else [],
        comparisons=numbers.comparisons if numbers else [],
        power=power(numbers.comparisons) if numbers else [],
        exclusions=[*excluded_families, *grid.exclusions, *grid.unmade],
        spend=total([entry.spend for entry in configurations]),
        provenance=_provenance(sitting, numbers),
        sections={
            "reviews": review_pairs(store, cells, configurations),
            **_asked_for(sitting, cells, human),
            **fidelity_sections(sitting, grid, frame, human),
        },
    )


def with_companions(sitting: Sitting, own: Results) -> Results:
    """A suite's results with the sections of the suites that run along, and each judge's row over all of them."""
    others = [results_of(other) for other in sitting.companions()]
    if not others:
        return own
    sections = dict(own.sections)
    for other in others:
        sections |= other.sections
    if rows := across_benchmarks([own, *others]):
        sections[SECTION] = rows
    states = [own.state, *(other.state for other in others)]
    worst = next(state for state in ("failed", "complete_with_gaps", "complete") if state in states)
    told = [
        {
            "suite": other.suite,
            "wanted": sum(entry.cells.wanted for entry in other.configurations),
            "answered": sum(entry.cells.answered for entry in other.configurations),
        }
        for other in others
    ]
    return own.model_copy(
        update={
            "sections": sections,
            "state": worst,
            "spend": total([own.spend, *(other.spend for other in others)]),
            "exclusions": [*own.exclusions, *(entry for other in others for entry in other.exclusions)],
            "provenance": own.provenance | {"companions": told},
        }
    )


def _asked_for(sitting: Sitting, cells: pl.DataFrame, human: dict[str, float]) -> dict[str, Any]:
    """The suite's named analyses, and what must be known of reviewers with a flow of their own; left out when none."""
    found = {"reviewers": reviewers(sitting.suite), "analyses": analyses(sitting, cells, human)}
    return {name: value for name, value in found.items() if value}


def bias_results_of(sitting: Sitting) -> Results:
    """Every number of a judge_bias suite, from what is stored now. Makes no call."""
    suite, grid = sitting.suite, sitting.grid()
    section, configurations, cells = bias_results(sitting, grid)
    # An answer without a verdict is a finding about its judge, not a gap: only cells without any answer are.
    open_cells = cells["verdict"].null_count()
    state = _state([CellCounts(wanted=cells.height, answered=cells.height - open_cells)], grid)
    return Results(
        suite=suite.name,
        benchmark=suite.benchmark,
        title=suite.title or suite.name,
        made_at=now(),
        state=state,
        families=_families(grid, {}),
        versions=_versions(grid.versions),
        conditions=list(injection_plan(suite).biases),
        producers=[spec.name for spec in suite.rewrite.producers],
        configurations=configurations,
        exclusions=[*grid.exclusions, *grid.unmade],
        spend=total([entry.spend for entry in configurations]),
        provenance=_provenance(sitting, None)
        | {
            "families": len(grid.families),
            "producers": {spec.name: spec.model_dump(exclude={"name"}) for spec in suite.rewrite.producers},
            "verifiers": {spec.name: spec.model_dump(exclude={"name"}) for spec in suite.rewrite.verifiers},
        },
        sections={"bias": section},
    )


def style_results_of(sitting: Sitting) -> Results:
    """Every number of a sci_style suite, from what is stored now. Makes no call."""
    suite, grid = sitting.suite, sitting.grid()
    section, configurations, _ = style_results(sitting, grid)
    return Results(
        suite=suite.name,
        benchmark=suite.benchmark,
        title=suite.title or suite.name,
        made_at=now(),
        state=_state([entry.cells for entry in configurations], grid),
        families=_families(grid, {}),
        versions=_versions(version for version in grid.versions if version.producer == suite.contexts[0].name),
        conditions=list(variant_plan(suite).variants),
        producers=[spec.name for spec in suite.rewrite.producers],
        configurations=configurations,
        exclusions=[*grid.exclusions, *grid.unmade],
        spend=total([entry.spend for entry in configurations]),
        provenance=_provenance(sitting, None)
        | {
            "families": len(grid.families),
            "bootstrap": {"draws": suite.draws, "seed": suite.seed, "unit": "idea", "paired": True},
            "producers": {spec.name: spec.model_dump(exclude={"name"}) for spec in suite.rewrite.producers},
            "auditors": {spec.name: spec.model_dump(exclude={"name"}) for spec in suite.rewrite.verifiers},
            "contexts": [context.model_dump(mode="json", exclude_defaults=True) for context in suite.contexts],
        },
        sections={"style": section},
    )


@flow(name="aggregate", flow_run_name="aggregate-{suite}")
def aggregate(
    suite: str, set_fields: list[str] | None = None, store_url: str | None = None, run_id: str | None = None
) -> str:
    """Compute every number of a suite from what is stored; makes no call.

    Args:
        suite: name of a shipped suite, or path of a suite file.
        set_fields: overrides as a.b=value.
        store_url: where everything is remembered; by default .evenhand/store.duckdb.
        run_id: the run this belongs to; None for a run of its own.

    Returns:
        The hash of the results, stored as a JSON blob.
    """
    sitting = sit(suite, set_fields, store_url, run_id)
    BOARD.start("aggregate", 1)
    results = with_companions(sitting, results_of(sitting))
    name = sitting.store.blobs.put(results.model_dump_json().encode(), "application/json")
    sitting.store.flush()
    BOARD.advance("aggregate")
    BOARD.end("aggregate")
    return name
