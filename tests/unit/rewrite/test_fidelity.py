"""The fidelity audit: asked once, read strictly, and of nobody where two texts are equal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from storage.errors import SuiteError
from storage.records import Step
from storage.store import Store, open_store
from tasks.models.endpoints import EndpointSpec
from tasks.models.engine import Engine
from tasks.rewrite.fidelity import (
    DIMENSIONS,
    Auditor,
    AuditSpec,
    Compared,
    audit_fidelity,
    fidelity_key,
    read_fidelity,
    resolve_auditor,
)
from tests.fakes.fake_auditor import FakeAuditor

KEPT = dict.fromkeys(DIMENSIONS, "kept")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = open_store(tmp_path / "store.duckdb")
    yield made
    made.close()


def _auditor(url: str, **endpoint: object) -> Auditor:
    spec = EndpointSpec.model_validate({"name": "a", "base_url": url, "attempts": 2, **endpoint})
    return resolve_auditor(AuditSpec(endpoint="a", model="auditor"), {"a": spec})


def _pair(store: Store, original: str, version: str) -> Compared:
    return Compared(store.put_text(original), store.put_text(version))


def test_verdicts_are_given_once_and_equal_texts_ask_nobody(store: Store) -> None:
    pairs = [
        _pair(store, "It gains 12 points.", "It demonstrably gains 12 points."),
        _pair(store, "It gains 12 points.", "It gains 21 points."),
        _pair(store, "It works.", "It works for everything."),
        _pair(store, "It works.", "It works."),
    ]
    with FakeAuditor() as model:
        auditor = _auditor(model.base_url)
        told: list[Step] = []
        made = audit_fidelity(store, Engine(store), auditor, [*pairs, pairs[0]], tell=told.append)
        asked = len(model.requests)
        assert audit_fidelity(store, Engine(store), auditor, pairs) == []
        assert len(model.requests) == asked == 3 and told == made
    found = {step.key: step for step in made}
    verdicts = [found[fidelity_key(auditor, pair)].output for pair in pairs]
    assert [[name for name in DIMENSIONS if not each[name]] for each in verdicts] == [[], ["results"], ["claims"], []]
    assert verdicts[1]["differences"] == ["a number differs"] and verdicts[3]["call"] is None


def test_an_answer_that_cannot_be_read_is_asked_again_then_final(store: Store) -> None:
    pair = _pair(store, "a", "b")
    with FakeAuditor(first=("no idea", "still no idea")) as model:
        (step,) = audit_fidelity(store, Engine(store), _auditor(model.base_url), [pair])
        assert (step.outcome, step.reason, len(model.requests)) == ("excluded", "unparsable", 2)
    with FakeAuditor(first=("no idea",)) as model:
        (step,) = audit_fidelity(store, Engine(store), _auditor(model.base_url), [pair])
        assert step.outcome == "done"


def test_an_auditor_that_is_down_is_asked_by_the_next_run(store: Store) -> None:
    pair = _pair(store, "a", "b")
    with FakeAuditor() as model:
        auditor = _auditor(model.base_url)
        model.broken["503"] = 9
        (step,) = audit_fidelity(store, Engine(store), auditor, [pair])
        assert step.outcome == "failed"
        model.broken.clear()
        (step,) = audit_fidelity(store, Engine(store), auditor, [pair])
        assert step.outcome == "done"


def test_another_auditor_or_another_text_is_another_verdict(store: Store) -> None:
    first, second = _auditor("http://127.0.0.1:1/v1"), _auditor("http://127.0.0.1:2/v1")
    pair = _pair(store, "a", "b")
    renamed = Auditor(first.spec.model_copy(update={"endpoint": "other"}), first.endpoint)
    assert fidelity_key(first, pair) == fidelity_key(renamed, pair)
    assert fidelity_key(first, pair) != fidelity_key(second, pair)
    assert fidelity_key(first, pair) != fidelity_key(first, Compared(pair.version, pair.original))


@pytest.mark.parametrize(
    "answer, is_read",
    [
        (json.dumps({"differences": [], **KEPT}), True),
        ("Here it is:\n```json\n" + json.dumps({**KEPT, "claims": " Kept. "}) + "\n```", True),
        (json.dumps({**KEPT, "claims": "mostly"}), False),
        (json.dumps({**KEPT, "results": True}), False),
        (json.dumps({name: "kept" for name in DIMENSIONS[:4]}), False),
        ("", False), ("[]", False), ("kept kept kept", False),
    ],
)
def test_answers_are_read_strictly(answer: str, is_read: bool) -> None:
    assert (read_fidelity(answer) is not None) is is_read


def test_an_auditor_that_cannot_compare_is_refused() -> None:
    with pytest.raises(SuiteError, match="rewrite.audit: endpoint 'x' is not among"):
        resolve_auditor(AuditSpec(endpoint="x", model="m"), {})
    with pytest.raises(SuiteError, match="only scores"):
        resolve_auditor(AuditSpec(endpoint="p", model="m"), {"p": EndpointSpec(name="p", kind="phantom")})
