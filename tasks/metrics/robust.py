"""The seven metrics of RobustReview as point estimates, by their definitions.

Undefined is ``value=None`` with a reason; nothing is clipped and missing cells are left out, never filled. What a
bootstrap draw gives is ``fast.py``; intervals are ``intervals.py``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import optimize, stats

from tasks.metrics.comparisons import comparison_sums
from tasks.metrics.grid import Floats, Point, complete_rows

NO_PAIRS = "no family has a score for the original and for a variant"
FEW_FAMILIES = "fewer than two families with a score under every setting"
NO_VARIANCE = "no variance: every score is the same"
ONE_SETTING = "only one setting was scored"
NO_HUMAN = "no family has both a score and a human score"
FEW = 5
"""Under this many families or pairs an estimate carries the flag ``few``."""


class MeanSquares(NamedTuple):
    """The two-way layout without replication: families (rows), settings (columns), residual."""

    rows: float
    columns: float
    error: float
    n: int
    k: int


def shifts(y: Floats) -> Floats:
    """d[i, k] = y[i, k] - y[i, 0], NaN where either is missing (shape: families x variants)."""
    return np.asarray(y[:, 1:] - y[:, :1])


def _pairs(y: Floats) -> Floats:
    d = shifts(y)
    return np.asarray(d[~np.isnan(d)])


def _few(n: int) -> tuple[str, ...]:
    return ("few",) if n < FEW else ()


def mad(y: Floats) -> Point:
    """Mean absolute drift over all observed pairs; ``n`` counts pairs."""
    d = _pairs(y)
    return Point(float(np.abs(d).mean()), d.size) if d.size else Point(None, 0, NO_PAIRS)


def drift_sd(y: Floats) -> Point:
    """Population SD (ddof 0) of the pooled shifts, condition means included; ``n`` counts pairs."""
    d = _pairs(y)
    if not d.size:
        return Point(None, 0, NO_PAIRS)
    # Centred on an element, so that shifts that are all equal give exactly 0.
    return Point(float(np.std(d - d[0])), d.size)


def spr(y: Floats) -> Point:
    """Signal-preservation ratio V / (V + D); 0 when both are 0. ``n`` counts families with at least one pair."""
    d = shifts(y)
    paired = (~np.isnan(d)).any(axis=1)
    n = int(paired.sum())
    if n == 0:
        return Point(None, 0, NO_PAIRS)
    first = y[paired, 0]
    variance = float(np.var(first - first[0]))
    drift = float(np.mean(d[~np.isnan(d)] ** 2))
    total = variance + drift
    return Point(variance / total if total > 0 else 0.0, n, flags=_few(n))


def mean_squares(complete: Floats) -> MeanSquares:
    """ANOVA mean squares of a complete matrix (families x settings; at least 2 x 2).

    What is only rounding error (under 1e-12 of the spread of the scores) is 0, so that perfect agreement is exactly 1.
    """
    n, k = complete.shape
    z = complete - complete[0, 0]
    grand = z.mean()
    rows, columns = z.mean(axis=1), z.mean(axis=0)
    residual = z - rows[:, None] - columns[None, :] + grand
    square = (
        k * float(np.sum((rows - grand) ** 2)) / (n - 1),
        n * float(np.sum((columns - grand) ** 2)) / (k - 1),
        float(np.sum(residual**2)) / ((n - 1) * (k - 1)),
    )
    floor = (1e-12 * float(np.ptp(z))) ** 2
    msr, msc, mse = (0.0 if value <= floor else value for value in square)
    return MeanSquares(msr, msc, mse, n, k)


def _complete(y: Floats) -> Floats | str:
    """The complete families, or why there are none to work with."""
    if y.shape[1] < 2:
        return ONE_SETTING
    rows = y[complete_rows(y)]
    return rows if rows.shape[0] >= 2 else FEW_FAMILIES


def icc_a1(y: Floats) -> Point:
    """ICC(A,1): two-way, absolute agreement, single measure (McGraw & Wong 1996), on complete families.

    Null when the denominator is 0; may be negative. ``n`` counts complete families.
    """
    rows = _complete(y)
    if isinstance(rows, str):
        return Point(None, int(complete_rows(y).sum()), rows)
    ms = mean_squares(rows)
    denominator = icc_denominator(ms)
    if denominator == 0:
        return Point(None, ms.n, NO_VARIANCE)
    return Point((ms.rows - ms.error) / denominator, ms.n, flags=_few(ms.n))


def icc_denominator(ms: MeanSquares) -> float:
    """MSR + (k - 1) MSE + k/n (MSC - MSE), 0 when it is only rounding error."""
    terms = (ms.rows, (ms.k - 1) * ms.error, ms.k / ms.n * ms.columns, -ms.k / ms.n * ms.error)
    total = sum(terms)
    return 0.0 if abs(total) <= 1e-12 * max(map(abs, terms)) else total


def discriminability(y: Floats) -> Point:
    """Discriminability (Bridgeford et al. 2021) on complete families; ties count one half; 0.5 is chance."""
    rows = _complete(y)
    if isinstance(rows, str):
        return Point(None, int(complete_rows(y).sum()), rows)
    n, k = rows.shape
    total = float(comparison_sums(rows).sum())
    return Point(total / (n * (n - 1) * k * k * (k - 1)), n, flags=_few(n))


def _with_human(y: Floats, human: Floats) -> tuple[Floats, Floats]:
    both = ~np.isnan(y[:, 0]) & ~np.isnan(human)
    return y[both, 0], human[both]


def human_mae(y: Floats, human: Floats) -> Point:
    """Mean |y[i, 0] - h[i]| over families that have both."""
    first, target = _with_human(y, human)
    n = first.size
    return Point(float(np.abs(first - target).mean()), n, flags=_few(n)) if n else Point(None, 0, NO_HUMAN)


def human_spearman(y: Floats, human: Floats) -> Point:
    """Spearman's rho (average ranks) between y[i, 0] and h[i]; null for a constant side or under 2 pairs."""
    first, target = _with_human(y, human)
    if first.size == 0:
        return Point(None, 0, NO_HUMAN)
    return spearman(first, target)


