"""Word changes: both texts come back out of the runs, and a reader sees words, not letters."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from tasks.report.changes import Run, changed_words, paragraphs, word_changes

WORDS = st.lists(st.sampled_from(["we", "show", "a", "novel", "\\cite{a}", "12.5", "%", ",", ".", "it's"]), max_size=30)


@given(WORDS, WORDS)
def test_both_texts_are_in_the_runs(before: list[str], after: list[str]) -> None:
    old, new = " ".join(before), " ".join(after)
    runs = word_changes(old, new)
    assert "".join(run.text for run in runs if run.kind != "gone") == new
    kept = "".join(run.text for run in runs if run.kind != "new")
    assert kept.split() == old.split() or "".join(kept.split()) == "".join(old.split())
    assert all(run.text for run in runs)
    assert all(first.kind != second.kind for first, second in itertools.pairwise(runs))


def test_words_are_whole_and_blanks_are_no_change() -> None:
    runs = word_changes("We show that it works.", "We show convincingly that it\nworks.")
    assert runs == [Run("same", "We show "), Run("new", "convincingly "), Run("same", "that it\nworks.")]
    assert changed_words(runs) == (0, 1)


def test_replaced_words_stand_together() -> None:
    runs = word_changes("the large, old house", "the small, new house")
    assert [run.kind for run in runs] == ["same", "gone", "new", "same"]
    assert (runs[1].text, runs[2].text) == ("large, old ", "small, new ")


def test_equal_and_empty_texts() -> None:
    assert word_changes("a b", "a b") == [Run("same", "a b")]
    assert word_changes("", "") == []
    assert word_changes("", "new") == [Run("new", "new")]


def test_very_long_texts_are_not_compared_word_by_word() -> None:
    before, after = "a " * 20_001, "b " * 20_001
    assert [run.kind for run in word_changes(before, after)] == ["gone", "new"]


def test_paragraphs() -> None:
    assert paragraphs("a\nb\n\n \n c \n") == ["a\nb", "c"]
