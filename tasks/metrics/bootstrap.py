"""Resampling of families, and what is decided from paired draws: p-values, Holm, power.

Weights only: ``weights[b, i]`` says how often family i is in draw b. What a metric makes of them is ``fast.py``; how
draws become an interval is ``intervals.py``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import stats

from tasks.metrics.grid import Floats

DRAWS = 5_000
SEED = 42


def family_draws(families: int, draws: int = DRAWS, seed: int = SEED) -> Floats:
    """Cluster bootstrap: each row draws ``families`` families with replacement (shape: draws x families, counts)."""
    if families == 0:
        return np.zeros((draws, 0))
    generator = np.random.default_rng(seed)
    picks = generator.integers(0, families, size=(draws, families))
    picks += families * np.arange(draws)[:, None]
    return np.bincount(picks.ravel(), minlength=draws * families).reshape(draws, families).astype(float)


def leave_one_out(used: np.ndarray) -> Floats:
    """Weights of the jackknife: one row for each used family, which is left out of it."""
    return np.asarray(1.0 - np.eye(used.size)[used])


def two_sided_p(draws: Floats) -> float | None:
    """Bootstrap p-value of "the difference is 0": twice the smaller share of draws at or beyond 0, at most 1.

    One is added to both counts, so that B draws never claim less than 2 / (B + 1). None without a usable draw.
    """
    usable = draws[~np.isnan(draws)]
    if not usable.size:
        return None
    below, above = int(np.sum(usable <= 0)), int(np.sum(usable >= 0))
    return min(1.0, 2 * (min(below, above) + 1) / (usable.size + 1))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down correction over the p-values that are there; None stays None and is not counted."""
    present = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    out: list[float | None] = [None] * len(p_values)
    running = 0.0
    for rank, (p, i) in enumerate(present):
        running = max(running, min(1.0, p * (len(present) - rank)))
        out[i] = running
    return out


def families_needed(
    standard_error: float, families: int, difference: float, *, power: float = 0.8, alpha: float = 0.05,
) -> int | None:
    """How many families a two-sided test needs to see ``difference`` with probability ``power``.

    The standard error of a paired cluster bootstrap over ``families`` families shrinks with their square root
    (normal approximation). None when the difference or the standard error is 0.
    """
    if difference == 0 or standard_error <= 0 or families <= 0:
        return None
    quantiles = float(stats.norm.ppf(1 - alpha / 2) + stats.norm.ppf(power))
    return max(2, math.ceil(families * (quantiles * standard_error / difference) ** 2))


def detectable_difference(standard_error: float, *, power: float = 0.8, alpha: float = 0.05) -> float:
    """The smallest true difference that this many families show with probability ``power`` (normal approximation)."""
    return standard_error * float(stats.norm.ppf(1 - alpha / 2) + stats.norm.ppf(power))
