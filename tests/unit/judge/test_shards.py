"""Shards: what is settled stays, what was answered is read again for nothing, failures are typed and never scores."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import httpx2
import pytest
from prefect.states import State

from storage.records import Call, Judgement
from storage.store import Store
from storage.vocabulary import Outcome
from tasks.judge import parse, single_call
from tasks.judge.cells import VersionRef, version_refs
from tasks.judge.plan import plan
from tasks.judge.protocols import Configuration
from tasks.judge.shards import ShardOrder, ShardReport, judge_shard
from tasks.judge.tasks import shard_state
from tasks.models.endpoints import EndpointSpec
from tasks.models.engine import Engine
from tests.unit.judge.conftest import REVIEW, Scripted, chat, review


def configured(**changes: Any) -> Configuration:
    """A configuration at the scripted endpoint."""
    plain = {"name": "c", "endpoint": "scripted", "model": "m-a", "protocol": "standard"}
    return Configuration.model_validate(plain | changes)


class Shop:
    """Judges shards of one store."""

    def __init__(self, store: Store, endpoint: EndpointSpec, versions: Sequence[VersionRef]) -> None:
        self.store = store
        self.endpoint = endpoint
        self.versions = tuple(versions)

    def judge(self, configuration: Configuration | None = None, **order: Any) -> ShardReport:
        """One shard over all versions."""
        made = ShardOrder(configuration=configuration or configured(), endpoint=self.endpoint,
                          **{"versions": self.versions, **order})
        return judge_shard(self.store, Engine(self.store, "run"), made)

    def judgements(self) -> list[Judgement]:
        """The row that counts of each cell."""
        return self.store.load(Judgement)


@pytest.fixture
def shop(store: Store, endpoint: EndpointSpec, versions: list[VersionRef]) -> Shop:
    """The usual store, endpoint and versions."""
    return Shop(store, endpoint, versions)


def test_every_cell_is_asked_once_and_the_second_run_asks_nothing(shop: Shop, scripted: Scripted) -> None:
    first = shop.judge()
    rows = shop.judgements()
    assert (first.wanted, first.cached, first.asked, first.outcomes) == (4, 0, 4, {"answered": 4})
    assert all(row.scores["overall"] == 6 and row.attempt_ids and row.call_keys for row in rows)
    second = shop.judge()
    assert (second.cached, second.asked, len(scripted.bodies)) == (4, 0, 4)
    assert second.is_cached
    # B86: what comes back is what was stored.
    assert shop.judgements() == rows


def test_the_request_holds_the_fenced_paper_and_the_schema(shop: Shop, scripted: Scripted) -> None:
    shop.judge(versions=shop.versions[:1])
    body = scripted.bodies[0]
    system, user = body["messages"]
    text = shop.store.get_text(shop.versions[0].text_hash)
    tag = shop.versions[0].text_hash.split(":")[1][:24]
    assert f"-----BEGIN PAPER {tag}-----\n{text}\n-----END PAPER {tag}-----\n" in user["content"]
    assert user["content"].endswith("Answer with the JSON object only.")
    assert system["role"] == "system"
    assert body["response_format"]["json_schema"]["schema"]["properties"]["rating"]["enum"] == [1, 3, 5, 6, 8, 10]
    assert "temperature" not in body


def test_a_paper_is_stored_once_however_many_configurations_read_it(shop: Shop, scripted: Scripted) -> None:
    shop.judge()
    before = shop.store.query("SELECT count(*) FROM texts").item()
    shop.judge(configured(model="m-b"))
    assert shop.store.query("SELECT count(*) FROM texts").item() == before


def test_another_model_is_asked_itself(shop: Shop, scripted: Scripted) -> None:
    scripted.answer = lambda body: review(3 if body["model"] == "m-b" else 6)
    shop.judge()
    report = shop.judge(configured(model="m-b"))
    assert report.asked == 4
    assert {row.scores["overall"] for row in shop.judgements() if row.model == "m-b"} == {3}


def test_sampling_parameters_make_other_calls(shop: Shop, scripted: Scripted) -> None:
    for parameters in ({"temperature": 0}, {"temperature": 0.7}, {"temperature": 0.7, "max_tokens": 16}):
        assert shop.judge(configured(parameters=parameters)).asked == 4
    assert shop.judge(configured(parameters={"temperature": 0.0})).asked == 0


def test_repeats_have_rows_of_their_own_also_after_a_resume(shop: Shop, scripted: Scripted) -> None:
    ratings = iter([3, 5, 8])
    scripted.answer = lambda body: review(next(ratings))
    one = shop.versions[:1]
    shop.judge(versions=one)
    report = shop.judge(versions=one, repeats=3)
    assert (report.cached, report.asked) == (1, 2)
    scores = {row.repeat: row.scores["overall"] for row in shop.judgements()}
    assert sorted(scores.values()) == [3, 5, 8]
    assert scores[0] == 3


def test_labels_cost_nothing(shop: Shop, scripted: Scripted) -> None:
    shop.judge()
    shop.endpoint = shop.endpoint.model_copy(update={"name": "renamed", "max_in_flight": 2})
    assert shop.judge(configured(name="another label")).is_cached


def test_one_word_of_a_prompt_asks_everything_again(
    shop: Shop, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tasks.judge.protocols import PROTOCOLS
    from tasks.judge.wording import parse_prompt

    shop.judge()
    protocol = PROTOCOLS["standard"]
    assert isinstance(protocol, single_call.SingleCall)
    words = f"# System\n{protocol.prompt.system} Please.\n# Before\nHere.\n# After\nNow.\n"
    changed = single_call.SingleCall("standard", parse_prompt(words, "x"), protocol.form, output_tokens=(1, 2, 3))
    monkeypatch.setitem(PROTOCOLS._protocols, "standard", changed)
    assert shop.judge().asked == 4


def test_a_failure_is_missing_and_never_a_score(shop: Shop, scripted: Scripted) -> None:
    # B80: 5/5/5 against 5/FAIL/5
    def answer(body: dict[str, Any]) -> httpx2.Response:
        fails = "two in its joint" in body["messages"][1]["content"]
        return chat("I cannot put a number on it.") if fails else review(5)

    scripted.answer = answer
    report = shop.judge()
    assert report.outcomes == {"answered": 3, "unparsable": 1}
    failed = [row for row in shop.judgements() if row.outcome is Outcome.unparsable]
    assert [(row.scores, row.reason) for row in failed] == [({}, "no_labelled_field")]
    assert shop.store.query("SELECT avg(value) FROM scores WHERE dimension = 'overall'").item() == 5
    # Asked twice (attempts = 2), kept, settled: not asked again by itself, but by a deliberate retry.
    assert len(scripted.bodies) == 5
    assert shop.judge().is_cached
    scripted.answer = lambda body: review(8)
    assert shop.judge(retry=(Outcome.unparsable,)).outcomes == {"answered": 1}


@pytest.mark.parametrize(("response", "outcome"), [
    (chat('{"rating": 6, "summary": "The pap', finish="length"), Outcome.truncated),
    (chat(None), Outcome.empty),
    (chat("", finish="content_filter"), Outcome.filtered),
    (httpx2.Response(200, json={"choices": [{"message": {"content": None, "refusal": "no"}}]}), Outcome.refused),
    (chat(json.dumps(REVIEW | {"rating": 7})), Outcome.out_of_range),
    (httpx2.Response(400, json={"error": {"code": "context_length_exceeded", "message": "too long"}}),
     Outcome.context_too_long),
])
def test_permanent_failures_are_typed_and_settled(
    shop: Shop, scripted: Scripted, response: httpx2.Response, outcome: Outcome
) -> None:
    scripted.answer = lambda body: httpx2.Response(response.status_code, content=response.content)
    report = shop.judge(versions=shop.versions[:1])
    assert (report.outcomes, report.transient) == ({outcome.value: 1}, 0)
    assert shop.judgements()[0].scores == {}
    assert shop.judge(versions=shop.versions[:1]).is_cached


def test_transient_failures_fail_the_shard_and_are_asked_again(shop: Shop, scripted: Scripted) -> None:
    shop.endpoint = shop.endpoint.model_copy(update={"attempts": 1})
    scripted.answer = lambda body: httpx2.Response(500, json={"error": {"message": "try later"}})
    report = shop.judge(versions=shop.versions[:1])
    assert (report.outcomes, report.transient) == ({"provider_error": 1}, 1)
    assert report.first_problem is not None
    assert "try later" in report.first_problem
    scripted.answer = lambda body: review(6)
    assert shop.judge(versions=shop.versions[:1]).outcomes == {"answered": 1}


def test_a_better_parser_reads_kept_answers_again_for_nothing(
    shop: Shop, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted.answer = lambda body: chat("I would say eight of ten.")
    assert shop.judge().outcomes == {"unparsable": 4}
    served = len(scripted.bodies)
    monkeypatch.setattr(single_call, "PARSER", "review/next")
    monkeypatch.setattr(single_call, "parse_review", lambda answer, form: parse.Parsed(
        outcome=Outcome.answered, scores={"overall": 8.0}))
    report = shop.judge()
    assert (report.asked, report.recalled, report.outcomes) == (0, 4, {"answered": 4})
    assert len(scripted.bodies) == served


def test_a_parser_that_still_cannot_read_them_does_not_buy_them_again(
    shop: Shop, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted.answer = lambda body: chat("No number here.")
    shop.judge()
    served = len(scripted.bodies)
    monkeypatch.setattr(single_call, "PARSER", "review/next")
    assert shop.judge().outcomes == {"unparsable": 4}
    assert len(scripted.bodies) == served


def test_answers_of_a_killed_run_are_judged_without_asking(shop: Shop, scripted: Scripted) -> None:
    shop.judge()
    calls = shop.store.load(Call)
    with shop.store.session() as session:
        session.connection.execute("DELETE FROM judgements")
    assert shop.judgements() == []
    report = shop.judge()
    assert (report.asked, report.recalled, len(scripted.bodies)) == (0, 4, 4)
    assert shop.store.load(Call) == calls


def test_families_beyond_the_window_are_refused_whole_and_the_others_asked(shop: Shop, scripted: Scripted) -> None:
    long = shop.versions[3].model_copy(update={"chars": 10**6})
    shop.endpoint = shop.endpoint.model_copy(update={"context_tokens": 8192})
    report = shop.judge(versions=(*shop.versions[:3], long))
    assert report.outcomes == {"answered": 2, "context_too_long": 2}
    refused = [row for row in shop.judgements() if row.outcome is Outcome.context_too_long]
    assert {(row.reason, tuple(row.call_keys)) for row in refused} == {("family_over_context", ())}
    assert len(scripted.bodies) == 2


def test_trimming_cuts_both_arms_at_the_same_point_and_says_so(
    shop: Shop, store: Store, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.judge.cells.limit_for", lambda tokens: 120)
    shop.endpoint = shop.endpoint.model_copy(update={"context_tokens": 8192})
    report = shop.judge(configured(too_long="trim"))
    assert report.outcomes == {"answered": 4}
    assert all(row.flags == ["trimmed"] for row in shop.judgements())
    shown = [body["messages"][1]["content"].split("-----\n")[1].split("\n-----END")[0] for body in scripted.bodies]
    assert {100 < len(text) <= 120 for text in shown} == {True}


def test_the_abstract_alone_is_shown_where_asked(shop: Shop, scripted: Scripted) -> None:
    shop.judge(configured(input="abstract"), versions=shop.versions[:1])
    content = scripted.bodies[0]["messages"][1]["content"]
    assert "We measure one in its original wording" in content
    assert "word word" not in content


def test_equal_versions_are_one_question(shop: Shop, scripted: Scripted) -> None:
    twin = shop.versions[0].model_copy(update={"key": "null_repeat"})
    assert shop.judge(versions=(shop.versions[0], twin)).asked == 1


def test_expectations_are_stored_with_their_call(shop: Shop, scripted: Scripted) -> None:
    tokens = [{"token": '{"rating": ', "logprob": 0.0, "top_logprobs": []},
              {"token": "1", "logprob": -0.693147, "top_logprobs": [{"token": "2", "logprob": -0.693147},
                                                                   {"token": "1", "logprob": -0.693147}]},
              {"token": "}", "logprob": 0.0, "top_logprobs": []}]
    scripted.answer = lambda body: chat('{"rating": 1}', logprobs={"content": tokens})
    report = shop.judge(configured(protocol="rating", scoring="expectation"))
    assert report.outcomes == {"answered": 4}
    assert shop.judgements()[0].scores["overall"] == pytest.approx(1.5, abs=1e-4)
    assert scripted.bodies[0]["logprobs"] is True


def test_versions_come_as_small_records_with_lengths(store: Store, versions: list[VersionRef]) -> None:
    again = version_refs(store, [version.key for version in reversed(versions)])
    assert again == list(reversed(versions))
    assert all(version.chars == len(store.get_text(version.text_hash)) for version in versions)
    with pytest.raises(KeyError):
        version_refs(store, ["nobody"])


def test_plans_count_what_is_cached_and_price_what_is_not(shop: Shop, scripted: Scripted) -> None:
    priced = EndpointSpec(name="p", base_url="https://api.openai.com/v1", api="responses", rpm=2)
    shop.judge(versions=shop.versions[:1])
    rows = plan(shop.store, [
        (configured(), shop.endpoint), (configured(name="same"), shop.endpoint),
        (configured(name="gpt", endpoint="p", model="gpt-5-mini"), priced),
        (configured(name="odd", endpoint="p", model="no-such-model-xyz"), priced),
    ], shop.versions)
    assert [(row.wanted, row.cached, row.to_do) for row in rows] == [(4, 1, 3), (4, 4, 0), (4, 0, 4), (4, 0, 4)]
    assert rows[0].usd is not None
    assert rows[0].usd.high == 0
    usd = rows[2].usd
    assert usd is not None
    assert 0 < usd.low < usd.expected < usd.high
    assert rows[3].usd is None
    assert rows[2].input_tokens.low < rows[2].input_tokens.expected < rows[2].input_tokens.high
    assert rows[2].seconds == 120
    assert len(scripted.bodies) == 1


@pytest.mark.parametrize(("report", "name", "kind"), [
    (ShardReport(configuration="c", wanted=4, cached=4), "Cached", "COMPLETED"),
    (ShardReport(configuration="c", wanted=4, cached=0, outcomes={"answered": 4}), "Completed", "COMPLETED"),
    (ShardReport(configuration="c", wanted=4, cached=0, outcomes={"unparsable": 4}), "Completed", "COMPLETED"),
    (ShardReport(configuration="c", wanted=4, cached=0, outcomes={"timed_out": 4}, transient=4), "Failed", "FAILED"),
])
def test_the_state_of_a_shard_says_what_happened(report: ShardReport, name: str, kind: str) -> None:
    state: State[Any] = shard_state(report)
    assert (state.name, state.type.value) == (name, kind)
    assert "c:" in (state.message or "")
