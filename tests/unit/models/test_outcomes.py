"""Every status, error body and broken connection has one typed outcome (field bugs B75, B76, B87, B91)."""

from __future__ import annotations

import aiohttp
import httpx2
import openai
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.vocabulary import Outcome
from tasks.models.answers import read_reply
from tasks.models.outcomes import classify_exception, failure, one_line, retry_after

FAILURES = [
    (429, {"error": {"type": "insufficient_quota", "code": "insufficient_quota", "message": "x"}}, Outcome.quota_gone),
    (429, {"error": {"type": "rate_limit_exceeded", "message": "slow down"}}, Outcome.rate_limited),
    (429, "", Outcome.rate_limited),
    (
        429,
        [{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "You exceeded your current quota"}}],
        Outcome.rate_limited,
    ),
    (402, {"error": {"message": "Insufficient credits", "code": 402}}, Outcome.quota_gone),
    (403, {"error": {"message": "rate limit exceeded"}}, Outcome.rate_limited),
    (403, {"error": {"message": "your input was flagged", "code": 403}}, Outcome.filtered),
    (403, {"error": {"message": "model not allowed for this project"}}, Outcome.unauthorised),
    (401, {"error": {"code": "invalid_api_key", "message": "Incorrect API key provided"}}, Outcome.unauthorised),
    (400, {"error": {"message": "API key not valid. Please pass a valid API key."}}, Outcome.unauthorised),
    (
        400,
        {"error": {"code": "context_length_exceeded", "message": "maximum context length"}},
        Outcome.context_too_long,
    ),
    (400, {"error": {"code": 400, "type": "exceed_context_size_error", "message": "x"}}, Outcome.context_too_long),
    (413, "<html>Request Entity Too Large</html>", Outcome.context_too_long),
    (500, {"error": {"message": "the request exceeds the available context size"}}, Outcome.context_too_long),
    (400, {"error": {"code": "content_filter", "message": "x"}}, Outcome.filtered),
    (400, {"error": {"code": "invalid_prompt", "message": "limited access"}}, Outcome.filtered),
    (400, {"error": {"message": "something else"}}, Outcome.bad_request),
    (404, {"error": {"code": "model_not_found", "message": "no such model"}}, Outcome.bad_request),
    (404, {"detail": "Not Found"}, Outcome.bad_request),
    (422, {"detail": [{"loc": ["body", "seed"], "msg": "wrong"}]}, Outcome.bad_request),
    (408, "", Outcome.timed_out),
    (504, "<html>Gateway Time-out</html>", Outcome.timed_out),
    (409, {"error": "conflict"}, Outcome.provider_error),
    (302, "", Outcome.provider_error),
    (500, {"error": {"message": "try later"}}, Outcome.provider_error),
    (502, "<html><body>Bad Gateway</body></html>", Outcome.provider_error),
    (503, {"error": {"message": "overloaded"}}, Outcome.provider_error),
    (529, {"error": {"message": "Overloaded"}}, Outcome.provider_error),
]


@pytest.mark.parametrize(("status", "body", "outcome"), FAILURES)
def test_each_failure_has_its_outcome(status, body, outcome):
    raw = body.encode() if isinstance(body, str) else orjson.dumps(body)
    reply = read_reply("chat", status, raw, {})
    assert reply.outcome is outcome
    assert reply.http_status == status
    assert reply.error and reply.answer is None


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        (b'{"error":{"message":"upstream overloaded","code":529}}', Outcome.provider_error),
        (b'{"error":{"message":"Rate limit exceeded","code":429}}', Outcome.rate_limited),
        (b'{"error":{"message":"Insufficient credits","code":402}}', Outcome.quota_gone),
        (b'{"error":"something broke"}', Outcome.provider_error),
        (b'{"object":"error","message":"context length exceeded","code":400}', Outcome.context_too_long),
        (b'{"choices":[]}', Outcome.provider_error),
        (b'{"choices":null}', Outcome.provider_error),
        (b'{"choices":[{"finish_reason":"stop"}]}', Outcome.provider_error),
        (
            b'{"choices":[{"error":{"code":502,"message":"upstream"},"message":{"content":"x"}}]}',
            Outcome.provider_error,
        ),
        (b"<html>Please log in</html>", Outcome.provider_error),
        (b"", Outcome.provider_error),
        (b'"just a string"', Outcome.provider_error),
        (b"[1, 2]", Outcome.provider_error),
    ],
)
@pytest.mark.parametrize("api", ["chat", "responses"])
def test_a_200_that_is_no_answer_is_never_one(api, body, outcome):
    if api == "responses":
        body = body.replace(b'"choices"', b'"outputs"')
        outcome = Outcome.provider_error if b'"outputs"' in body else outcome
    reply = read_reply(api, 200, body, {})
    assert reply.outcome is outcome
    assert reply.answer is None


