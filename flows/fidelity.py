"""The fidelity audit of a suite: asked after the rewrites, told in the report, and the numbers again on what passed.

Looks up and puts together; how a pair of texts is audited is ``tasks.rewrite.fidelity``'s matter. People's majority on
a version outweighs the model's verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from prefect.states import Failed, State

from flows.grid import NOBODY, Grid, LabelledVersion
from flows.human_audit import human_section, majority_by_version
from flows.progress import BOARD
from flows.sitting import Sitting
from flows.suites import Suite
from storage.records import Step
from storage.results import Certified, Estimate
from storage.store import Store
from storage.vocabulary import ORIGINAL
from tasks.metrics.assemble import robust_results
from tasks.metrics.intervals import wilson
from tasks.rewrite.fidelity import (
    DIMENSIONS,
    Auditor,
    Compared,
    audit_fidelity,
    fidelity_key,
    resolve_auditor,
)

STAGE = "audit"
PUBLISHED = {"claims": 0.952, "methods": 0.964, "evidence": 0.948, "results": 0.973, "conclusions": 0.965}
"""Automatic pass rates of the paper, to stand beside ours."""
RULE = "all five dimensions kept, by the majority of people where they were asked, else by the auditor"


def auditor_of(suite: Suite) -> Auditor | None:
    """Who audits; None where the suite names nobody."""
    return None if suite.rewrite.audit is None else resolve_auditor(suite.rewrite.audit, suite.judge.endpoints)


def rewrites_in(grid: Grid) -> list[LabelledVersion]:
    """The versions in which somebody wrote: the originals, their repeats and recompilations are not audited."""
    return [version for version in grid.versions if version.condition != ORIGINAL and version.producer != NOBODY]


def compared(version: LabelledVersion) -> Compared:
    """What an auditor is shown of a version."""
    return Compared(version.family.text_hash or "", version.version.text_hash)


def audit_versions(sitting: Sitting) -> list[Step]:
    """Audit the suite's versions that were not audited yet; does nothing without an auditor.

    Raises:
        SuiteError: when the auditor's endpoint is not there.
    """
    auditor = auditor_of(sitting.suite)
    if auditor is None:
        return []
    pairs = [compared(version) for version in rewrites_in(sitting.grid())]
    BOARD.start(STAGE, len(pairs))
    made = audit_fidelity(
        sitting.store, sitting.engine(), auditor, pairs, run_id=sitting.run_id,
        tell=lambda step: BOARD.advance(STAGE, failed=0 if step.outcome == "done" else 1),
    )
    BOARD.advance(STAGE, len(pairs) - len(made), cached=len(pairs) - len(made))
    BOARD.end(STAGE)
    return made


def audit_state(step: Step) -> State[Any]:
    """An audit that has to be asked again, as Prefect shows it."""
    return Failed(message=f"the fidelity audit is to be asked again: {step.reason}: {step.detail}")


def verdicts_of(suite: Suite, store: Store, grid: Grid) -> dict[str, dict[str, bool]]:
    """The auditor's verdicts by version key and dimension (True: kept), as far as there are any."""
    auditor = auditor_of(suite)
    if auditor is None:
        return {}
    keys = {version.version.key: fidelity_key(auditor, compared(version)) for version in rewrites_in(grid)}
    steps = {step.key: step for step in store.load(Step, list(dict.fromkeys(keys.values())))}
    return {
        version: {name: bool(steps[key].output[name]) for name in DIMENSIONS}
        for version, key in keys.items()
        if key in steps and steps[key].outcome == "done"
    }


def certified_keys(model: Mapping[str, Mapping[str, bool]], people: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """The versions that passed.

    Args:
        model: the auditor's verdicts by version key and dimension.
        people: majorities by version key and dimension; None where there is none.
    """
    passed: set[str] = set()
    for key in model.keys() | people.keys():
        verdicts: dict[str, bool | None] = dict(model.get(key, {}))
        verdicts |= {name: said == "kept" for name, said in people.get(key, {}).items() if said is not None}
        if all(verdicts.get(name) for name in DIMENSIONS):
            passed.add(key)
    return passed


def fidelity_sections(sitting: Sitting, grid: Grid, frame: pl.DataFrame, human: Mapping[str, float]) -> dict[str, Any]:
    """``fidelity`` (pass rates by dimension, condition and producer, people's audit) and ``certified``.

    Args:
        sitting: the suite and its store.
        grid: what of it is there.
        frame: columns configuration, family, version, score, as the numbers of the whole rest on.
        human: human scores by family.

    Returns:
        Nothing where nobody audited.
    """
    suite, store = sitting.suite, sitting.store
    model = verdicts_of(suite, store, grid)
    rewrites = rewrites_in(grid)
    people = majority_by_version(store, grid)
    if not model and not people:
        return {}
    passed = certified_keys(model, people)
    auditor = auditor_of(suite)
    told: dict[str, Any] = {
        "auditor": auditor.spec.model if auditor else None,
        "audited": len(model),
        "versions": len(rewrites),
        "dimensions": [
            {"dimension": name, "kept": _rate([v[name] for v in model.values()]), "published": PUBLISHED[name]}
            for name in DIMENSIONS
        ],
        "by_condition": _by_condition(rewrites, model),
    }
    if people:
        told["people"] = human_section(store, grid)
    sections: dict[str, Any] = {"fidelity": told}
    if not frame.is_empty():
        sections["certified"] = _certified(sitting, rewrites, passed, frame, human).model_dump(mode="json")
    return sections


def _rate(kept: Sequence[bool]) -> dict[str, Any]:
    limits = wilson(sum(kept), len(kept))
    share = sum(kept) / len(kept) if kept else None
    reason = None if kept else "not_audited"
    return Estimate(
        value=share, low=limits.low, high=limits.high, n=len(kept), reason=reason, method="wilson"
    ).model_dump(mode="json", exclude_defaults=True, exclude_none=False)


def _by_condition(rewrites: Sequence[LabelledVersion], model: Mapping[str, Mapping[str, bool]]) -> list[dict[str, Any]]:
    groups: dict[tuple[str, str], list[bool]] = {}
    for version in rewrites:
        if version.version.key in model:
            group = groups.setdefault((version.condition, version.producer), [])
            group.append(all(model[version.version.key].values()))
    return [
        {"condition": condition, "producer": producer, "all five kept": _rate(kept)}
        for (condition, producer), kept in groups.items()
    ]


def _certified(
    sitting: Sitting, rewrites: Sequence[LabelledVersion], passed: set[str], frame: pl.DataFrame,
    human: Mapping[str, float],
) -> Certified:
    """The numbers on the versions that passed; the originals and the null arm stay."""
    failed = [(v.family.family, v.label) for v in rewrites if v.version.key not in passed]
    dropped = pl.DataFrame(failed, schema={"family": pl.String, "version": pl.String}, orient="row")
    kept = frame.join(dropped, on=["family", "version"], how="anti")
    there = kept.filter(pl.col("version") != ORIGINAL)
    numbers = None
    if not there.is_empty():
        numbers = robust_results(kept, dict(human), draws=sitting.suite.draws, seed=sitting.suite.seed)
    return Certified(
        rule=RULE,
        versions=sum(v.version.key in passed for v in rewrites),
        of=len(rewrites),
        configurations={name: found.metrics for name, found in numbers.configurations.items()} if numbers else {},
    )
