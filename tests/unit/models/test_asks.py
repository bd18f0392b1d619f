"""An ask's key holds everything that can change its answer and nothing else (field bugs B81 to B84)."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from storage.errors import EnvironmentProblem
from storage.keys import NotCanonical, content_hash
from tasks.models import endpoints
from tasks.models.asks import Ask, Message, Part
from tasks.models.endpoints import EndpointSpec, api_key, redact

ENDPOINT = EndpointSpec(name="a", base_url="http://127.0.0.1:1/v1")
SCHEMA = {"type": "object", "properties": {"b": {"type": "integer"}, "a": {"type": "integer"}}}


def ask(text: str = "paper", endpoint: EndpointSpec = ENDPOINT, model: str = "m-a", **more) -> Ask:
    rubric = Part(hash=content_hash(more.pop("rubric", "rubric")))
    messages = (Message(role="system", parts=(rubric,)), Message(role="user", parts=(Part(hash=content_hash(text)),)))
    return Ask.at(endpoint, model, messages, **more)


def test_the_label_of_an_endpoint_changes_nothing():
    other = ENDPOINT.model_copy(update={"name": "b", "max_in_flight": 3, "attempts": 2, "timeout_s": 5.0})
    assert ask().key == ask(endpoint=other).key


VARIANTS = [
    ask(),
    ask(model="m-b"),
    ask(endpoint=EndpointSpec(base_url="http://127.0.0.1:2/v1")),
    ask(endpoint=ENDPOINT.model_copy(update={"api": "responses"})),
    ask(text="paper rewritten"),
    ask(rubric="rubric, one word changed"),
    ask(parameters={"temperature": 0}),
    ask(parameters={"temperature": 0.7}),
    ask(parameters={"max_tokens": 16}),
    ask(parameters={"max_tokens": 4000}),
    ask(parameters={"seed": 1}),
    ask(repeat=1),
    ask(repeat=2),
    ask(response_schema=SCHEMA),
    ask(response_schema={**SCHEMA, "properties": dict(reversed(SCHEMA["properties"].items()))}),
    ask(response_schema=SCHEMA, endpoint=ENDPOINT.model_copy(update={"structured": "none"})),
    ask().model_copy(
        update={"messages": (Message(role="user", parts=(Part(kind="pdf", hash=content_hash("paper")),)),)}
    ),
]


def test_everything_that_is_sent_is_in_the_key():
    fresh = [Ask.model_validate(variant.model_dump()) for variant in VARIANTS]
    assert len({one.key for one in fresh}) == len(VARIANTS)


def test_the_way_to_ask_for_json_counts_only_with_a_schema():
    assert ask().key == ask(endpoint=ENDPOINT.model_copy(update={"structured": "none"})).key


def test_a_trailing_slash_is_no_other_endpoint():
    assert EndpointSpec(base_url="http://h/v1/").identity == EndpointSpec(base_url="http://h/v1").identity


@given(st.dictionaries(st.text(max_size=5), st.integers(-5, 5) | st.floats(0, 1) | st.text(max_size=5), max_size=4))
def test_equal_parameters_in_any_order_have_one_key(parameters):
    turned = dict(reversed(list(parameters.items())))
    assert ask(parameters=parameters).key == ask(parameters=turned).key


def test_what_has_no_canonical_form_is_refused():
    with pytest.raises(NotCanonical):
        _ = ask(parameters={"temperature": float("nan")}).key


def test_identities_of_embedded_endpoints():
    assert re.fullmatch(r"phantom://[0-9a-f]{12}", EndpointSpec(kind="phantom").identity)
    assert EndpointSpec(kind="local").identity == "local://SmolLM2-135M-Instruct.Q4_1.gguf"
    assert EndpointSpec(kind="local").max_in_flight == 2
    assert EndpointSpec(kind="local", max_in_flight=5).max_in_flight == 5


def test_what_phantoms_answer_from_is_in_their_identity(root, tmp_path):
    read = {path.stem for path in (root / "tasks" / "models").glob("phantom*.py")}
    imported = set()
    for name in sorted(read):
        text = (root / "tasks" / "models" / f"{name}.py").read_text()
        imported |= set(re.findall(r"^from tasks\.models\.(\w+) import", text, re.M))
    assert imported - read <= set(endpoints._PHANTOMS_READ_WITH), "a module that phantoms read with is not in their identity"


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"base_url": "ftp://x/v1"},
        {"base_url": "http://user:secret@h/v1"},
        {"base_url": "http://h/v1", "headers": {"Authorization": "Bearer x"}},
        {"base_url": "http://h/v1", "headers": {"X-API-Key": "x"}},
        {"base_url": "http://h/v1", "api_key": "sk-abc"},
        {"base_url": "http://h/v1", "max_in_flight": 0},
        {"kind": "phantom", "base_url": "http://h/v1"},
    ],
)
def test_bad_endpoints_are_refused(fields):
    with pytest.raises(ValidationError):
        EndpointSpec(**fields)


def test_a_missing_key_names_endpoint_and_variable(monkeypatch):
    monkeypatch.delenv("EVENHAND_TEST_KEY", raising=False)
    spec = EndpointSpec(name="router", base_url="http://h/v1", api_key_env="EVENHAND_TEST_KEY")
    with pytest.raises(EnvironmentProblem, match=r"router.*EVENHAND_TEST_KEY"):
        api_key(spec)


def test_keys_are_redacted(monkeypatch):
    monkeypatch.setenv("EVENHAND_TEST_KEY", "zebra-very-secret")
    spec = EndpointSpec(name="router", base_url="http://h/v1", api_key_env="EVENHAND_TEST_KEY")
    assert api_key(spec) == "zebra-very-secret"
    said = redact("bad key zebra-very-secret, sent as Bearer abc.def; also sk-abcdefgh123")
    assert "zebra" not in said and "abc.def" not in said and "sk-" not in said
