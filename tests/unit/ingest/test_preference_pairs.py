"""Pairs in every form are read and checked; what is wrong is named by file, row and field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.errors import InputError
from storage.pairs import Pair, Presentation
from storage.store import open_store
from tasks.ingest.pairs import ingest_pairs, pair_key, read_pairs

OURS: dict[str, Any] = {"question": "Why?", "response1": "Because.", "response2": "No.", "label": "response1"}
REWRITTEN: dict[str, Any] = {
    "question": "Why?", "original_response1": "Because.", "original_response2": "No.",
    "rewritten_response1": "As it is.", "rewritten_response2": "Surely no.", "label": "response2",
}


def _file(folder: Path, *records: Any, name: str = "pairs.jsonl") -> Path:
    path = folder / name
    lines = [record if isinstance(record, str) else json.dumps(record, ensure_ascii=False) for record in records]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_the_shipped_pairs_are_read_whole(root: Path) -> None:
    named = read_pairs(root / "deployments" / "suites" / "pairs" / "pairs.jsonl")
    assert len(named) == 64
    assert {each.pair.bias for each in named} == {None}
    assert named[0].name == "physics-01"


def test_a_published_folder_gives_biases_by_file_name(tmp_path: Path) -> None:
    _file(tmp_path, REWRITTEN, name="length_bias.jsonl")
    _file(tmp_path, OURS, name="superficial-reflection_bias.jsonl")
    named = read_pairs(tmp_path)
    assert [(each.name, each.pair.bias) for each in named] == [
        ("length-00001", "length"), ("superficial_reflection-00001", "superficial_reflection")]
    pair = named[0].pair
    assert pair.rewritten is not None
    assert (pair.chosen, pair.rejected, pair.rewritten.response2) == ("No.", "Because.", "Surely no.")


@pytest.mark.parametrize(("record", "said"), [
    ({**OURS, "label": "A"}, "field 'label' is 'A'"),
    ({**OURS, "response2": " "}, "field 'response2' must be a text"),
    ({**OURS, "response2": 3}, "field 'response2' must be a text"),
    ({**OURS, "winner": 1}, "unknown field 'winner'"),
    ({k: v for k, v in OURS.items() if k != "question"}, "field 'question' is missing"),
    ({**OURS, "bias": "lenght"}, "field 'bias' is 'lenght'"),
    ({**OURS, "response2": "Because."}, "the two answers are the same"),
    ({**OURS, "id": 1.5}, "field 'id'"),
    (REWRITTEN, "need a field 'bias'"),
    ({k: v for k, v in REWRITTEN.items() if k != "rewritten_response2"}, "field 'rewritten_response2' is missing"),
    ("[1]", "is not a JSON object"),
    ('{"question": ', "is not a JSON object"),
])
def test_a_wrong_row_is_named(tmp_path: Path, record: Any, said: str) -> None:
    path = _file(tmp_path, OURS, record)
    with pytest.raises(InputError) as error:
        read_pairs(path)
    assert f"{path}: row 2: " in str(error.value)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_doubled_ids_and_empty_sources_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"row 2: the id 'a' is there already .*row 1"):
        read_pairs(_file(tmp_path, {**OURS, "id": "a"}, {**OURS, "id": "a", "question": "How?"}))
    with pytest.raises(InputError, match="holds no pair"):
        read_pairs(_file(tmp_path, "", name="empty.jsonl"))
    with pytest.raises(InputError, match="no such file"):
        read_pairs(tmp_path / "nothing")
    (tmp_path / "latin.jsonl").write_bytes(b'{"question": "\xe9"}')
    with pytest.raises(InputError, match="not UTF-8"):
        read_pairs(tmp_path / "latin.jsonl")


def test_line_separators_inside_texts_do_not_end_a_row(tmp_path: Path) -> None:
    named = read_pairs(_file(tmp_path, {**OURS, "response1": "one\u2028two\x85three"}))
    assert named[0].pair.response1 == "one\u2028two\x85three"


def test_pairs_are_taken_in_once_and_names_are_no_part_of_the_key(tmp_path: Path) -> None:
    store = open_store(tmp_path / "s.duckdb")
    first = ingest_pairs(store, read_pairs(_file(tmp_path, {**OURS, "id": "a", "topic": "x"})))
    again = ingest_pairs(store, read_pairs(_file(tmp_path, {**OURS, "id": "b", "topic": "y"})))
    assert (first[0].key, first[0].family, again[0].key, again[0].family) == (first[0].key, "a", first[0].key, "b")
    assert store.query("SELECT count(*) AS n FROM families")["n"][0] == 1
    shown = Presentation(question="Why?", first="Because.", second="No.")
    assert store.get_text(first[0].text_hash or "") == shown.text
    store.close()


@given(st.text(min_size=1), st.text(min_size=1), st.text(min_size=1))
def test_any_text_survives_presentation(question: str, first: str, second: str) -> None:
    shown = Presentation(question=question, first=first, second=second, after="x")
    assert Presentation.read(shown.text) == shown


def test_the_label_is_part_of_the_pair_but_not_of_what_is_shown() -> None:
    one, two = (Pair.model_validate({**OURS, "label": label}) for label in ("response1", "response2"))
    assert pair_key(one) != pair_key(two)
