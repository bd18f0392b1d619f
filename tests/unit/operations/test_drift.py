"""Drift between two nights: what is an alarm, what is noise, and that the level holds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.metrics.drift import drift, fewest, sign_flip_p

ITEMS = [f"item-{place}" for place in range(16)]


def _night(
    rng: np.random.Generator, judges: int = 6, shift: float = 0.0, noise: float = 0.5
) -> dict[str, dict[str, float]]:
    return {
        f"judge-{judge}": {
            item: round(5 + place % 4 + rng.normal(0, noise) + (shift if judge == 2 else 0), 2)
            for place, item in enumerate(ITEMS)
        }
        for judge in range(judges)
    }


def test_a_judge_that_moved_is_named_with_its_effect() -> None:
    rng = np.random.default_rng(1)
    found = drift(_night(rng), _night(rng, shift=1.0), level=0.005)
    assert [entry.configuration for entry in found if entry.is_alarm] == ["judge-2"]
    moved = found[2]
    assert moved.effect == pytest.approx(1.0, abs=0.45)
    assert moved.low is not None and moved.high is not None and moved.low < moved.effect < moved.high


def test_twenty_nights_without_change_raise_no_alarm() -> None:
    rng = np.random.default_rng(20261130)
    nights = [_night(rng, judges=30) for _ in range(21)]
    alarms = [e for pair in itertools.pairwise(nights) for e in drift(*pair, level=0.005) if e.is_alarm]
    assert alarms == []


def test_the_level_holds_over_many_nights() -> None:
    """At level 0.05 at most about 5 % of 400 quiet nights raise an alarm over eight judges."""
    rng = np.random.default_rng(7)
    nights = 400
    bad = sum(
        any(entry.is_alarm for entry in drift(_night(rng, 8), _night(rng, 8), level=0.05, seed=night))
        for night in range(nights)
    )
    assert bad <= 35, "more than chance allows once in a thousand times"


def test_a_judge_without_noise_that_moves_at_all_is_an_alarm() -> None:
    before = {"sure": dict.fromkeys(ITEMS, 6.0)}
    after = {"sure": dict.fromkeys(ITEMS, 5.0)}
    found = drift(before, after, level=0.005)[0]
    assert found.is_alarm and found.effect == -1.0 and (found.low, found.high) == (-1.0, -1.0)
    assert not drift(before, before, level=0.005)[0].is_alarm


def test_few_items_and_new_judges_have_a_reason_and_no_alarm() -> None:
    few = dict.fromkeys(ITEMS[: fewest(0.05, 2) - 1], 5.0)
    found = drift({"few": few}, {"few": {item: 9.0 for item in few}, "new": dict.fromkeys(ITEMS, 1.0)}, level=0.05)
    assert [(e.is_alarm, e.p) for e in found] == [(False, None), (False, None)]
    assert "are needed" in (found[0].reason or "") and "not asked" in (found[1].reason or "")


def test_the_fewest_items_can_just_raise_an_alarm() -> None:
    for judges in (1, 2, 30):
        n = fewest(0.005, judges)
        night = {f"judge-{place}": dict.fromkeys(ITEMS[:n], 5.0) for place in range(judges)}
        assert any(e.is_alarm for e in drift(night, night | {"judge-0": dict.fromkeys(ITEMS[:n], 6.0)}, level=0.005))
        assert 2.0 ** (2 - n) * judges > 0.005, "with one item less no pattern of signs is rare enough"


@given(st.lists(st.floats(-5, 5, allow_nan=False), min_size=1, max_size=10))
def test_p_is_a_probability_and_knows_no_direction(values: list[float]) -> None:
    differences = np.array(values)
    p = sign_flip_p(differences)
    assert 0 < p <= 1
    assert p == pytest.approx(sign_flip_p(-differences))
