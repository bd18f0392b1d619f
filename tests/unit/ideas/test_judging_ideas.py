"""Four methods, one literature for all variants, signals bought once, windows that cut whole works."""

from __future__ import annotations

import json

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from storage.records import Call, Judgement
from storage.vocabulary import Outcome
from tasks.judge.cells import VersionRef
from tasks.judge.contexts import cut_works, literature_limits
from tasks.judge.protocols import PROTOCOLS, Configuration
from tasks.judge.shards import ShardOrder, judge_shard, wanted_cells
from tasks.judge.signals import read_signal
from tasks.models import transports
from tasks.models.engine import Engine
from tasks.models.phantom_transport import PhantomTransport
from tasks.rewrite.ideas.rules import vary_by_rules

DIMENSIONS = {"novelty", "feasibility", "significance", "rigor", "clarity", "overall"}


class Kept(PhantomTransport):
    """Phantoms whose requests are kept."""

    bodies: list[dict] = []

    async def handle_async_request(self, request):
        self.bodies.append(json.loads(await request.aread()))
        return await super().handle_async_request(request)


def user_of(body):
    content = body["messages"][-1]["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


@pytest.fixture
def kept(monkeypatch):
    monkeypatch.setattr(Kept, "bodies", [])
    monkeypatch.setitem(transports._registered, "phantom", Kept)
    return Kept


def literature_of(number=12, words=60):
    return "\n\n".join(f"[{n}] Work {n} (2001)\n{'word ' * words}".strip() for n in range(1, number + 1))


@pytest.fixture
def references(store, families):
    """Two ideas in three variants, without and with literature."""
    literature = literature_of()
    beside = {"context_hash": store.put_text(literature), "context_chars": len(literature)}
    refs = []
    for family in families[:2]:
        from tasks.rewrite.ideas.making import idea_of

        for variant in ("A3", "B1", "H4"):
            text = vary_by_rules(idea_of(family), variant, 1).text
            ref = VersionRef(key=f"{family.family}-{variant}", family_key=family.key, text_hash=store.put_text(text),
                             chars=len(text))
            refs += [ref, ref.model_copy(update={"key": f"{ref.key}@lit", **beside})]
    return tuple(refs)


def configuration(endpoint, protocol, **more):
    options = {}
    if protocol in ("idea_llm_injection", "idea_extractor"):
        options = {"signal": {"endpoint": "phantom", "model": "phantom-signal", "served": endpoint.model_dump()}}
    return Configuration(name=protocol, endpoint="phantom", model="idea-phantom-02", protocol=protocol, options=options,
                         **more)


def judge(store, endpoint, chosen, references, **more):
    order = ShardOrder(configuration=chosen, endpoint=endpoint, versions=references, **more)
    return judge_shard(store, Engine(store), order)


@pytest.mark.parametrize("protocol", ["idea_direct", "idea_style_cot", "idea_llm_injection", "idea_extractor"])
def test_each_method_scores_six_dimensions_once(store, endpoint, references, protocol, kept):
    chosen = configuration(endpoint, protocol)
    report = judge(store, endpoint, chosen, references)
    assert report.outcomes == {"answered": len(references)}
    rows = store.load(Judgement)
    assert all(set(row.scores) == DIMENSIONS for row in rows)
    assert all(1 <= value <= 10 for row in rows for value in row.scores.values())
    asked = len(kept.bodies)
    assert judge(store, endpoint, chosen, references).is_cached
    assert len(kept.bodies) == asked


def test_a_signal_is_bought_once_for_all_settings_and_judges(store, endpoint, references, kept):
    judge(store, endpoint, configuration(endpoint, "idea_llm_injection"), references)
    other = configuration(endpoint, "idea_llm_injection").model_copy(update={"model": "idea-phantom-01"})
    judge(store, endpoint, other, references)
    signals = [body for body in kept.bodies if body["model"] == "phantom-signal"]
    assert len(signals) == len({ref.text_hash for ref in references})
    rows = store.load(Judgement)
    assert all(len(row.call_keys) == 2 and len(row.attempt_ids) == 2 for row in rows)


def test_judges_with_one_reader_take_turns_and_others_do_not(endpoint):
    one = configuration(endpoint, "idea_llm_injection")
    two = one.model_copy(update={"model": "idea-phantom-01"})
    plain = configuration(endpoint, "idea_direct")
    first, second, third = (set(each.way().questions(each.manner(endpoint))) for each in (one, two, plain))
    assert first & second
    assert not first & third


def test_a_reader_that_says_nothing_readable_leaves_a_typed_gap(store, endpoint, references, monkeypatch):
    class Mute(PhantomTransport):
        async def handle_async_request(self, request):
            body = json.loads(await request.aread())
            if body["model"] == "phantom-signal":
                choice = {"index": 0, "message": {"role": "assistant", "content": "no"}, "finish_reason": "stop"}
                return httpx2.Response(200, json={"id": "1", "model": "m", "choices": [choice]})
            return await super().handle_async_request(request)

    monkeypatch.setitem(transports._registered, "phantom", Mute)
    report = judge(store, endpoint, configuration(endpoint, "idea_llm_injection"), references[:1])
    (row,) = store.load(Judgement)
    assert report.outcomes == {"unparsable": 1}
    assert (row.outcome, row.scores) == (Outcome.unparsable, {})
    assert row.reason.startswith("style signal")


def test_literature_is_one_block_of_bytes_for_all_variants(store, endpoint, references, kept):
    judge(store, endpoint, configuration(endpoint, "idea_direct"), references)
    blocks = {user_of(body).split("-----BEGIN LITERATURE", 1)[1].split("-----END LITERATURE", 1)[0]
              for body in kept.bodies if "BEGIN LITERATURE" in user_of(body)}
    assert len(blocks) == 1
    assert literature_of() in blocks.pop()
    calls = store.load(Call)
    literature = {part["hash"] for ref in references for part in [{"hash": ref.context_hash}] if ref.context_hash}
    holding = [call for call in calls if any(part["hash"] in literature for part in call.messages[-1]["parts"])]
    assert len(holding) == len(references) / 2


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(50, 9000), min_size=1, max_size=6), st.integers(6000, 12000), st.integers(1, 60))
def test_a_small_window_cuts_the_same_whole_works_for_every_variant(lengths, window, number):
    """Property: whatever the lengths of the variants, the literature of an idea is one text within the room."""
    from tasks.models.endpoints import EndpointSpec

    literature = literature_of(number, 40)
    versions = [VersionRef(key=str(place), family_key="one", text_hash=f"h{place}", chars=chars, context_hash="lit",
                           context_chars=len(literature)) for place, chars in enumerate(lengths)]
    place = EndpointSpec(name="phantom", kind="phantom", context_tokens=window)
    chosen = Configuration(name="d", endpoint="phantom", model="idea-phantom-01", protocol="idea_direct")
    cells = wanted_cells(chosen, place, versions)
    shown = {cut_works(literature, cell.given.context_limit) for cell in cells if cell.refused is None}
    assert len(shown) <= 1
    for text in shown:
        assert literature.startswith(text) or text.startswith("(The related work")
        assert literature_limits(chosen.manner(place), versions).get("one", len(literature)) >= len(text) or \
            text.startswith("(")
        if text != literature and not text.startswith("("):
            assert literature[len(text):].startswith("\n\n[")


