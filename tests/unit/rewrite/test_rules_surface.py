"""Surface English under masks: what rules may touch, and how what they write fits in."""

from __future__ import annotations

import pytest

from tasks.rewrite.rules.inflect import forms
from tasks.rewrite.rules.language import Prose, article_before, mend_articles, vowel_sound


@pytest.mark.parametrize(("word", "vowel"), [
    ("novel", False), ("original", True), ("unexplored", True), ("universal", False), ("useful", False), ("hour", True),
    ("European", False), ("one-sided", False), ("unimportant", True), ("essential", True),
])
def test_an_goes_before_vowel_sounds(word: str, vowel: bool) -> None:
    assert vowel_sound(word) is vowel


def test_articles_are_mended_only_where_they_must() -> None:
    assert mend_articles("a original idea and an novel one") == "an original idea and a novel one"
    assert article_before("we use a ", "original") == "we use an "
    assert article_before("of vitamin ", "original") == "of vitamin "
    assert article_before("⟦1⟧a ", "original") == "⟦1⟧a "


@pytest.mark.parametrize(("verb", "made"), [
    ("use", ("use", "uses", "used", "used", "using")), ("show", ("show", "shows", "showed", "shown", "showing")),
    ("underlie", ("underlie", "underlies", "underlay", "underlain", "underlying")),
    ("apply", ("apply", "applies", "applied", "applied", "applying")),
    ("carry out", ("carry out", "carries out", "carried out", "carried out", "carrying out")),
    ("formally set", ("formally set", "formally sets", "formally set", "formally set", "formally setting")),
])
def test_verbs_are_inflected(verb: str, made: tuple[str, ...]) -> None:
    assert forms(verb) == made


def _free(text: str, word: str) -> bool:
    start = text.index(word)
    return Prose(text).free(start, start + len(word))


@pytest.mark.parametrize("text", [
    "a self-method of ours", "the method-driven one", "see method.py for it", "⟦1⟧method⟦2⟧ is", "a method's end",
    "he said ``our method is best'' once", 'the "method" here', "“our method” is", "`method' so called", "path/method",
    "x_method",
])
def test_words_that_are_part_of_something_else_are_left_alone(text: str) -> None:
    assert not _free(text, "method")


@pytest.mark.parametrize("text", ["our method is", "(method)", "the method, then", "the method.", "a method~⟦1⟧ here",
                                  "the dog's method works", "``quoted'' method here"])
def test_words_of_the_running_prose_are_free(text: str) -> None:
    assert _free(text, "method")


def test_sentences_end_where_people_end_them() -> None:
    text = "As in Fig. 3 of Smith et al. The rest follows. We then stop, e.g. here. ⟦1⟧ It ends.⟦2⟧ Done"
    prose = Prose(text)
    found = [text[span.start:span.end] for span in prose.sentences()]
    assert found == ["As in Fig. 3 of Smith et al. The rest follows.", "We then stop, e.g. here. ⟦1⟧ It ends.⟦2⟧",
                     "Done"]
    assert prose.opens_sentence(text.index("We then"))
    assert not prose.opens_sentence(text.index("The rest"))