def chat(message: dict, finish: str | None = "stop", **more) -> bytes:
    return orjson.dumps({"id": "c", "model": "m-1", "choices": [{"message": message, "finish_reason": finish, **more}]})


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        (chat({"content": '{"score": 6}'}), Outcome.answered),
        (chat({"content": "fine"}, None), Outcome.answered),
        (chat({"content": [{"type": "text", "text": "fi"}, {"type": "text", "text": "ne"}]}), Outcome.answered),
        (chat({"content": '{"score": 6, "rev'}, "length"), Outcome.truncated),
        (chat({"content": None}, "length"), Outcome.truncated),
        (chat({"content": None, "refusal": "I cannot"}), Outcome.refused),
        (chat({"content": ""}, "content_filter"), Outcome.filtered),
        (chat({"content": "half"}, "stop", native_finish_reason="SAFETY"), Outcome.filtered),
        (chat({"content": "", "reasoning_content": "Score: 7"}), Outcome.empty),
        (chat({"content": "  \n"}), Outcome.empty),
        (chat({"content": None}), Outcome.empty),
        (chat({"content": "x"}, "error"), Outcome.provider_error),
    ],
)
def test_chat_answers(body, outcome):
    reply = read_reply("chat", 200, body, {})
    assert reply.outcome is outcome
    assert (reply.error is None) == (outcome is Outcome.answered)


def test_the_four_ways_to_say_nothing_are_four_outcomes():
    bodies = [
        chat({"content": None}, "length"),
        chat({"content": None, "refusal": "I cannot"}),
        chat({"content": ""}, "content_filter"),
        chat({"content": "", "reasoning_content": "Score: 7"}),
    ]
    outcomes = {read_reply("chat", 200, body, {}).outcome for body in bodies}
    assert len(outcomes) == 4 and Outcome.answered not in outcomes


def responses(content: list, status: str = "completed", reason: str | None = None, extra: tuple = ()) -> bytes:
    output = [*extra, {"type": "message", "role": "assistant", "content": content}]
    details = {"reason": reason} if reason else None
    usage = {
        "input_tokens": 100,
        "output_tokens": 20,
        "input_tokens_details": {"cached_tokens": 7},
        "output_tokens_details": {"reasoning_tokens": 5},
    }
    return orjson.dumps(
        {"id": "r", "model": "m-1", "status": status, "incomplete_details": details, "output": output, "usage": usage}
    )


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        (responses([{"type": "output_text", "text": "good"}]), Outcome.answered),
        (responses([{"type": "output_text", "text": "go"}], "incomplete", "max_output_tokens"), Outcome.truncated),
        (responses([], "incomplete", "max_output_tokens"), Outcome.truncated),
        (responses([{"type": "output_text", "text": ""}], "incomplete", "content_filter"), Outcome.filtered),
        (responses([{"type": "refusal", "refusal": "no"}]), Outcome.refused),
        (responses([], extra=({"type": "reasoning", "summary": []},)), Outcome.empty),
        (responses([{"type": "output_text", "text": "x"}], "failed"), Outcome.provider_error),
        (responses([{"type": "output_text", "text": "x"}], "in_progress"), Outcome.provider_error),
        (responses([{"type": "output_text", "text": "x"}], "incomplete"), Outcome.provider_error),
    ],
)
def test_responses_answers(body, outcome):
    assert read_reply("responses", 200, body, {}).outcome is outcome


def test_usage_and_names_are_read_from_both_apis():
    reply = read_reply("responses", 200, responses([{"type": "output_text", "text": "good"}]), {})
    assert (reply.usage.input, reply.usage.output, reply.usage.reasoning, reply.usage.cached) == (100, 20, 5, 7)
    assert (reply.resolved_model, reply.provider_id) == ("m-1", "r")
    body = orjson.loads(chat({"content": "good"}))
    body["usage"] = {"prompt_tokens": 9, "completion_tokens": 3, "prompt_tokens_details": None}
    reply = read_reply("chat", 200, orjson.dumps(body), {})
    assert (reply.usage.input, reply.usage.output, reply.usage.cached) == (9, 3, None)


