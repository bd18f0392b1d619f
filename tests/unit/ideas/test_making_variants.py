"""Variants are audited blind, remade, excluded, remembered; a model's variants are checked."""

from __future__ import annotations

import json

import httpx2
import pytest

from storage.ideas import STYLE_VARIANT, VARIANT_NAMES, Idea
from storage.records import Call, Step, Version
from tasks.models import transports
from tasks.models.engine import Engine
from tasks.models.phantom_ideas import audited
from tasks.models.phantom_transport import PhantomTransport
from tasks.rewrite.ideas.audit import EXPECTED, FAILINGS, Audit, read_audit, verdict
from tasks.rewrite.ideas.making import VariantPlan, VariantShard, missing_variants, vary_shard
from tasks.rewrite.ideas.model import problem, read_idea
from tasks.rewrite.ideas.rules import vary_by_rules
from tasks.rewrite.injections.spec import Verifier, VerifierSpec
from tasks.rewrite.spec import Producer, ProducerSpec

RULES = Producer(ProducerSpec(name="rules", kind="rules", seed=1))
AUDITOR = VerifierSpec(name="auditor", endpoint="phantom", model="phantom-auditor")


def test_all_fifteen_pass_the_audit_of_the_phantom_auditor(store, families, endpoint):
    plan = VariantPlan(RULES, auditor=Verifier(AUDITOR, endpoint))
    result = vary_shard(store, Engine(store), VariantShard(tuple(families), plan))
    assert result.made == 15 * len(families)
    assert not result.excluded
    assert not result.failed
    versions = store.load(Version)
    assert {version.condition for version in versions} == set(VARIANT_NAMES)
    assert all(v.facts["audit"]["substance"] == STYLE_VARIANT[v.condition].substance for v in versions)
    again = vary_shard(store, Engine(store), VariantShard(tuple(families), plan))
    assert (again.made, again.cached) == (0, 15 * len(families))


def test_a_gone_version_is_made_again_and_keys_hold_no_label(store, families):
    shard = VariantShard(tuple(families[:1]), VariantPlan(RULES))
    renamed = VariantPlan(Producer(RULES.spec.model_copy(update={"name": "other"})))
    assert list(shard.wanted()) == [renamed.key(families[0], name) for name in VARIANT_NAMES]
    other_seed = VariantPlan(Producer(RULES.spec.model_copy(update={"seed": 2})))
    assert other_seed.key(families[0], "B1") != shard.plan.key(families[0], "B1")
    assert other_seed.key(families[0], "A1") == shard.plan.key(families[0], "A1")
    assert len(missing_variants(store, shard)) == 15


class HarshAuditor(PhantomTransport):
    """Says of every grand narrative that it has lost its substance, the first time or always."""

    always = True
    seen: dict[str, int] = {}

    async def handle_async_request(self, request):
        body = json.loads(await request.aread())
        said = json.dumps(body["messages"])
        if "decisive hour" in said or "reach as deeply" in said:
            count = self.seen.get("grand", 0)
            self.seen["grand"] = count + 1
            if self.always or count == 0:
                answer = {"style": "grand", "substance": "removed", "quality": 4, "style_only": False}
                choice = {"index": 0, "message": {"role": "assistant", "content": json.dumps(answer)},
                          "finish_reason": "stop"}
                return httpx2.Response(200, json={"id": "1", "model": "m", "choices": [choice]})
        return await super().handle_async_request(request)


@pytest.mark.parametrize("always", [True, False])
def test_a_variant_that_fails_is_remade_and_then_excluded(store, families, endpoint, monkeypatch, always):
    monkeypatch.setattr(HarshAuditor, "always", always)
    monkeypatch.setattr(HarshAuditor, "seen", {})
    monkeypatch.setattr(transports, "_registered", {"phantom": HarshAuditor})
    plan = VariantPlan(RULES, variants=("A1", "B2"), auditor=Verifier(AUDITOR, endpoint), remakes=2)
    result = vary_shard(store, Engine(store), VariantShard(tuple(families[:1]), plan))
    (step,) = [step for step in store.load(Step) if step.output["variant"] == "B2"]
    if always:
        monkeypatch.setattr(HarshAuditor, "always", False)
        again = vary_shard(store, Engine(store), VariantShard(tuple(families[:1]), plan, frozenset(FAILINGS)))
        assert again.made == 1
        made = max(store.load(Version), key=lambda version: version.at)
        assert made.facts["attempts"] == 4
        assert result.excluded == {"substance_removed": 1}
        assert (step.outcome, step.output["attempts"]) == ("excluded", 3)
        assert step.output["failed_before"] == ["substance_removed", "substance_removed"]
    else:
        assert result.made == 2
        assert (step.output["attempts"], step.output["failed_before"]) == (2, ["substance_removed"])


