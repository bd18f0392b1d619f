"""Submissions and scores read from exports of both of OpenReview's forms, and from our own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.errors import InputError
from tasks.ingest.openreview.match import alike, normalised, same_authors
from tasks.ingest.openreview.submissions import (
    from_note,
    human_scores_of,
    read_submissions,
    score_of,
    write_submissions,
)
from tests.fakes.fake_openreview import note


@pytest.mark.parametrize(
    "value, score",
    [(8, 8.0), (0, 0.0), ("0", 0.0), ("8: accept, good paper", 8.0), ("3 good", 3.0), ("6.5", 6.5), ("10", 10.0),
     ("-1 (strong reject)", -1.0), (" 4 - confident", 4.0), (True, None), (None, None), ("", None), ("good", None),
     (float("nan"), None), ("accept: 8", None), ([8], None)],
)
def test_scores_are_numbers_or_sentences(value: Any, score: float | None) -> None:
    assert score_of(value) == score


@given(st.floats(-100, 100, allow_nan=False).map(lambda value: round(value, 2)), st.sampled_from(["", ": accept", " x"]))
def test_every_number_comes_back(value: float, after: str) -> None:
    assert score_of(f"{value:.2f}{after}") == pytest.approx(value)


def test_a_note_of_the_newer_api() -> None:
    found = from_note(note("a", "A  Title\nof it", ["8: accept", 0, "6"], authors=["Ada One", "Anonymous"]))
    assert found is not None
    assert (found.id, found.title, found.authors) == ("a", "A Title of it", ("Ada One",))
    assert [review["overall_assessment"] for review in found.reviews] == [8.0, 0.0, 6.0]
    assert found.means == {"overall_assessment": pytest.approx(14 / 3), "soundness": 3.0, "confidence": 4.0}


def test_a_note_of_the_older_api() -> None:
    old = {
        "id": "b", "forum": "b", "content": {"title": "T", "abstract": "A", "authors": ["X Y"]},
        "details": {"directReplies": [
            {"invitation": "V/Paper1/-/Official_Review", "content": {"recommendation": "5: marginal", "correctness": 2}},
            {"invitation": "V/Paper1/-/Official_Review", "content": {"recommendation": 3}, "ddate": 1},
            {"invitation": "V/Paper1/-/Decision", "content": {"recommendation": "Accept"}},
        ]},
    }
    found = from_note(old)
    assert found is not None and found.reviews == ({"overall_assessment": 5.0, "soundness": 2.0},)


@pytest.mark.parametrize("venue", ["V/Withdrawn_Submission", "V/Desk_Rejected_Submission", "desk reject"])
def test_withdrawn_submissions_are_left_out(venue: str) -> None:
    assert from_note(note("a", "T", [3], venueid=venue)) is None


def test_exports_are_read_and_written(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_text(json.dumps([note("a", "T", [3]), note("b", "U", [], venueid="V"), note("c", "W", ["0: no"])]))
    read = read_submissions(path)
    assert [one.id for one in read] == ["a", "b", "c"]
    scores = {(row.family, row.dimension): row.score for row in human_scores_of(read)}
    assert scores["c", "overall"] == 0.0 and ("b", "overall") not in scores
    again = tmp_path / "ours.json"
    write_submissions(again, read)
    assert read_submissions(again) == read
    again.write_text(json.dumps([{"id": "x", "title": "T", "reviews": [{"rating": "8: accept"}], "year": 2026}]))
    assert read_submissions(again)[0].means == {"overall_assessment": 8.0}


@pytest.mark.parametrize(
    "text, said",
    [("{", "no JSON"), ("[]", "no submission"), ('{"notes": 1}', "list of submissions"), ("[1]", "list of submissions"),
     ('[{"id": "a/../b", "title": "T"}]', "entry 1: id"), ('[{"id": "a"}]', "entry 1: title"),
     ('[{"id": "a", "title": "T"}, {"id": "a", "title": "U"}]', "entry 2: the submission a is there already")],
)
def test_wrong_exports_name_the_entry(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "export.json"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        read_submissions(path)
    with pytest.raises(InputError, match="evenhand import openreview"):
        read_submissions(tmp_path / "other.json")


def test_likeness_is_of_words_not_of_typesetting() -> None:
    assert normalised("Eﬃcient trans-\nformers: Café, x!") == "efficient transformers cafe x"
    assert alike("A Study of\nGraphs.", "a study of graphs") == 1.0
    assert alike("a study of graphs", "something else entirely") < 0.6
    assert same_authors(("Ada One", "Bea Two"), ["A. One", "C. Three", "B. Two"])
    assert not same_authors(("Ada One", "Bea Two"), ["C. Three", "D. Four"])
    assert same_authors((), ["C. Three"])
