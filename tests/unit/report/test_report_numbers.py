"""Numbers as text: fixed digits, a real minus, reasons for what is undefined."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.results import Estimate
from tasks.report import numbers


@pytest.mark.parametrize(
    ("value", "digits", "signed", "text"),
    [
        (0.724, 2, False, "0.72"),
        (-0.19, 2, False, "−0.19"),
        (0.4, 1, True, "+0.4"),
        (-0.001, 2, True, "0.00"),
        (1234567, 0, False, "1,234,567"),
        (None, 2, False, "–"),
        (math.nan, 2, False, "–"),
        (math.inf, 2, False, "–"),
    ],
)
def test_number(value: float | None, digits: int, signed: bool, text: str) -> None:
    assert numbers.number(value, digits, signed=signed) == text


@given(st.floats(), st.integers(0, 6), st.booleans())
def test_a_number_is_never_nan_nor_has_a_hyphen_for_minus(value: float, digits: int, signed: bool) -> None:
    text = numbers.number(value, digits, signed=signed)
    assert "nan" not in text and "inf" not in text and "-" not in text
    if text != numbers.NO_VALUE:
        back = float(text.replace("−", "-").replace(",", ""))
        assert back == pytest.approx(value, abs=0.51 * 10**-digits, rel=1e-12)


def test_an_undefined_estimate_says_why() -> None:
    found = Estimate(value=None, n=3, reason="constant_scores")
    assert numbers.with_interval(found) == "– (constant scores)"
    assert numbers.reason(found) == "Constant scores"
    assert numbers.reason(Estimate(value=None)) == "No reason was recorded"
    assert numbers.reason(Estimate(value=0.0)) == ""


def test_an_interval_without_ends_is_not_made_up() -> None:
    assert numbers.with_interval(Estimate(value=0.5, low=None, high=None)) == "0.50"
    assert numbers.with_interval(Estimate(value=0.5, low=-0.1, high=1.0)) == "0.50 [−0.10, 1.00]"


def test_money_and_time_and_lists() -> None:
    assert [numbers.money(value) for value in (None, 0.0, 0.004, 12.5)] == ["unknown", "$0.00", "< $0.01", "$12.50"]
    assert [numbers.duration(value) for value in (3.21, 214, 7400)] == ["3.2 s", "3 min 34 s", "2 h 03 min"]
    assert [numbers.listed(names) for names in ([], ["a"], ["a", "b"], list("abcde"))] == [
        "",
        "a",
        "a and b",
        "a, b, c and 2 more",
    ]
