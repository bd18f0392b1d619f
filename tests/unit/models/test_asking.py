"""One ask seen through: retries, waits, adaptation, budget, uploads, secrets; every attempt is a row."""

from __future__ import annotations

import httpx2
import orjson
import pytest

from storage.errors import EnvironmentProblem, StoreDamaged
from storage.vocabulary import Outcome
from tasks.models.asks import Ask, Message, Part
from tasks.models.budget import Budget, spent
from tasks.models.endpoints import EndpointSpec, Price
from tasks.models.memory import recall
from tests.unit.models.conftest import answer, error


def test_a_good_answer_is_one_row_with_everything(bench):
    sent = bench.script(lambda request, n: answer())
    (call,) = bench.ask(bench.question(parameters={"temperature": 0.5}))
    assert len(sent.requests) == 1
    (row,) = bench.rows()
    assert row == call
    assert (row.outcome, row.answer, row.attempt, row.resolved_model) == (Outcome.answered, '{"rating": 6}', 1, "m-1")
    assert (row.input_tokens, row.output_tokens, row.parameters) == (100, 10, {"temperature": 0.5})
    assert row.cost_usd is None and bench.counters.unpriced == 1
    assert row.run_id == "run" and row.latency_ms > 0


def test_every_attempt_is_kept_under_the_key_of_the_ask(bench):
    replies = [error(500), error(429, "rate_limit_exceeded"), httpx2.Response(200, text="<html>"), answer()]
    bench.script(lambda request, n: replies[n])
    ask = bench.question()
    (call,) = bench.ask(ask)
    rows = sorted(bench.rows(), key=lambda row: row.attempt)
    assert [row.outcome for row in rows] == ["provider_error", "rate_limited", "provider_error", "answered"]
    assert {row.key for row in rows} == {ask.key} and call.attempt == 4
    assert [found.attempt_id for found in recall(bench.store, [ask.key, "other"])[ask.key]] == [call.attempt_id]


@pytest.mark.parametrize(("wait", "slept"), [("70", 70), ("0.5", 0.5), ("120", 120)])
def test_a_wait_within_the_cap_is_kept_to(bench, wait, slept):
    sent = bench.script(lambda request, n: error(429, retry_after=wait) if n == 0 else answer())
    (call,) = bench.ask(bench.question())
    assert call.outcome is Outcome.answered
    assert slept <= sent.times[1] - sent.times[0] < slept + 3


def test_a_wait_above_the_cap_ends_the_ask_at_once_as_something_that_passes(bench):
    sent = bench.script(lambda request, n: error(429, retry_after="300"))
    calls = bench.ask(*(bench.question(repeat=i) for i in range(50)))
    assert {call.outcome for call in calls} == {Outcome.rate_limited}
    assert len(sent.requests) == 1 == len(bench.rows())
    assert "retry_after_cap_s" in calls[-1].error


def test_an_empty_account_stops_the_endpoint_after_one_call(bench):
    sent = bench.script(lambda request, n: error(429, "insufficient_quota"))
    calls = bench.ask(*(bench.question(f"paper {i}", model=f"m{i % 4}") for i in range(200)))
    assert {call.outcome for call in calls} == {Outcome.quota_gone}
    assert len(sent.requests) == 1 == len(bench.rows())
    assert sum(call.attempt == 0 for call in calls) == 199
    assert bench.counters.outcomes[Outcome.quota_gone] == 200


def test_an_unacceptable_answer_is_asked_again_within_attempts(bench):
    sent = bench.script(lambda request, n: answer("7" if n == 2 else "no number"))
    read = lambda call: Outcome.answered if call.answer == "7" else Outcome.unparsable  # noqa: E731
    (call,) = bench.ask(bench.question(), accept=read)
    assert (call.answer, call.attempt) == ("7", 3)
    bench.script(lambda request, n: answer("never"))
    (call,) = bench.ask(bench.question("other"), accept=read)
    assert (call.outcome, call.attempt) == (Outcome.answered, bench.endpoint.attempts)
    assert bench.counters.outcomes == {Outcome.answered: 1, Outcome.unparsable: 1}
    assert len(sent.requests) == 3


def test_a_cut_answer_is_asked_for_with_a_higher_cap_under_the_same_key(bench):
    def script(request, n):
        if orjson.loads(request.content)["max_tokens"] >= 400:
            return answer()
        body = {"choices": [{"message": {"content": '{"ra'}, "finish_reason": "length"}]}
        return httpx2.Response(200, json=body)

    bench.script(script)
    ask = bench.question(parameters={"max_tokens": 100})
    (call,) = bench.ask(ask)
    rows = sorted(bench.rows(), key=lambda row: row.attempt)
    assert [row.parameters["max_tokens"] for row in rows] == [100, 200, 400]
    assert [row.outcome for row in rows] == ["truncated", "truncated", "answered"]
    assert {row.key for row in rows} == {ask.key} == {call.key}


