"""Markup goes, typographic variety folds, queries hold no operators."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.retrieve.cleaning import clean, doi_key, query_text, title_key
from tasks.retrieve.queries import queries_of


@pytest.mark.parametrize(("given_text", "plain"), [
    ("<jats:title>Abstract</jats:title><jats:p>Cells &lt; 5 &amp;amp; more.</jats:p>", "Cells < 5 & more."),
    ("<p>H<sub>2</sub>O and CO<jats:sub>2</jats:sub></p>", "H2O and CO2"),
    ("Abstract: We show.", "We show."),
    ("a\n\n b\t c\x00d", "a b c d"),
    ("x <script>alert(1)</script> y", "x y"),
    ("<mml:math><mml:mi>x</mml:mi></mml:math> grows", "x grows"),
    (None, ""), ("", ""),
])
def test_markup_and_entities_go(given_text, plain):
    assert clean(given_text) == plain


@given(st.text())
def test_cleaning_never_fails_and_is_stable(text):
    once = clean(text)
    once.encode()
    assert "\n" not in once
    assert once == once.strip()


def test_typographic_and_plain_titles_are_one():
    """B56."""
    curly, plain = "Two\u2019s complement\u2014a \u201cna\u00efve\u201d view", "Two's complement - a \"naive\" view"
    assert title_key(curly) == title_key(plain) == "twos complement a naive view"
    assert query_text(curly) == query_text(plain)


def test_a_query_holds_nothing_that_a_service_reads_as_an_operator():
    """B55."""
    said = query_text("Fast, Cheap, and Good: A Study | Part 2 (AND \"more\") OR x* NOT y? -z")
    assert said == "Fast Cheap and Good A Study Part 2 and more or x not y z"


def test_a_hyphen_inside_a_word_stays():
    assert query_text("state-of-the-art — models") == "state-of-the-art models"


@pytest.mark.parametrize(("given_doi", "bare"), [
    ("https://doi.org/10.1145/ABC.1", "10.1145/abc.1"), ("doi:10.5555/x ", "10.5555/x"), ("10.48550/arXiv.2199.00001v3",
    "10.48550/arxiv.2199.00001"), ("not a doi", ""), (None, ""), ("10.5555/x.", "10.5555/x"),
])
def test_dois_have_one_form(given_doi, bare):
    assert doi_key(given_doi) == bare


def test_queries_are_question_method_and_concepts(idea):
    question, method, concepts = queries_of(idea)
    assert question == "Which cached answers are stale"
    assert "entailment" in method
    assert "compares" in method
    assert concepts == "answer caching textual entailment"
