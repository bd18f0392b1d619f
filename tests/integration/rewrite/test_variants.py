"""Versions made end to end: checked, compiled, remembered once; failures typed and tried again."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from storage.errors import InputError
from storage.records import Call, Family, Step
from storage.store import Store
from storage.vocabulary import CONDITION_NAMES, NULL_ARM
from tasks.latex.compile import build, differences
from tasks.latex.project import load_project
from tasks.models.endpoints import EndpointSpec
from tasks.rewrite import variants
from tasks.rewrite.fitting import Paper
from tasks.rewrite.original import paper_of
from tasks.rewrite.producers import Wording
from tasks.rewrite.shards import Shard, missing_versions, rewrite_shard, versions_of
from tasks.rewrite.spec import Producer, ProducerSpec, resolve
from tasks.rewrite.tasks import rewrite_task

FamilyOf = Callable[[Store, Paper], Family]
ALL = (*CONDITION_NAMES, *NULL_ARM)
RULES = Producer(ProducerSpec(name="rules-a", seed=1))


def _never() -> Paper:
    raise AssertionError("everything was there: no paper is needed")


def _model(url: str, **more: Any) -> Producer:
    spec = EndpointSpec(name="fake", base_url=url, attempts=2)
    return resolve(ProducerSpec(name="writer", endpoint="fake", model="writer-1", **more), {"fake": spec})


def test_all_conditions_and_the_null_arm_are_made_once(store: Store, small: Paper, family_of: FamilyOf) -> None:
    family = family_of(store, small)
    shard = Shard(family, RULES, ALL)
    assert missing_versions(store, shard) == list(ALL)
    steps: list[Step] = []
    result = rewrite_shard(store, shard, lambda: small, run_id="r", tell=steps.append)
    assert sorted(result.made) == sorted(ALL)
    assert not result.excluded and not result.failed
    assert {step.outcome for step in steps} == {"done"}
    made = versions_of(store, shard)
    assert set(made) == set(ALL)
    assert made["null_repeat"].text_hash == made["null_recompile"].text_hash == family.text_hash
    texts = {name: store.get_text(version.text_hash) for name, version in made.items()}
    assert len({*texts.values()}) == len(ALL) - 1
    assert "12.5 points" in re.sub(r"\s+", " ", texts["joint_r3"])
    for name in CONDITION_NAMES:
        version = made[name]
        assert version.segments_changed > 0 and version.segments_fallback == 0 and version.pages == 1
        assert version.facts["checks"]["sets"] == "equal" and version.facts["reverted"] == []
        assert version.pdf_hash is not None and store.blobs.get(version.pdf_hash).startswith(b"%PDF")
        project = load_project(store.blobs.get(version.source_hash or ""), main="main.tex")
        assert differences(small.baseline, build(project, baseline=small.baseline)) == []


def test_what_is_there_is_not_made_again(store: Store, small: Paper, family_of: FamilyOf) -> None:
    family = family_of(store, small)
    conditions = ("joint_r2", "null_recompile")
    first = rewrite_shard(store, Shard(family, RULES, conditions), lambda: small)
    assert sorted(first.made) == ["joint", "joint_r2", "null_recompile"]
    renamed = Producer(ProducerSpec(name="another label", seed=1))
    again = rewrite_shard(store, Shard(family, renamed, conditions), _never)
    assert sorted(again.cached) == ["joint", "joint_r2", "null_recompile"] and not again.made
    seeded = Shard(family, Producer(ProducerSpec(name="rules-b", seed=2)), conditions)
    assert missing_versions(store, seeded) == ["joint", "joint_r2"]


def test_the_task_says_what_it_did(store: Store, small: Paper, family_of: FamilyOf) -> None:
    family = family_of(store, small)
    shard = Shard(family, RULES, ("scope_framing",))
    assert rewrite_task.fn(store.url, shard).name == "Completed"
    cached = rewrite_task.fn(store.url, shard)
    assert (cached.name, cached.type.value) == ("Cached", "COMPLETED")


def test_variants_start_from_what_ingest_remembered(
    store: Store, small: Paper, family_of: FamilyOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    family = family_of(store, small)
    paper = paper_of(store, family)
    assert differences(small.baseline, paper.baseline) == []
    assert paper.baseline.carry == small.baseline.carry
    with pytest.raises(InputError, match="paper: it was given as pdf"):
        paper_of(store, family.model_copy(update={"source_kind": "pdf"}))


def test_a_broken_wording_is_taken_back_and_counted(
    store: Store, small: Paper, family_of: FamilyOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    family = family_of(store, small)
    honest = variants.reword_by_rules

    def sabotaged(parts: Any, condition: str, seed: int) -> Wording:
        made = honest(parts, condition, seed)
        name = list(made.texts)[1]
        return Wording({**made.texts, name: made.texts[name] + r" \nosuchmacro"}, made.fallbacks, made.facts)

    monkeypatch.setattr(variants, "reword_by_rules", sabotaged)
    shard = Shard(family, RULES, ("joint",))
    assert rewrite_shard(store, shard, lambda: small).made == ["joint"]
    version = versions_of(store, shard)["joint"]
    assert len(version.facts["reverted"]) == 1 == version.segments_fallback
    assert b"nosuchmacro" not in store.blobs.get(version.source_hash or "")


def test_no_wording_is_an_exclusion_that_stays_until_it_is_retried(
    store: Store, small: Paper, family_of: FamilyOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    family = family_of(store, small)
    monkeypatch.setattr(variants, "reword_by_rules", lambda *_: Wording({}, {"main.tex#1": "numbers"}))
    shard = Shard(family, RULES, ("joint", "joint_r2"))
    result = rewrite_shard(store, shard, lambda: small)
    assert result.excluded == {"joint": "nothing_changed", "joint_r2": "parent_excluded"}
    [step] = [step for step in store.load(Step) if step.reason == "nothing_changed"]
    assert step.detail == "paper, joint: no wording could be used (numbers)"
    monkeypatch.undo()
    assert rewrite_shard(store, shard, _never).made == []
    again = Shard(family, RULES, ("joint", "joint_r2"), retry=frozenset({"nothing_changed", "parent_excluded"}))
    assert rewrite_shard(store, again, lambda: small).made == ["joint", "joint_r2"]


def test_a_model_with_every_fault_never_reaches_a_compiled_version(
    store: Store, demo: Paper, family_of: FamilyOf, faulty_writer: ModuleType
) -> None:
    family = family_of(store, demo)
    kinds = list(faulty_writer.FAULTS)
    with faulty_writer.FaultyWriter(lambda number: kinds[number // 2 % len(kinds)] if number % 2 else None) as writer:
        shard = Shard(family, _model(writer.base_url), ("joint", "feedback_guided"))
        result = rewrite_shard(store, shard, lambda: demo)
        assert sorted(result.made) == ["feedback_guided", "joint"]
        asked = len(writer.requests)
        assert rewrite_shard(store, shard, _never).cached
        assert len(writer.requests) == asked
    assert set(writer.given) >= set(kinds)
    for version in versions_of(store, shard).values():
        source = store.blobs.get(version.source_hash or "")
        assert b"FAULTY" not in source and b"```" not in source and b"4711" not in source
        assert version.segments_fallback > 0
        assert version.segments_changed > 0
        assert "FAULTY" not in store.get_text(version.text_hash)


def test_a_pdf_is_repeated_but_not_rewritten(store: Store, small: Paper, family_of: FamilyOf) -> None:
    family = family_of(store, small).model_copy(update={"source_kind": "pdf", "main_file": None})
    shard = Shard(family, RULES, ("joint", "joint_r2", "null_repeat", "null_recompile"))
    result = rewrite_shard(store, shard, _never)
    assert result.made == ["null_repeat"]
    assert result.excluded == dict.fromkeys(("joint", "joint_r2", "null_recompile"), "no_latex_source")


def test_an_outage_fails_the_step_and_a_later_run_finishes_it(
    store: Store, small: Paper, family_of: FamilyOf, faulty_writer: ModuleType
) -> None:
    family = family_of(store, small)
    with faulty_writer.FaultyWriter() as writer:
        writer.broken["503"] = 100
        shard = Shard(family, _model(writer.base_url), ("scope_framing",))
        state = rewrite_task.fn(store.url, shard)
        assert state.type.value == "FAILED"
        assert "scope_framing: provider_error" in (state.message or "")
        assert versions_of(store, shard) == {}
        writer.broken.clear()
        assert rewrite_shard(store, shard, lambda: small).made == ["scope_framing"]
    assert len(store.load(Call, view=False)) >= 3


def test_a_wording_that_only_the_build_refuses_is_mended_with_the_log(
    store: Store, small: Paper, family_of: FamilyOf, faulty_writer: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    family = family_of(store, small)
    honest = variants.reword_by_model
    monkeypatch.setattr("tasks.rewrite.fitting.MAX_CULPRITS", 0)

    def sabotaged(pen: Any, parts: Any) -> Wording:
        made = honest(pen, parts)
        return Wording({name: text + r" \nosuchmacro" for name, text in made.texts.items()}, made.fallbacks)

    monkeypatch.setattr(variants, "reword_by_model", sabotaged)
    with faulty_writer.FaultyWriter() as writer:
        shard = Shard(family, _model(writer.base_url), ("scope_framing",))
        assert rewrite_shard(store, shard, lambda: small).made == ["scope_framing"]
        assert "Undefined control sequence" in str(writer.requests[-1]["messages"])
    version = versions_of(store, shard)["scope_framing"]
    assert b"nosuchmacro" not in store.blobs.get(version.source_hash or "")
