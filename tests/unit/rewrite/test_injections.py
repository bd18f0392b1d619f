"""Injections go in their bias's direction, keep errors, have keys without labels, and are kept or left out by votes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from storage.errors import SuiteError
from storage.pairs import ORDERS, Pair, Presentation
from storage.records import Family, Step, Version
from storage.store import Store, open_store
from storage.vocabulary import ANSWER_BIASES, BIAS_NAMES, BIASES, ORIGINAL
from tasks.models import transports
from tasks.models.cues import COMMON, crowd, cues, muses
from tasks.models.endpoints import EndpointSpec
from tasks.models.engine import Engine
from tasks.rewrite.injections.injection import Injection, injections_of
from tasks.rewrite.injections.making import InjectionShard, inject_shard, missing_injections
from tasks.rewrite.injections.model import read_answer
from tasks.rewrite.injections.rules import add_cue, remove_cue, sentences
from tasks.rewrite.injections.spec import InjectionPlan, Verifier, VerifierSpec, resolve_verifier
from tasks.rewrite.injections.templates import templates
from tasks.rewrite.injections.verify import read_vote
from tasks.rewrite.spec import ProducerSpec, resolve

REWRITING = [bias.name for bias in BIASES if bias.kind == "rewriting"]
PHANTOM = EndpointSpec(name="phantom", kind="phantom")


@pytest.fixture(scope="module")
def pairs(root: Path) -> list[Pair]:
    lines = (root / "deployments" / "suites" / "pairs" / "pairs.jsonl").read_text("utf-8").splitlines()
    return [Pair.model_validate({k: v for k, v in json.loads(line).items() if k != "id"}) for line in lines]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "s.duckdb")
    yield opened
    opened.close()


def family(pair: Pair, name: str = "one") -> Family:
    return Family(key=f"key-{name}", family=name, benchmark="judge_bias", source_kind="pair", source_hash="x",
                  title=pair.question, text_hash="x", facts=pair.model_dump(mode="json"))


def plan(**changes: Any) -> InjectionPlan:
    rules = resolve(ProducerSpec(name="r"), {})
    fields: dict[str, Any] = {"biases": BIAS_NAMES, "styles": ("tuned",), "producers": (rules,)}
    return InjectionPlan(**fields | changes)


def verifier(name: str) -> Verifier:
    return resolve_verifier(VerifierSpec(name=name, endpoint="phantom", model=name), {"phantom": PHANTOM})


@pytest.mark.parametrize("style", ["tuned", "held_out"])
@pytest.mark.parametrize("bias", REWRITING)
def test_the_worse_answer_gains_the_cue_and_keeps_every_sentence(pairs: list[Pair], bias: str, style: str) -> None:
    for pair in pairs:
        added = add_cue(pair.rejected, bias, style, seed=1)
        before, after = cues(pair.rejected), cues(added)
        assert after[bias] - before[bias] >= (0.9 if bias == "length" else 1.0)
        assert all(after[other] == before[other] for other in COMMON if other != bias)
        plain = added.replace("**", "").replace("\\|", "|")
        assert all(sentence in plain for sentence in sentences(pair.rejected))
        assert add_cue(pair.rejected, bias, style, seed=1) == added


def test_held_out_words_are_others_than_the_common_ones(pairs: list[Pair]) -> None:
    for bias in set(REWRITING) - {"length"}:
        tuned, held = (add_cue(pairs[0].rejected, bias, style, seed=1) for style in ("tuned", "held_out"))
        assert cues(tuned, is_deaf=True)[bias] == 0.0
        assert cues(held, is_deaf=True)[bias] == 1.0
    for bias in ("gender", "race"):
        assert cues(templates("tuned")[bias].prefix[0], is_deaf=True)[bias] == 0.0
        assert cues(templates("held_out")[bias].prefix[0], is_deaf=True)[bias] == 1.0
    for style, deaf in (("tuned", None), ("held_out", "B")):
        said = templates(style)["bandwagon"].after[0].replace("{rejected}", "B")
        assert (crowd(said), crowd(said, is_deaf=True)) == ("B", deaf)
        filler = templates(style)["superficial_reflection"].between[0]
        assert (muses(filler), muses(filler, is_deaf=True)) == (True, style == "held_out")


@pytest.mark.parametrize(("bias", "before", "after"), [
    ("assertiveness", "Certainly, water boils. It is absolutely hot.", "Water boils. It is hot."),
    ("authority", "According to Professor X, ice floats (Smith et al., 2019). Yes [3].", "Ice floats. Yes."),
    ("beauty", "# Title\n- **One** thing\n- two", "Title\nOne thing\ntwo"),
    ("sycophancy", "Great question! Ice floats.", "Ice floats."),
    ("sentiment", "Happily, ice floats.", "Ice floats."),
    ("length", "Needless to say, ice floats (that is, it swims).", "Ice floats."),
    ("concreteness", "Ice floats (for example, in a glass).", "Ice floats."),
])
def test_the_better_answer_loses_the_cue(bias: str, before: str, after: str) -> None:
    assert remove_cue(before, bias) == after
    assert remove_cue(after, bias) == after


def test_what_is_wanted_of_a_pair(pairs: list[Pair]) -> None:
    wanted = list(injections_of(family(pairs[0]), plan(styles=("tuned", "held_out"))))
    assert len(wanted) == 11 * 2 + 1
    assert len({each.key for each in wanted}) == len(wanted)
    published = pairs[0].model_copy(update={"bias": "race"})
    assert [each.bias for each in injections_of(family(published), plan())] == ["race"]


def test_keys_hold_no_labels_and_change_with_words(pairs: list[Pair], monkeypatch: pytest.MonkeyPatch) -> None:
    one, two, other = (
        Injection(family(pairs[0], name), "length", "tuned", resolve(ProducerSpec(name=who, seed=seed), {}))
        for name, who, seed in (("one", "a", 1), ("one", "b", 1), ("one", "a", 2)))
    assert one.key == two.key != other.key
    changed = templates("tuned")["length"].model_copy(update={"close": ("Other words.",)})
    monkeypatch.setitem(templates("tuned"), "length", changed)
    assert Injection(one.family, "length", "tuned", one.producer).key != one.key


def test_everything_is_made_once_and_labels_are_not_shown(store: Store, pairs: list[Pair]) -> None:
    shard = InjectionShard((family(pairs[0], "one"), family(pairs[1], "two")), plan())
    first = inject_shard(store, Engine(store), shard)
    assert (first.made, first.cached) == (24, 0)
    again = inject_shard(store, Engine(store), shard)
    assert (again.made, again.cached, missing_injections(store, shard)) == (0, 24, [])
    versions = store.load(Version)
    assert len(versions) == 2 * (2 + 11 * 2 + 1)
    for version in versions:
        shown = Presentation.read(store.get_text(version.text_hash))
        pair = pairs[0] if shown.question == pairs[0].question else pairs[1]
        if version.facts["bias"] in (ORIGINAL, "position", "bandwagon", "superficial_reflection"):
            assert (shown.first == pair.chosen) == (version.facts["better"] == "first")
        if version.facts["bias"] == "bandwagon":
            assert crowd(shown.after or "") == ("B" if version.facts["better"] == "first" else "A")
        if version.facts["bias"] in ("gender", "race"):
            better = shown.first if version.facts["better"] == "first" else shown.second
            assert better.endswith(pair.chosen) and better != pair.chosen


def test_the_position_bias_shows_the_better_answer_second(store: Store, pairs: list[Pair]) -> None:
    inject_shard(store, Engine(store), InjectionShard((family(pairs[0]),), plan(biases=("position",))))
    (version,) = [v for v in store.load(Version) if v.facts["bias"] == "position"]
    originals = {v.facts["better"]: v.text_hash for v in store.load(Version) if v.facts["bias"] == ORIGINAL}
    assert version.facts["better"] == "second"
    assert version.text_hash == originals["second"]


def test_a_shown_order_can_be_added_later(store: Store, pairs: list[Pair]) -> None:
    one = InjectionShard((family(pairs[0]),), plan(biases=("race",), both_orders=False))
    inject_shard(store, Engine(store), one)
    both = InjectionShard(one.families, plan(biases=("race",), both_orders=True))
    assert inject_shard(store, Engine(store), both).made == 1
    assert sorted(v.facts["order"] for v in store.load(Version) if v.facts["bias"] == "race") == sorted(ORDERS)


def test_votes_decide_and_are_kept(store: Store, pairs: list[Pair]) -> None:
    families = tuple(family(pair, str(number)) for number, pair in enumerate(pairs[:20]))
    three = tuple(map(verifier, ("phantom-verifier-a", "phantom-verifier-b", "phantom-verifier-c")))
    shard = InjectionShard(families, plan(biases=("length", "gender", "bandwagon"), verifiers=three, both_orders=False))
    result = inject_shard(store, Engine(store), shard)
    steps = store.load(Step)
    voted = [step for step in steps if "votes" in step.output]
    assert {step.output["bias"] for step in voted} == {"length", "gender"}
    assert len(voted) == 40
    for step in voted:
        kept = step.output["votes"].count("kept") >= 2
        assert (step.outcome == "done") == kept
        assert kept or step.reason == "order_changed"
    assert result.made + result.excluded.total() == 60
    calls = store.query("SELECT count(*) AS n FROM calls")["n"][0]
    inject_shard(store, Engine(store), shard)
    assert store.query("SELECT count(*) AS n FROM calls")["n"][0] == calls == 120


class _Writer(httpx2.AsyncBaseTransport):
    """A model that says what a test told it."""

    def __init__(self) -> None:
        self.say: Any = None
        self.seen = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = json.loads(await request.aread())
        self.seen += 1
        status, text = self.say(body["messages"][-1]["content"])
        if status != 200:
            return httpx2.Response(status, json={"error": {"message": text}})
        choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        return httpx2.Response(200, json={"id": "x", "model": "w", "choices": [choice]})


_WRITER = _Writer()
"""One for the process: an endpoint's client is opened once."""


