"""Scales: legal values, nearest values, and the schema that asks for them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tasks.models.scales import FOUR, ICLR, TEN, TENTHS, Scale

SCALES = (ICLR, TEN, TENTHS, FOUR)


def test_the_points_of_each_kind() -> None:
    assert ICLR.points.tolist() == [1, 3, 5, 6, 8, 10]
    assert TEN.points.tolist() == list(range(1, 11))
    assert len(TENTHS.points) == 91
    assert ICLR.bounds == (1, 10)
    assert [scale.whole for scale in SCALES] == [True, True, False, True]


@pytest.mark.parametrize(("value", "near"), [(1.9, 1), (2.0, 3), (5.4, 5), (5.5, 6), (7.0, 8), (99, 10), (-5, 1)])
def test_the_nearest_legal_value_halfway_goes_up(value: float, near: float) -> None:
    assert ICLR.snap(np.array([value])).tolist() == [near]


@given(st.sampled_from(SCALES), st.floats(-20, 20))
def test_snapping_gives_a_legal_value_and_keeps_legal_ones(scale: Scale, value: float) -> None:
    snapped = scale.snap(np.array([value]))
    assert scale.contains(float(snapped[0]))
    assert scale.snap(snapped).tolist() == snapped.tolist()
    assert abs(snapped[0] - value) <= np.min(np.abs(scale.points - value)) + 1e-9


def test_what_is_no_number_is_on_no_scale() -> None:
    assert not TEN.contains(float("nan"))
    assert not TEN.contains(float("inf"))
    assert TENTHS.contains(7.3)
    assert not TENTHS.contains(7.35)


def test_scales_are_said_in_words() -> None:
    assert ICLR.words() == "one of 1, 3, 5, 6, 8 and 10"
    assert TEN.words() == "a whole number from 1 to 10"
    assert TENTHS.words() == "a number in steps of 0.1 from 1 to 10"


@pytest.mark.parametrize("wrong", [{"values": (3, 1)}, {"values": (1,)}, {"low": 5, "high": 5}, {"step": 0}])
def test_scales_that_are_none_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match="scale x"):
        Scale.model_validate({"name": "x"} | wrong)
