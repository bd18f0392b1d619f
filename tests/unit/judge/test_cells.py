"""Keys of judgements: everything that can change the outcome, and no label (field bugs B81 to B84, B91)."""

from __future__ import annotations

import pytest

from tasks.judge.cells import Cell, VersionRef, cells_of
from tasks.judge.inputs import limit_for
from tasks.judge.protocols import PROTOCOLS, Configuration
from tasks.judge.shards import wanted_cells
from tasks.judge.single_call import SingleCall
from tasks.judge.wording import parse_prompt
from tasks.models.endpoints import EndpointSpec, Price

ENDPOINT = EndpointSpec(name="a", base_url="http://judge.example/v1")
VERSION = VersionRef(key="v", family_key="f", text_hash="sha256:11", pdf_hash="sha256:22", chars=4000)
PLAIN = {"name": "label", "endpoint": "a", "model": "m", "protocol": "standard", "parameters": {"temperature": 0}}


def key(endpoint: EndpointSpec = ENDPOINT, version: VersionRef = VERSION, **changes: object) -> str:
    """The key of the one cell of a configuration with some fields changed."""
    configuration = Configuration.model_validate(PLAIN | changes)
    return wanted_cells(configuration, endpoint, [version])[0].key


def test_labels_limits_and_prices_are_in_no_key() -> None:
    other = ENDPOINT.model_copy(update={
        "name": "b", "max_in_flight": 3, "rpm": 9, "attempts": 1, "timeout_s": 5.0, "price": Price(input=1, output=2),
        "api_key_env": "OTHER_KEY"})
    moved = VERSION.model_copy(update={"key": "w", "family_key": "g", "chars": 1})
    assert key(other, moved, name="renamed") == key()


@pytest.mark.parametrize("changes", [
    {"model": "m-b"}, {"parameters": {"temperature": 0.7}}, {"parameters": {"temperature": 0, "max_tokens": 4000}},
    {"parameters": {}}, {"protocol": "strict"}, {"protocol": "persistent"}, {"protocol": "decimal"},
    {"input": "abstract"}, {"input": "pdf"},
])
def test_each_change_of_the_question_changes_the_key(changes: dict[str, object]) -> None:
    assert key(**changes) != key()


@pytest.mark.parametrize("update", [
    {"base_url": "http://other.example/v1"}, {"api": "responses"}, {"structured": "none"}, {"pdf": "native"},
])
def test_each_change_of_the_endpoint_changes_the_key(update: dict[str, object]) -> None:
    assert key(ENDPOINT.model_copy(update=update)) != key()


def test_the_papers_text_and_the_repeat_are_in_the_key() -> None:
    assert key(version=VERSION.model_copy(update={"text_hash": "sha256:12"})) != key()
    assert key(version=VERSION.model_copy(update={"pdf_hash": "sha256:23"})) == key()
    repeats = wanted_cells(Configuration.model_validate(PLAIN), ENDPOINT, [VERSION], 3)
    assert len({cell.key for cell in repeats}) == 3
    assert repeats[0].key == key()


def test_scoring_by_expectation_is_another_judgement() -> None:
    sampled = Configuration(name="x", endpoint="a", model="m", protocol="rating")
    expected = sampled.model_copy(update={"scoring": "expectation"})
    first, second = (wanted_cells(each, ENDPOINT, [VERSION])[0].key for each in (sampled, expected))
    assert first != second


def test_one_word_of_a_prompt_changes_every_key() -> None:
    protocol = PROTOCOLS["standard"]
    assert isinstance(protocol, SingleCall)
    text = "# System\nBe fair.\n# Before\nHere.\n# After\nNow.\n"
    one, other = (SingleCall("standard", parse_prompt(words, "x.md"), protocol.form, output_tokens=(1, 2, 3))
                  for words in (text, text.replace("fair", "just")))
    manner = Configuration.model_validate(PLAIN).manner(ENDPOINT)
    keys = [cells_of(each.identity("sampled"), manner, [VERSION])[0].key for each in (one, other)]
    assert keys[0] != keys[1]


def test_auto_shows_the_pdf_only_where_the_endpoint_takes_it() -> None:
    native = ENDPOINT.model_copy(update={"pdf": "native"})
    configuration = Configuration.model_validate(PLAIN)

    def given(endpoint: EndpointSpec, version: VersionRef) -> tuple[str, str]:
        cell = wanted_cells(configuration, endpoint, [version])[0]
        return cell.given.kind, cell.given.hash

    assert given(ENDPOINT, VERSION) == ("text", "sha256:11")
    assert given(native, VERSION) == ("pdf", "sha256:22")
    assert given(native, VERSION.model_copy(update={"pdf_hash": None})) == ("text", "sha256:11")
    with pytest.raises(ValueError, match="no PDF"):
        wanted_cells(configuration.model_copy(update={"input": "pdf"}), ENDPOINT,
                     [VERSION.model_copy(update={"pdf_hash": None})])


def family(long: int) -> list[VersionRef]:
    """A short family, and one of which only the variant is long."""
    return [VersionRef(key=name, family_key=name[0], text_hash=f"sha256:{name}", chars=chars)
            for name, chars in (("a0", 100), ("a1", 110), ("b0", 100), ("b1", long))]


def test_a_family_that_does_not_fit_is_treated_alike_in_both_arms() -> None:
    small = ENDPOINT.model_copy(update={"context_tokens": 8192})
    limit = limit_for(8192)
    configuration = Configuration.model_validate(PLAIN)

    def cells(rule: str, chars: int) -> list[Cell]:
        return wanted_cells(configuration.model_copy(update={"too_long": rule}), small, family(chars))

    assert [cell.refused for cell in cells("refuse", limit)] == [None] * 4
    assert [cell.refused for cell in cells("refuse", limit + 1)] == [None, None, *["family_over_context"] * 2]
    trimmed = cells("trim", limit + 1)
    assert [cell.is_trimmed for cell in trimmed] == [False, False, True, True]
    assert [cell.given.limit_chars for cell in trimmed] == [None, None, limit, limit]
    assert all(cell.refused is None for cell in trimmed)
    # The short family's answers are not touched by the rule, the long one's are.
    fitting = cells("refuse", limit)
    assert [one.key == other.key for one, other in zip(fitting, trimmed, strict=True)] == [True, True, False, False]
