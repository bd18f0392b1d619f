"""Rhetoric features: each family answers to its own condition, and to nothing a PDF breaks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.vocabulary import CONDITION_NAMES
from tasks.models import rhetoric

PLAIN = (
    "We study label noise on two image data sets. The method adds a penalty to the loss and trains a small network. "
    "Accuracy rises from 71.2 to 73.9 on the first set. It falls by 0.4 on the second set. We report five seeds. "
) * 20
RAISED = {
    "novelty": "For the first time, our novel and unprecedented approach departs from every earlier one.",
    "scope": "This applies broadly across diverse domains and generalises to a wide range of settings.",
    "evidence": "The results consistently and substantially outperform and conclusively confirm this.",
    "contribution": "Our key contributions are as follows, and crucially they pave the way.",
    "register": "We formalize a principled framework whereby it is defined as admissible without loss of generality.",
    "complexity": "Notwithstanding the aforementioned considerations, one utilizes it in order to elucidate them.",
}


@pytest.mark.parametrize("family", rhetoric.RHETORIC)
def test_markers_of_a_condition_raise_its_own_feature_most(family: str) -> None:
    before = rhetoric.features(PLAIN)
    after = rhetoric.features(PLAIN + RAISED[family])
    shifts = {name: after[name] - before[name] for name in rhetoric.RHETORIC}
    assert max(shifts, key=lambda name: shifts[name]) == family
    assert shifts[family] > 0.5


def test_every_single_condition_has_a_feature() -> None:
    assert tuple(rhetoric.CONDITION_FEATURE) == CONDITION_NAMES[:6]
    assert set(rhetoric.CONDITION_FEATURE.values()) < set(rhetoric.FEATURES)


def test_no_entry_is_in_two_families() -> None:
    owner: dict[str, str] = {}
    for family, entries in rhetoric.LEXICONS.items():
        for entry in entries:
            assert owner.setdefault(entry, family) == family, entry
    for entry, family in owner.items():
        if " " not in entry and not entry.endswith("*"):
            assert rhetoric.family_of(entry) == family


def test_rates_are_per_hundred_words() -> None:
    found = rhetoric.features("novel " + "dog " * 99)
    assert found["words"] == 100
    assert found["novelty"] == pytest.approx(1.0)
    assert rhetoric.features(("novel " + "dog " * 99) * 7)["novelty"] == pytest.approx(1.0)


def test_text_broken_by_a_pdf_reads_like_the_whole_text() -> None:
    whole = rhetoric.features("An unprecedented and significant finding about classification.")
    broken = rhetoric.features("An unprece-\ndented and signiﬁcant \ufb01nding about classi\u00adﬁcation.")
    assert broken == whole


def test_formula_debris_and_numbers_are_not_words() -> None:
    plain = rhetoric.features("the loss falls quickly")
    debris = rhetoric.features("the loss x i j 3.14 = ∑ ( z ) falls [12] quickly")
    assert debris["words"] == plain["words"] == 4


def test_abbreviations_end_no_sentence() -> None:
    text = "Smith et al. The method of J. Doe in Fig. A works. It is fast."
    assert rhetoric.features(text)["mean_sentence_words"] == pytest.approx(rhetoric.features(text)["words"] / 2)


def test_longest_stem_wins_and_long_words_are_complex() -> None:
    assert rhetoric.family_of("parameterization") == "register"
    assert rhetoric.family_of("internationalist") == "complexity"
    assert rhetoric.family_of("dog") is None


@given(st.text(max_size=400))
def test_any_text_gives_finite_features(text: str) -> None:
    found = rhetoric.features(text)
    assert set(found) == set(rhetoric.FEATURES)
    assert all(0 <= value < 1e6 for value in found.values())