def test_parameters_an_endpoint_does_not_take_are_left_out_from_then_on(bench):
    def script(request, n):
        body = orjson.loads(request.content)
        if "max_tokens" in body:
            return error(400, "unsupported_parameter", "Use 'max_completion_tokens' instead", "max_tokens")
        if "temperature" in body:
            return error(400, "unsupported_value", "Unsupported value: 'temperature'", "temperature")
        return answer()

    sent = bench.script(script)
    asks = [bench.question(f"p{i}", parameters={"max_tokens": 9, "temperature": 0}) for i in range(20)]
    calls = bench.ask(*asks)
    assert {call.outcome for call in calls} == {Outcome.answered}
    assert calls[3].parameters == {"max_completion_tokens": 9}
    good = [body for body in sent.bodies if "temperature" not in body and "max_tokens" not in body]
    assert len(good) == 20
    before = len(sent.requests)
    bench.ask(bench.question("other model", model="m2", parameters={"temperature": 0}))
    assert len(sent.requests) == before + 2


def test_a_schema_the_endpoint_does_not_take_is_shown_in_the_row(bench):
    def script(request, n):
        refused = "response_format" in orjson.loads(request.content)
        return error(400, "x", "Unsupported parameter", "response_format") if refused else answer()

    bench.script(script)
    (call,) = bench.ask(bench.question(response_schema={"type": "object"}))
    assert call.outcome is Outcome.answered and call.parameters == {"structured": "none"}


def test_a_prompt_that_cannot_fit_is_not_sent(bench):
    bench.endpoint = EndpointSpec(base_url="http://in-process.invalid/v1", context_tokens=100)
    sent = bench.script(lambda request, n: answer())
    (call,) = bench.ask(bench.question("x" * 501))
    assert (call.outcome, call.attempt) == (Outcome.context_too_long, 0)
    assert not sent.requests and not bench.rows()
    (call,) = bench.ask(bench.question("x" * 500))
    assert call.outcome is Outcome.answered


def test_an_endpoint_that_cuts_silently_is_found_out(bench):
    bench.script(lambda request, n: answer(prompt_tokens=1000))
    (call,) = bench.ask(bench.question("word " * 8000))
    assert call.outcome is Outcome.context_too_long and "cut" in call.error
    bench.script(lambda request, n: answer(prompt_tokens=10_000))
    (call,) = bench.ask(bench.question("work " * 8000))
    assert call.outcome is Outcome.answered


def test_a_server_that_says_the_prompt_is_too_long_is_not_asked_again(bench):
    sent = bench.script(lambda request, n: error(400, "context_length_exceeded"))
    (call,) = bench.ask(bench.question())
    assert call.outcome is Outcome.context_too_long and len(sent.requests) == 1


def test_the_budget_in_tokens_stops_further_calls(bench):
    sent = bench.script(lambda request, n: answer())
    bench.budget = Budget(tokens=5000)
    asks = [bench.question(f"p{i}".ljust(400, "."), parameters={"max_tokens": 10}) for i in range(100)]
    calls = bench.ask(*asks)
    answered = [call for call in calls if call.outcome is Outcome.answered]
    assert len(answered) == 45 == len(sent.requests)
    assert {call.outcome for call in calls} == {Outcome.answered, Outcome.over_budget}
    assert bench.budget.spent_tokens == 110 * len(answered)


def test_the_budget_in_dollars_counts_what_the_run_has_spent(bench):
    bench.endpoint = EndpointSpec(base_url="http://in-process.invalid/v1", price=Price(input=1000, output=10_000))
    bench.script(lambda request, n: answer())
    (call,) = bench.ask(bench.question())
    assert call.cost_usd == pytest.approx(0.2)
    usd, tokens = spent(bench.store, ["run", "none"])
    assert (usd, tokens) == (pytest.approx(0.2), 110)
    bench.budget = Budget(usd=0.25, spent_usd=usd, spent_tokens=tokens)
    (call,) = bench.ask(bench.question("next", parameters={"max_tokens": 10}))
    assert call.outcome is Outcome.over_budget and "0.25 dollars" in call.error
    assert spent(bench.store, []) == (0.0, 0)


def upload_script(request, n):
    if request.url.path.endswith("/files"):
        return httpx2.Response(200, json={"id": f"file-{n}"})
    return answer()


def test_a_pdf_is_uploaded_once_and_its_id_used_again(bench):
    bench.endpoint = EndpointSpec(base_url="http://in-process.invalid/v1", pdf="native")
    pdf = bench.store.blobs.put(b"%PDF-1.7 words", "application/pdf")
    sent = bench.script(upload_script)
    calls = bench.ask(*(bench.question(pdf=pdf, repeat=i) for i in range(12)))
    assert {call.outcome for call in calls} == {Outcome.answered}
    uploads = [request for request in sent.requests if request.url.path.endswith("/files")]
    assert len(uploads) == 1 and b"%PDF-1.7 words" in uploads[0].content and b"user_data" in uploads[0].content
    assert {body["messages"][0]["content"][1]["file"]["file_id"] for body in sent.bodies} == {"file-0"}
    again = bench.script(upload_script)
    bench.ask(bench.question("another run", pdf=pdf))
    assert len(again.requests) == 1


