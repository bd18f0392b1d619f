"""What is sent: both APIs' bodies, and the forms an endpoint turned out not to accept."""

from __future__ import annotations

import orjson
import pytest

from storage.keys import content_hash
from storage.vocabulary import Outcome
from tasks.models.asks import Ask, Message, Part
from tasks.models.bodies import Adaptation, body_of, parameters_sent, raised_cap, token_cap
from tasks.models.endpoints import EndpointSpec
from tasks.models.outcomes import Reply
from tasks.models.retries import Effort, adapts, form_for, next_wait

TEXTS = {content_hash(text): text for text in ("be fair", "paper: ", "words")}
PDF = content_hash(b"%PDF")
SCHEMA = {"type": "object", "properties": {"rating": {"type": "integer"}}}
CHAT = EndpointSpec(base_url="http://h/v1", attempts=6)
RESPONSES = EndpointSpec(base_url="http://h/v1", api="responses")


def ask(endpoint: EndpointSpec, pdf: bool = False, **more) -> Ask:
    parts = [Part(hash=content_hash("paper: ")), Part(hash=content_hash("words"))]
    if pdf:
        parts.append(Part(kind="pdf", hash=PDF))
    messages = (
        Message(role="system", parts=(Part(hash=content_hash("be fair")),)),
        Message(role="user", parts=tuple(parts)),
    )
    return Ask.at(endpoint, "m", messages, **more)


def sent(one: Ask, files=None, structured: str = "json_schema") -> dict:
    return orjson.loads(body_of(one, TEXTS, files or {}, parameters_sent(one, one.parameters), structured))


def test_chat_texts_are_joined_as_they_are():
    body = sent(ask(CHAT, parameters={"temperature": 0, "max_tokens": 9}))
    assert body == {
        "model": "m",
        "messages": [{"role": "system", "content": "be fair"}, {"role": "user", "content": "paper: words"}],
        "temperature": 0,
        "max_tokens": 9,
    }


def test_chat_pdfs_go_as_files():
    body = sent(ask(CHAT, pdf=True), {PDF: {"file_id": "f-1"}})
    assert body["messages"][1]["content"][-1] == {"type": "file", "file": {"file_id": "f-1"}}


def test_responses_body_in_its_own_words():
    parameters = {"max_tokens": 50, "reasoning_effort": "high", "logprobs": True, "top_logprobs": 5}
    body = sent(ask(RESPONSES, pdf=True, parameters=parameters, response_schema=SCHEMA), {PDF: {"file_id": "f-1"}})
    assert body["input"][1]["content"] == [
        {"type": "input_text", "text": "paper: "},
        {"type": "input_text", "text": "words"},
        {"type": "input_file", "file_id": "f-1"},
    ]
    assert body["max_output_tokens"] == 50 and "max_tokens" not in body
    assert body["reasoning"] == {"effort": "high"}
    assert body["include"] == ["message.output_text.logprobs"] and body["top_logprobs"] == 5
    assert body["text"]["format"]["schema"] == SCHEMA


def test_verbosity_and_schema_share_the_text_field():
    body = sent(ask(RESPONSES, parameters={"text": {"verbosity": "low"}}, response_schema=SCHEMA))
    assert body["text"]["verbosity"] == "low" and body["text"]["format"]["type"] == "json_schema"


@pytest.mark.parametrize("endpoint", [CHAT, RESPONSES])
def test_the_three_ways_to_ask_for_json(endpoint):
    one = ask(endpoint, response_schema=SCHEMA)
    forms = [sent(one, structured=way) for way in ("json_schema", "json_object", "none")]
    kinds = [(body.get("response_format") or body.get("text", {}).get("format") or {}).get("type") for body in forms]
    assert kinds == ["json_schema", "json_object", None]


def test_caps_are_found_and_raised():
    assert token_cap({"max_completion_tokens": 7}) == 7
    assert token_cap({"temperature": 1}) is None
    assert raised_cap({"max_tokens": 100, "temperature": 0.5}, 4) == {"max_tokens": 400, "temperature": 0.5}


def refused(culprit: str | None) -> Reply:
    return Reply(Outcome.bad_request, culprit=culprit, error="400")


def test_adaptations_are_learnt_once_and_known_to_others():
    adaptation, effort = Adaptation(), Effort(CHAT)
    form = form_for({"max_tokens": 5, "temperature": 0}, "json_schema", adaptation, effort)
    assert adapts(refused("max_tokens"), effort, adaptation, form)
    # A second ask that was in flight with the old form is sent again, without learning more.
    assert adapts(refused("max_tokens"), Effort(CHAT), adaptation, form)
    after = form_for({"max_tokens": 5, "temperature": 0}, "json_schema", adaptation, effort)
    assert after.parameters == {"max_completion_tokens": 5, "temperature": 0}
    assert adapts(refused("temperature"), effort, adaptation, after)
    last = form_for({"max_tokens": 5, "temperature": 0}, "json_schema", adaptation, effort)
    assert last.parameters == {"max_completion_tokens": 5}
    assert not adapts(refused("seed"), effort, adaptation, last)
    assert not adapts(refused(None), effort, adaptation, last)


def test_a_schema_that_is_refused_is_asked_for_more_weakly():
    adaptation, effort = Adaptation(), Effort(CHAT)
    ways = []
    for _ in range(3):
        form = form_for({}, "json_schema", adaptation, effort)
        ways.append(form.structured)
        learnt = adapts(refused("response_format"), effort, adaptation, form)
    assert ways == ["json_schema", "json_object", "none"] and not learnt


def test_truncated_answers_are_asked_for_with_a_higher_cap():
    effort, adaptation = Effort(CHAT), Adaptation()
    caps = []
    while True:
        form = form_for({"max_tokens": 100}, "none", adaptation, effort)
        caps.append(form.parameters["max_tokens"])
        if next_wait(Reply(Outcome.truncated), Outcome.truncated, effort, form.parameters) is None:
            break
    assert caps == [100, 200, 400, 800]


def test_permanent_outcomes_are_not_asked_again():
    for outcome in (
        Outcome.refused,
        Outcome.filtered,
        Outcome.context_too_long,
        Outcome.bad_request,
        Outcome.quota_gone,
    ):
        assert next_wait(Reply(outcome), outcome, Effort(CHAT), {}) is None


def test_a_rate_limit_is_waited_for_and_burns_no_tries():
    effort = Effort(CHAT)
    waits = [
        next_wait(Reply(Outcome.rate_limited, retry_after_s=70.0), Outcome.rate_limited, effort, {}) for _ in range(10)
    ]
    assert waits == [70.0] * 10
    over = Reply(Outcome.rate_limited, retry_after_s=300.0)
    assert next_wait(over, Outcome.rate_limited, Effort(CHAT), {}) is None


def test_failures_are_asked_again_within_attempts_and_wait_longer_each_time():
    effort = Effort(CHAT)
    waits = []
    while (wait := next_wait(Reply(Outcome.provider_error), Outcome.provider_error, effort, {})) is not None:
        waits.append(wait)
    assert len(waits) == CHAT.attempts - 1
    assert 0.3 < waits[0] < 0.7 and 6 < waits[4] < 11