def spearman(first: Floats, second: Floats) -> Point:
    """Spearman's rho of two complete vectors, by average ranks, with the reason when it is undefined."""
    n = first.size
    if n < 2:
        return Point(None, n, "fewer than two pairs")
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return Point(None, n, "one side is constant")
    a, b = (stats.rankdata(side) - (n + 1) / 2 for side in (first, second))
    return Point(float(a @ b / np.sqrt((a @ a) * (b @ b))), n, flags=_few(n))


def isotonic_residuals(first: Floats, target: Floats) -> Floats:
    """|h[i] - f_i(y[i, 0])| with f_i the increasing map fitted to all other families (shape: families).

    Equal scores are pooled before the fit; between fitted scores the map is linear, beyond them it is flat.
    Needs at least three families.
    """
    residuals = np.empty(first.size)
    for i in range(first.size):
        others = np.arange(first.size) != i
        levels, inverse, counts = np.unique(first[others], return_inverse=True, return_counts=True)
        means = np.bincount(inverse, weights=target[others]) / counts
        fitted = optimize.isotonic_regression(means, weights=counts).x
        residuals[i] = abs(target[i] - np.interp(first[i], levels, fitted))
    return residuals


def human_residuals(y: Floats, human: Floats) -> Floats:
    """The leave-one-out residuals placed by family; NaN for families without score or human score."""
    both = ~np.isnan(y[:, 0]) & ~np.isnan(human)
    out = np.full(y.shape[0], np.nan)
    if both.sum() >= 3:
        out[both] = isotonic_residuals(y[both, 0], human[both])
    return out


def human_mae_isotonic(y: Floats, human: Floats) -> Point:
    """Human MAE after a leave-one-out isotonic map from the judge's scale to the human one."""
    residuals = human_residuals(y, human)
    used = residuals[~np.isnan(residuals)]
    if not used.size:
        return Point(None, 0, "fewer than three families with a score and a human score")
    return Point(float(used.mean()), used.size, flags=_few(used.size))