def test_a_judges_key_names_the_literature_and_no_label(endpoint, references):
    chosen = configuration(endpoint, "idea_direct")
    cells = wanted_cells(chosen, endpoint, references)
    assert len({cell.key for cell in cells}) == len(cells)
    renamed = chosen.model_copy(update={"name": "another"})
    assert [cell.key for cell in wanted_cells(renamed, endpoint, references)] == [cell.key for cell in cells]
    keyed = wanted_cells(configuration(endpoint, "idea_style_cot"), endpoint, references)
    assert not {cell.key for cell in keyed} & {cell.key for cell in cells}


@pytest.mark.parametrize(("protocol", "options", "said"), [
    ("idea_llm_injection", {}, "needs options.signal"),
    ("idea_extractor", {"signal": {"endpoint": "phantom", "model": "m"}}, "is no endpoint of the suite"),
    ("idea_extractor", {"signal": {"model": "m"}}, "options.signal.endpoint"),
    ("idea_direct", {"signal": {}}, "takes no options"),
])
def test_wrong_options_are_named(protocol, options, said):
    with pytest.raises(ValidationError, match=said):
        Configuration(name="x", endpoint="phantom", model="m", protocol=protocol, options=options)


def test_idea_protocols_are_about_ideas_and_no_other_is():
    assert {name for name in PROTOCOLS if PROTOCOLS[name].is_about_ideas} == {
        "idea_direct", "idea_style_cot", "idea_llm_injection", "idea_extractor", "idea_rating"}


@pytest.mark.parametrize(("answer", "deviation"), [
    ('{"type": "verbose", "deviation": 0.4, "hint": "h"}', 0.4),
    ('Here: {"type": "none", "deviation": 0, "hint": ""} done', 0.0),
    ('{"type": "verbose", "deviation": 1.4, "hint": "h"}', None),
    ('{"type": "loud", "deviation": 0.4, "hint": ""}', None),
    ('{"type": "verbose", "deviation": true, "hint": "h"}', None),
    ('{"type": "verbose", "hint": "h"}', None), ("", None),
    ('{"type": "none", "deviation": 0.1, "hint": "a"} {"type": "hype", "deviation": 0.9, "hint": "b"}', None),
])
def test_signals_are_read_strictly(answer, deviation):
    found = read_signal(answer)
    assert (found and found.deviation) == deviation
