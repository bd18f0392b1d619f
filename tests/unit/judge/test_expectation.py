"""The expectation over rating tokens: arithmetic by hand, tokenisers of both kinds, and refusals."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.vocabulary import Outcome
from tasks.judge.expectation import expected_rating
from tasks.judge.form import rating_form
from tasks.models.scales import TEN, TENTHS

FORM = rating_form("rating", TEN)


def at(token: str, **top: float) -> dict[str, Any]:
    """One place: the token taken, and probabilities by token (``t7`` is "7")."""
    chances = {name.removeprefix("t").replace("space", " "): chance for name, chance in top.items()}
    return {"token": token, "logprob": math.log(chances.get(token, 1.0)),
            "top": {name: math.log(chance) for name, chance in chances.items()}}


def after_label(*places: dict[str, Any]) -> list[dict[str, Any]]:
    """An answer ``{"rating": N}`` whose number begins at the first of the places."""
    return [at('{"'), at("rating"), at('":'), at(" "), *places, at("}")]


def test_probabilities_are_averaged_over_the_scale() -> None:
    parsed = expected_rating(after_label(at("3", t3=0.5, t4=0.3, t5=0.2)), FORM)
    assert parsed.scores == {"overall": pytest.approx(3 * 0.5 + 4 * 0.3 + 5 * 0.2)}
    assert parsed.flags == []


def test_what_is_not_on_the_scale_is_normalised_away() -> None:
    parsed = expected_rating(after_label(at("3", t3=0.45, t0=0.3, t5=0.15, N=0.1)), FORM)
    assert parsed.scores["overall"] == pytest.approx((3 * 0.45 + 5 * 0.15) / 0.6)
    assert "low_mass" in parsed.flags


def test_spellings_of_one_value_are_summed() -> None:
    top = {"7": math.log(0.4), " 7": math.log(0.4), "3": math.log(0.2)}
    place = {"token": "7", "logprob": math.log(0.4), "top": top}
    assert expected_rating(after_label(place), FORM).scores["overall"] == pytest.approx(7 * 0.8 + 3 * 0.2)


def test_ten_in_one_token() -> None:
    parsed = expected_rating(after_label(at("10", t10=0.6, t1=0.1, t9=0.3)), FORM)
    assert parsed.scores["overall"] == pytest.approx(10 * 0.6 + 1 * 0.1 + 9 * 0.3)
    assert parsed.flags == []


def test_ten_in_two_tokens_is_divided_by_the_next_place() -> None:
    logprobs = after_label(at("1", t1=0.5, t2=0.5), at("0", t0=0.8, **{"}": 0.2}))
    # Half is "1...": of it 0.8 goes on to 10 and 0.2 stays 1.
    assert expected_rating(logprobs, FORM).scores["overall"] == pytest.approx(10 * 0.4 + 1 * 0.1 + 2 * 0.5)


def test_digits_that_leave_the_scale_are_left_out() -> None:
    logprobs = after_label(at("1", t1=0.5, t2=0.5), at("}", t0=0.2, t5=0.4, **{"}": 0.4}))
    assert expected_rating(logprobs, FORM).scores["overall"] == pytest.approx((10 * 0.1 + 1 * 0.2 + 2 * 0.5) / 0.8)


def test_an_unresolved_prefix_is_left_out_and_flagged() -> None:
    parsed = expected_rating(after_label(at("8", t1=0.2, t8=0.8)), FORM)
    assert parsed.scores["overall"] == pytest.approx(8)
    assert "prefix_unresolved" in parsed.flags


def test_bare_numbers_and_fenced_answers_have_a_place_too() -> None:
    assert expected_rating([at("6", t6=0.9, t7=0.1)], FORM).scores["overall"] == pytest.approx(6.1)
    fenced = [at("```"), at("json"), at("\n"), *after_label(at("6", t6=1.0)), at("\n```")]
    assert expected_rating(fenced, FORM).scores["overall"] == pytest.approx(6)


@pytest.mark.parametrize(("logprobs", "why"), [
    (None, "no_logprobs"),
    ([], "no_logprobs"),
    ([at("The"), at(" paper")], "little_rating_mass"),
    (after_label(at("N", N=0.95, t3=0.05)), "little_rating_mass"),
    ([at('{"score": 3}')], "little_rating_mass"),
    ([at('"rating": '), at("3", t3=1.0), at(', "rating": '), at("5", t5=1.0)], "no_rating_token"),
    ([at('{"rating": ')], "no_rating_token"),
])
def test_without_enough_mass_on_the_scale_there_is_no_score(logprobs: list[dict[str, Any]] | None, why: str) -> None:
    parsed = expected_rating(logprobs, FORM)
    assert (parsed.outcome, parsed.reason, parsed.scores) == (Outcome.unparsable, why, {})


def test_scales_with_fractions_are_refused() -> None:
    with pytest.raises(ValueError, match="whole numbers"):
        expected_rating([at("6", t6=1.0)], rating_form("tenths", TENTHS))


@given(st.lists(st.floats(0.01, 1.0), min_size=10, max_size=10))
def test_the_expectation_is_the_mean_of_the_given_distribution(weights: list[float]) -> None:
    total = sum(weights)
    chances = {f"t{value}": weight / total for value, weight in enumerate(weights, start=1)}
    parsed = expected_rating(after_label(at("5", **chances)), FORM)
    mean = sum(value * weight / total for value, weight in enumerate(weights, start=1))
    assert parsed.scores["overall"] == pytest.approx(mean, abs=1e-6)
