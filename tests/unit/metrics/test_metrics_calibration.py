"""Planted judges: closed forms against large simulations, and what is implied for families that are there."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.metrics import robust
from tasks.metrics.calibration import (
    Planted,
    gaussian_discriminability,
    gaussian_values,
    implied,
    implied_by_parts,
    independent_discriminability,
    quantiser,
)

SHIFTS = (0.0, 0.3, -0.2, 0.8, 0.1)


def test_closed_forms_are_what_a_large_simulation_gives() -> None:
    for shifts in (SHIFTS, (0.0,) * 5):
        planted = Planted(shifts=shifts, noise_sd=0.9)
        simulated, exact = planted.simulated(families=10_000, seed=3), gaussian_values(planted)
        for name, value in exact.items():
            assert simulated[name] == pytest.approx(value, abs=0.012), name
    with pytest.raises(ValueError, match="closed forms"):
        gaussian_values(Planted(scale=(1.0, 2.0)))


def test_discriminability_of_gaussian_scores() -> None:
    assert gaussian_discriminability(0.0) == pytest.approx(0.5) and gaussian_discriminability(1.0) == 1.0
    generator = np.random.default_rng(0)
    for icc in (0.2, 0.5, 0.8):
        own, other = generator.normal(size=(2, 400_000)) * np.sqrt(icc)
        noise = generator.normal(size=(3, 400_000)) * np.sqrt(1 - icc)
        share = np.mean(np.abs(noise[0] - noise[1]) < np.abs(own + noise[0] - other - noise[2]))
        assert gaussian_discriminability(icc) == pytest.approx(share, abs=0.003)
        assert 0 <= gaussian_discriminability(icc) - independent_discriminability(icc) < 0.007


def test_quantiser() -> None:
    snap = quantiser((1, 3, 5, 6, 8, 10))
    scores = np.array([-4.0, 1.9, 2.0, 2.1, 5.49, 5.51, 7.0, 40.0, np.nan])
    assert np.array_equal(snap(scores), [1, 1, 1, 3, 5, 6, 6, 10, np.nan], equal_nan=True)
    assert quantiser(None)(scores) is scores


def test_implied_values_for_given_families() -> None:
    latents = np.array([3.0, 5.0, 7.0, 4.0])
    exact = implied_by_parts(latents, np.array([0.0, 1.0, 0.0]), 0.0, human=latents)
    assert exact["mad"] == 0.5 and exact["human_mae"] == 0.0 and exact["human_spearman"] == pytest.approx(1.0)
    y = latents[:, None] + np.array([0.0, 1.0, 0.0])
    assert exact["icc_a1"] == pytest.approx(robust.icc_a1(y).value)
    expected = y.copy()
    expected[1, 2] = np.nan
    noisy = implied(expected, 0.8, (1, 3, 5, 6, 8, 10), replicates=300, seed=1)
    assert noisy == implied(expected, 0.8, quantiser((1, 3, 5, 6, 8, 10)), replicates=300, seed=1)
    assert noisy["mad"] is not None and noisy["mad"] > 0.5 and "human_mae" not in noisy
    constant = implied(np.full((3, 3), 5.0), 0.0, (1, 5))
    assert constant["icc_a1"] is None and constant["discriminability"] == 0.5


def test_implied_mad_of_gaussian_noise() -> None:
    """Mean |N(0, 2 sd^2)| = 2 sd / sqrt(pi)."""
    found = implied(np.full((40, 6), 5.0), 0.7, replicates=400)
    assert found["mad"] == pytest.approx(2 * 0.7 / np.sqrt(np.pi), rel=0.02)