@pytest.mark.parametrize(("variant", "said", "why"), [
    ("B1", ("verbose", "kept", 4, True), None), ("B1", ("grand", "kept", 4, True), "style_grand"),
    ("B1", ("verbose", "removed", 4, False), "substance_removed"), ("B1", ("verbose", "kept", 1, True), "quality"),
    ("B1", ("verbose", "kept", 4, False), "style_only"), ("A1", ("none", "kept", 4, True), None),
    ("C1", ("plain", "removed", 3, False), None), ("C1", ("plain", "kept", 3, True), "substance_kept"),
    ("H1", ("hype", "removed", 3, False), None), ("H4", ("hype", "kept", 4, True), None),
])
def test_what_the_auditor_says_decides(variant, said, why):
    audit = Audit(style=said[0], substance=said[1], quality=said[2], style_only=said[3])
    assert verdict(variant, audit) == why


def test_every_variant_has_expected_styles():
    assert set(EXPECTED) == set(VARIANT_NAMES)


@pytest.mark.parametrize("answer", ["", "nothing", '{"style": "verbose"}', '{"style": "loud", "substance": "kept", '
                                    '"quality": 3, "style_only": true}', '{"style": "none", "substance": "kept", '
                                    '"quality": true, "style_only": true}', "[1, 2]"])
def test_an_audit_that_is_none_is_not_guessed(answer):
    assert read_audit(answer) is None


def test_the_phantom_auditor_sees_no_change_where_there_is_none(named):
    text = named[0].idea.text
    assert audited(text, text) == ("none", "kept", True)


class Writer(httpx2.AsyncBaseTransport):
    """A model that writes variants by the rules, and now and then loses a number."""

    losing = False
    prompts: list[str] = []

    async def handle_async_request(self, request):
        body = json.loads(await request.aread())
        user = body["messages"][-1]["content"]
        user = user if isinstance(user, str) else "".join(part["text"] for part in user)
        self.prompts.append(user)
        inside = user.split("-----\n", 1)[1].rsplit("\n-----END", 1)[0]
        given = json.loads(inside)
        idea = Idea.model_validate({**given, "domain": "Biology", "concepts": ["c"]})
        styles = {"circumlocution": "B1", "great story": "B2", "every caution": "B3", "unprecedented": "B4",
                  "by its uses": "B5", "substance out": "C1", "logical weakness": "C2", "Add substance": "C3",
                  "plain core": "A3", "in other words": "A2"}
        variant = next(name for said, name in styles.items() if said in user)
        made = vary_by_rules(idea, variant, 1)
        said = {name: getattr(made, name) for name in given}
        if type(self).losing:
            said["evaluation"] = "Nothing is tested."
        choice = {"index": 0, "message": {"role": "assistant", "content": f"```json\n{json.dumps(said)}\n```"},
                  "finish_reason": "stop"}
        return httpx2.Response(200, json={"id": "1", "model": "m", "choices": [choice]})


@pytest.fixture
def writer(endpoint, monkeypatch):
    monkeypatch.setattr(Writer, "losing", False)
    monkeypatch.setattr(Writer, "prompts", [])
    monkeypatch.setattr(transports, "_registered", {"phantom": Writer})
    return Producer(ProducerSpec(name="m", endpoint="e", model="writer"), endpoint)


def test_a_model_writes_hybrids_part_by_part(store, families, writer):
    plan = VariantPlan(writer, variants=("A1", "B2", "B4", "H1"))
    result = vary_shard(store, Engine(store), VariantShard(tuple(families[:1]), plan))
    assert result.made == 4
    # H1 is B2, then B4, then C1: its first call is B2's own, asked once.
    assert len(Writer.prompts) == 4
    again = vary_shard(store, Engine(store), VariantShard(tuple(families[:1]), plan))
    assert again.cached == 4
    assert len(Writer.prompts) == 4


def test_a_model_that_loses_a_number_is_not_believed(store, families, writer, monkeypatch):
    monkeypatch.setattr(Writer, "losing", True)
    plan = VariantPlan(writer, variants=("B1",), remakes=0)
    result = vary_shard(store, Engine(store), VariantShard(tuple(families[:1]), plan))
    assert result.excluded == {"numbers": 1}
    assert len(store.load(Call, view=False)) == writer.endpoint.attempts


def test_a_models_answer_cannot_change_title_source_or_domain(named):
    idea = named[0].idea
    answer = json.dumps({"title": "Mine", "research_question": "Q?", "problem": "P", "mechanism": "M",
                         "contribution": "C", "domain": "Alchemy", "evaluation": None})
    made = read_idea(answer, idea)
    assert (made.title, made.domain, made.evaluation) == (idea.title, idea.domain, "")
    assert problem(idea, made, "B1") == "length"
    assert read_idea("no object", idea) is None
    assert read_idea('{"mechanism": 3}', idea) is None