def test_logprobs_are_read_and_what_is_not_finite_is_left_out():
    tops = b'[{"token":"7","logprob":-0.5},{"token":"8","logprob":-Infinity}]'
    tokens = b'[{"token":"7","logprob":-0.5,"top_logprobs":' + tops + b"}]"
    body = b'{"choices":[{"message":{"content":"7"},"finish_reason":"stop","logprobs":{"content":' + tokens + b"}}]}"
    reply = read_reply("chat", 200, body, {})
    assert reply.logprobs == [{"token": "7", "logprob": -0.5, "top": {"7": -0.5}}]


@pytest.mark.parametrize(
    ("error", "culprit"),
    [
        (
            {"code": "unsupported_parameter", "param": "max_tokens", "message": "Unsupported parameter: 'max_tokens'"},
            "max_tokens",
        ),
        ({"message": "Unsupported value: 'temperature' does not support 0 with this model."}, "temperature"),
        ({"message": "Unrecognized request argument supplied: seed"}, "seed"),
        ({"message": 'Invalid JSON payload received. Unknown name "seed": Cannot find field.'}, "seed"),
        ({"message": "invalid image"}, None),
    ],
)
def test_a_refused_parameter_is_named(error, culprit):
    assert failure(400, {"error": error}).culprit == culprit


def test_a_refused_field_of_a_validator_is_named():
    body = {"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}
    assert failure(422, body).culprit == "seed"


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry-after": "70"}, 70.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_retry_after(headers, wait):
    assert retry_after(headers) == wait


def test_retry_after_as_a_date():
    assert retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0
    assert retry_after({"retry-after": "Wed, 21 Oct 2099 07:28:00 GMT"}) > 1e6


REQUEST = httpx2.Request("POST", "http://x.invalid")


def chained(outer: Exception, *causes: Exception) -> Exception:
    error = outer
    for cause in causes:
        error.__cause__ = cause
        error = cause
    return outer


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        # The aiohttp transport calls a dropped connection a connect time-out.
        (
            chained(openai.APITimeoutError(REQUEST), httpx2.ConnectTimeout(""), aiohttp.ServerDisconnectedError()),
            Outcome.provider_error,
        ),
        (chained(httpx2.ReadError("x"), aiohttp.ClientPayloadError("incomplete")), Outcome.provider_error),
        (chained(httpx2.ConnectTimeout("x"), ConnectionResetError(104, "reset")), Outcome.provider_error),
        (httpx2.ReadTimeout("slow"), Outcome.timed_out),
        (chained(openai.APITimeoutError(REQUEST), httpx2.ReadTimeout("slow")), Outcome.timed_out),
        (httpx2.ConnectError("refused"), Outcome.provider_error),
        (OSError(24, "too many open files"), Outcome.provider_error),
    ],
)
def test_broken_connections(error, outcome):
    assert classify_exception(error).outcome is outcome


@given(st.binary(max_size=300), st.sampled_from(["chat", "responses"]), st.integers(200, 599))
def test_no_body_whatever_breaks_the_reading(content, api, status):
    reply = read_reply(api, status, content, {})
    assert isinstance(reply.outcome, Outcome)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.sampled_from(["message", "output_text", "reasoning", "text"])
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "message",
                    "content",
                    "output",
                    "error",
                    "type",
                    "text",
                    "usage",
                    "code",
                    "status",
                    "finish_reason",
                    "logprobs",
                    "token",
                    "logprob",
                    "top_logprobs",
                    "incomplete_details",
                    "reason",
                    "prompt_tokens",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(json_values, st.sampled_from(["chat", "responses"]))
def test_no_json_whatever_breaks_the_reading(value, api):
    reply = read_reply(api, 200, orjson.dumps(value, default=str) if _fits(value) else b"{}", {})
    assert reply.outcome is not Outcome.answered or reply.answer


def _fits(value) -> bool:
    try:
        orjson.dumps(value)
    except TypeError:
        return False
    return True


def test_errors_are_one_short_line():
    assert one_line("a\n  b\tc") == "a b c"
    assert len(one_line("x" * 5000)) == 600