def _answer_of(user: str) -> str:
    return user.split("-----BEGIN ANSWER")[1].split("-----\n", 1)[1].split("\n-----END")[0]


@pytest.mark.parametrize(("say", "reason"), [
    (lambda user: (200, json.dumps({"answer": "Certainly. " + _answer_of(user)})), None),
    (lambda user: (200, json.dumps({"answer": "Short."})), "length_out_of_bounds"),
    (lambda user: (200, json.dumps({"answer": _answer_of(user)})), "nothing_changed"),
    (lambda user: (200, "I would rather not."), "unparsable"),
    (lambda user: (500, "out of order"), "provider_error"),
])
def test_a_models_answers_are_used_or_refused(
    store: Store, pairs: list[Pair], monkeypatch: pytest.MonkeyPatch, say: Any, reason: str | None
) -> None:
    writer = _WRITER
    writer.say, writer.seen = say, 0
    monkeypatch.setitem(transports._registered, "local", lambda: writer)
    endpoint = EndpointSpec(name="writer", kind="local", attempts=1, timeout_s=77)
    producer = resolve(ProducerSpec(name="w", endpoint="writer", model="w"), {"writer": endpoint})
    shard = InjectionShard((family(pairs[0]),), plan(biases=("assertiveness",), producers=(producer,)))
    result = inject_shard(store, Engine(store), shard)
    if reason is None:
        assert result.made == 1
        version = next(v for v in store.load(Version) if v.facts["bias"] != ORIGINAL)
        shown = Presentation.read(store.get_text(version.text_hash))
        assert shown.first.startswith("Certainly. ") and shown.second.startswith("Certainly. ")
        seen = writer.seen
        inject_shard(store, Engine(store), shard)
        assert writer.seen == seen == 2
    else:
        assert (result.failed if reason == "provider_error" else result.excluded) == {reason: 1}


@pytest.mark.parametrize(("text", "vote"), [
    ('{"reason": "x", "better": "A"}', "A"), ('Sure: {"better": "equal"}', "equal"), ('{"better": "C"}', None),
    ("A", None), (None, None), ('{"better": ', None),
])
def test_a_vote_is_read_or_is_none(text: str | None, vote: str | None) -> None:
    assert read_vote(text) == vote


def test_a_models_answer_is_read_out_of_talk() -> None:
    assert read_answer('Here: {"answer": "x"} done') == "x"
    assert read_answer('{"answer": " "}') is None
    assert read_answer("nothing") is None


def test_a_verifier_needs_an_endpoint_that_answers() -> None:
    with pytest.raises(SuiteError, match="'nowhere' is not among"):
        resolve_verifier(VerifierSpec(name="v", endpoint="nowhere", model="m"), {"phantom": PHANTOM})
    reward = EndpointSpec(name="r", kind="phantom", api="reward")
    with pytest.raises(SuiteError, match="only scores"):
        resolve_verifier(VerifierSpec(name="v", endpoint="r", model="m"), {"r": reward})


def test_nine_biases_change_answers() -> None:
    assert len(ANSWER_BIASES) == 9
