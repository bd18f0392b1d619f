"""The embedded language model through the engine: token probabilities, JSON by schema, refusal of what is too long."""

from __future__ import annotations

import math
import sys

import orjson
import pytest

from storage.errors import EnvironmentProblem
from storage.vocabulary import Outcome
from tasks.models import embedded
from tasks.models.asks import Ask, Message, Part
from tasks.models.endpoints import EndpointSpec
from tasks.models.engine import Engine

pytestmark = pytest.mark.slow
LOCAL = EndpointSpec(kind="local", timeout_s=300)


def question(store, text: str, **more) -> Ask:
    return Ask.at(LOCAL, "smollm2", (Message(role="user", parts=(Part(hash=store.put_text(text)),)),), **more)


@pytest.fixture(scope="module", autouse=True)
def stopped():
    """The model goes when these tests are done."""
    yield
    embedded.stop_embedded()


SCHEMA = {
    "type": "object",
    "properties": {"rating": {"type": "integer", "enum": [1, 3, 5]}},
    "required": ["rating"],
    "additionalProperties": False,
}


def test_probabilities_come_with_the_answer_and_the_same_ask_gives_the_same(store):
    engine = Engine(store, "run")
    parameters = {"max_tokens": 40, "temperature": 0, "logprobs": True, "top_logprobs": 10}
    text = "Rate this idea from 1 to 5: measure twice, cut once. Answer in JSON."
    asks = [question(store, text, parameters=parameters, response_schema=SCHEMA, repeat=i) for i in range(2)]
    first, second = engine.run(engine.gather(asks, lambda ask: engine.ask(ask, LOCAL), 1))
    assert first.outcome is Outcome.answered and orjson.loads(first.answer)["rating"] in (1, 3, 5)
    assert "".join(entry["token"] for entry in first.logprobs).strip() == first.answer.strip()
    top = first.logprobs[0]["top"]
    assert len(top) == 10 and 0.1 < sum(map(math.exp, top.values())) <= 1.001
    assert (first.answer, first.logprobs) == (second.answer, second.logprobs)
    assert first.resolved_model == "SmolLM2-135M-Instruct" and first.cost_usd == 0.0
    assert first.base_url == "local://SmolLM2-135M-Instruct.Q4_1.gguf"


def test_what_does_not_fit_the_window_is_said(store):
    engine = Engine(store, "run")
    call = engine.run(engine.ask(question(store, "word " * 9000), LOCAL))
    assert call.outcome is Outcome.context_too_long


def test_without_the_extra_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setattr(embedded.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(EnvironmentProblem, match="evenhand\\[local\\]"):
        embedded.EmbeddedModel()
    assert "llm" not in sys.modules