def test_a_file_that_is_gone_is_uploaded_anew(bench):
    bench.endpoint = EndpointSpec(base_url="http://in-process.invalid/v1", pdf="native")
    pdf = bench.store.blobs.put(b"%PDF-1.7 words", "application/pdf")
    bench.script(upload_script)
    bench.ask(bench.question(pdf=pdf))

    def script(request, n):
        if request.url.path.endswith("/files"):
            return httpx2.Response(200, json={"id": "fresh"})
        return answer() if b"fresh" in request.content else error(404, "x", "File file-0 not found")

    sent = bench.script(script)
    (call,) = bench.ask(bench.question("later", pdf=pdf))
    assert call.outcome is Outcome.answered
    assert [request.url.path for request in sent.requests] == [
        "/v1/chat/completions",
        "/v1/files",
        "/v1/chat/completions",
    ]


def test_where_there_is_no_files_route_the_pdf_goes_inline(bench):
    bench.endpoint = EndpointSpec(base_url="http://in-process.invalid/v1", pdf="native")
    pdf = bench.store.blobs.put(b"%PDF", "application/pdf")
    sent = bench.script(lambda request, n: error(404) if request.url.path.endswith("/files") else answer())
    bench.ask(*(bench.question(pdf=pdf, repeat=i) for i in range(5)))
    assert sum(request.url.path.endswith("/files") for request in sent.requests) == 1
    assert sent.bodies[0]["messages"][0]["content"][1]["file"]["file_data"] == "data:application/pdf;base64,JVBERg=="


def test_an_upload_that_fails_for_now_is_tried_again(bench):
    bench.endpoint = EndpointSpec(base_url="http://in-process.invalid/v1", pdf="native")
    pdf = bench.store.blobs.put(b"%PDF", "application/pdf")
    sent = bench.script(lambda request, n: error(503) if n == 0 else upload_script(request, n))
    (call,) = bench.ask(bench.question(pdf=pdf))
    assert call.outcome is Outcome.answered and call.attempt == 2
    assert len(sent.requests) == 3


def test_a_key_reaches_the_server_and_nothing_else(bench, monkeypatch):
    monkeypatch.setenv("EVENHAND_TEST_KEY", "zebra-very-secret")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another-place")
    bench.endpoint = EndpointSpec(base_url="http://in-process.invalid/v1", api_key_env="EVENHAND_TEST_KEY", attempts=1)
    sent = bench.script(lambda request, n: error(401, "invalid_api_key", "Incorrect key zebra-very-secret"))
    (call,) = bench.ask(bench.question())
    assert sent.requests[0].headers["authorization"] == "Bearer zebra-very-secret"
    assert call.outcome is Outcome.unauthorised and "zebra" not in call.model_dump_json()


def test_an_endpoint_without_a_key_is_not_sent_somebody_elses(bench, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another-place")
    sent = bench.script(lambda request, n: answer())
    bench.ask(bench.question())
    assert "sk-of-another-place" not in str(sent.requests[0].headers.raw)
    assert not any(name.lower().startswith("x-stainless") for name in sent.requests[0].headers)


def test_a_missing_key_is_said_before_anything_is_sent(bench, monkeypatch):
    monkeypatch.delenv("EVENHAND_TEST_KEY", raising=False)
    bench.endpoint = EndpointSpec(name="far", base_url="http://in-process.invalid/v1", api_key_env="EVENHAND_TEST_KEY")
    sent = bench.script(lambda request, n: answer())
    with pytest.raises(EnvironmentProblem, match=r"far.*EVENHAND_TEST_KEY"):
        bench.ask(bench.question())
    assert not sent.requests


def test_a_text_that_is_not_there_is_an_error_and_no_empty_prompt(bench):
    sent = bench.script(lambda request, n: answer())
    message = Message(role="user", parts=(Part(hash="sha256:" + "0" * 64),))
    with pytest.raises(StoreDamaged):
        bench.ask(Ask.at(bench.endpoint, "m", (message,)))
    assert not sent.requests


def test_a_time_out_is_counted_from_sending_only(bench):
    bench.endpoint = EndpointSpec(base_url="http://in-process.invalid/v1", timeout_s=0.5, max_in_flight=1)
    bench.script(lambda request, n: answer())
    calls = bench.ask(*(bench.question(repeat=i) for i in range(40)))
    assert {call.outcome for call in calls} == {Outcome.answered}
    assert {row.attempt for row in bench.rows()} == {1}


def test_an_unusable_answer_is_not_bought_again_for_a_last_attempt_that_failed(bench):
    """What is returned is what came, so that the next run does not buy as many again."""
    last = bench.endpoint.attempts - 1
    sent = bench.script(lambda request, n: answer("no number") if n < last else error(500))
    (call,) = bench.ask(bench.question(), accept=lambda call: Outcome.unparsable)
    assert (call.outcome, call.answer, call.attempt) == (Outcome.answered, "no number", last)
    assert bench.counters.outcomes == {Outcome.unparsable: 1} and len(sent.requests) == last + 1
    bench.script(lambda request, n: error(500))
    (call,) = bench.ask(bench.question("other"))
    assert call.outcome is Outcome.provider_error, "nothing came at all: the next run asks again"
