"""From draws to a 95 % interval: bootstrap-t, BCa, percentile, jackknife-t, the F interval of ICC(A,1), Wilson, t.

Which one a metric has by default is in ``DEFAULT_METHODS``; it was chosen by coverage measured in
``tests/benchmarks/bench_coverage.py`` (percentile intervals cover only 0.87-0.92 for the drift SD, 0.88-0.95 for SPR).
Every function takes care of what is degenerate: no NaN leaves this module.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats

from storage.results import Estimate
from tasks.metrics.bootstrap import leave_one_out
from tasks.metrics.fast import Kernel
from tasks.metrics.grid import Floats, Point
from tasks.metrics.robust import MeanSquares, icc_denominator

LEVEL = 0.95
DEFAULT_METHODS: dict[str, str] = {
    "mad": "bootstrap_t", "drift_sd": "bootstrap_t", "spr": "bootstrap_t", "human_mae": "bootstrap_t",
    "human_mae_isotonic": "bootstrap_t", "excess_mad": "bootstrap_t", "icc_a1": "f", "icc_a1_cluster": "jackknife_t",
    "discriminability": "bca_t", "human_spearman": "bca_t",
}
_NORMAL = float(stats.norm.ppf((1 + LEVEL) / 2))
UNUSABLE_SHARE = 0.01
"""With more undefined draws than this share, bootstrap-t gives way to BCa, and the estimate is flagged."""
ONE_FAMILY = "one family: nothing to resample"
DEGENERATE = "degenerate: every draw gives the same value"


@dataclass(frozen=True)
class Interval:
    """Two limits, or the reason why there are none."""

    low: float | None
    high: float | None
    method: str | None
    reason: str | None = None
    flags: tuple[str, ...] = ()
    standard_error: float | None = None


def _scale(name: str) -> tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]:
    """A transformation that makes the estimate's distribution more even, and its inverse."""
    if name == "log":
        return np.log, np.exp
    if name == "logit":
        return (lambda p: np.log(p) - np.log1p(-p)), (lambda z: 1 / (1 + np.exp(-z)))
    if name.startswith("fisher:"):
        k = int(name.split(":")[1])
        # For k = 2 this is artanh; for an ICC of k settings it is Fisher's transformation of that ICC.
        return ((lambda r: 0.5 * (np.log1p((k - 1) * r) - np.log1p(-r))),
                (lambda z: np.expm1(2 * z) / (np.exp(2 * z) + k - 1)))
    return (lambda x: x), (lambda z: z)


def interval(kernel: Kernel, weights: Floats, method: str, drawn: Floats | None = None) -> Interval:
    """The interval of a kernel's value over cluster-bootstrap draws of families.

    Args:
        kernel: The metric, defined on the families as they are.
        weights: Draws x families (counts).
        method: ``percentile``, ``bca``, ``bca_t`` (BCa with its normal quantile widened as a t interval of so many
            families would be), ``bootstrap_t`` or ``jackknife_t``.
        drawn: The kernel's values on ``weights``, when they are there already.
    """
    families = int(kernel.used.sum())
    if families < 2:
        return Interval(None, None, None, ONE_FAMILY)
    ones = np.ones((1, weights.shape[1]))
    point = float(kernel.value(ones)[0])
    drawn = kernel.value(weights) if drawn is None else drawn
    usable = drawn[~np.isnan(drawn)]
    if math.isnan(point) or usable.size < drawn.size / 2:
        return Interval(None, None, None, "undefined in over half of the draws")
    flags = () if usable.size >= (1 - UNUSABLE_SHARE) * drawn.size else ("undefined_draws",)
    if np.ptp(usable) <= 1e-12 * max(1.0, abs(point)) and abs(usable[0] - point) <= 1e-12 * max(1.0, abs(point)):
        return Interval(point, point, method, DEGENERATE, (*flags, "degenerate"), 0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        limits = _limits(kernel, weights, method, point, drawn)
        if limits is None and not method.startswith("bca"):
            method, flags = "bca", (*flags, "bca_instead")
            limits = _bca(point, usable, kernel, _NORMAL)
        if limits is None:
            method, limits = "percentile", _quantiles(usable, LEVEL)
    return Interval(limits[0], limits[1], method, None, flags, float(usable.std(ddof=1)))


def _limits(kernel: Kernel, weights: Floats, method: str, point: float, drawn: Floats) -> tuple[float, float] | None:
    usable = drawn[~np.isnan(drawn)]
    if method == "percentile":
        return _quantiles(usable, LEVEL)
    if method == "bca":
        return _bca(point, usable, kernel, _NORMAL)
    if method == "bca_t":
        n = int(kernel.used.sum())
        return _bca(point, usable, kernel, math.sqrt(n / (n - 1)) * float(stats.t.ppf((1 + LEVEL) / 2, n - 1)))
    if method == "bootstrap_t":
        return _bootstrap_t(kernel, weights, point, drawn)
    if method == "jackknife_t":
        return _jackknife_t(kernel, point)
    raise ValueError(f"unknown interval method {method!r}")


def _quantiles(values: Floats, level: float) -> tuple[float, float]:
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _finite(low: float, high: float) -> tuple[float, float] | None:
    return (float(low), float(high)) if math.isfinite(low) and math.isfinite(high) else None


def _bca(point: float, usable: Floats, kernel: Kernel, z: float) -> tuple[float, float] | None:
    """Bias-corrected and accelerated percentile limits (Efron 1987); draws equal to the estimate count one half.

    ``z`` is the quantile: the normal one, or a wider one that makes up for the bootstrap's narrowness in small samples
    (Hesterberg 2015, the expanded percentile).
    """
    below = (np.sum(usable < point - 1e-12) + np.sum(usable <= point + 1e-12)) / 2 / usable.size
    left_out = kernel.value(leave_one_out(kernel.used))
    left_out = left_out[~np.isnan(left_out)]
    if not 0 < below < 1 or left_out.size < 2:
        return None
    bias = stats.norm.ppf(below)
    deviation = left_out.mean() - left_out
    spread = float(np.sum(deviation**2))
    acceleration = float(np.sum(deviation**3)) / (6 * spread**1.5) if spread > 0 else 0.0
    shares = [stats.norm.cdf(bias + (bias + s) / (1 - acceleration * (bias + s))) for s in (-z, z)]
    low, high = np.quantile(usable, shares)
    return _finite(low, high)


def _bootstrap_t(kernel: Kernel, weights: Floats, point: float, drawn: Floats) -> tuple[float, float] | None:
    """Studentised limits on the kernel's scale; None when a standard error is lacking in too many draws."""
    forward, back = _scale(kernel.scale)
    error = float(kernel.standard_errors(np.ones((1, weights.shape[1])))[0])
    centre = float(forward(np.asarray(point)))
    studentised = (forward(drawn) - centre) / kernel.standard_errors(weights)
    usable = studentised[np.isfinite(studentised)]
    if not (math.isfinite(centre) and math.isfinite(error)) or error <= 0:
        return None
    if usable.size < (1 - UNUSABLE_SHARE) * drawn.size:
        return None
    low, high = _quantiles(usable, LEVEL)
    return _finite(float(back(np.asarray(centre - high * error))), float(back(np.asarray(centre - low * error))))


def _jackknife_t(kernel: Kernel, point: float) -> tuple[float, float] | None:
    """Student limits from jackknife pseudo-values on the kernel's scale (Arvesen 1969)."""
    forward, back = _scale(kernel.scale)
    centre = float(forward(np.asarray(point)))
    left_out = forward(kernel.value(leave_one_out(kernel.used)))
    n = left_out.size
    error = math.sqrt(float(np.sum((left_out - left_out.mean()) ** 2)) * (n - 1) / n)
    reach = float(stats.t.ppf((1 + LEVEL) / 2, n - 1)) * error
    return _finite(float(back(np.asarray(centre - reach))), float(back(np.asarray(centre + reach))))


def icc_f_interval(ms: MeanSquares) -> Interval:
    """The F interval of ICC(A,1) by McGraw & Wong (1996, table 7, case 2A), with Satterthwaite degrees of freedom."""
    n, k = ms.n, ms.k
    if icc_denominator(ms) == 0:
        return Interval(None, None, None, "no variance: every score is the same")
    if ms.error == 0 or ms.rows == 0:
        return Interval(None, None, None, f"no {'residual' if ms.error == 0 else 'family'} variance: no F interval")
    icc = (ms.rows - ms.error) / icc_denominator(ms)
    ratio = ms.columns / ms.error
    rest = n * (1 + (k - 1) * icc) - k * icc
    bottom = (n - 1) * k**2 * icc**2 * ratio**2 + rest**2
    freedom = (n - 1) * (k - 1) * (k * icc * ratio + rest) ** 2 / bottom if bottom > 0 else 0.0
    if freedom <= 0:
        return Interval(None, None, None, "no degrees of freedom for the F interval")
    upper_f = float(stats.f.ppf((1 + LEVEL) / 2, n - 1, freedom))
    lower_f = float(stats.f.ppf((1 + LEVEL) / 2, freedom, n - 1))
    spread = k * ms.columns + (k * n - k - n) * ms.error
    low = n * (ms.rows - upper_f * ms.error) / (upper_f * spread + n * ms.rows)
    high = n * (lower_f * ms.rows - ms.error) / (spread + n * lower_f * ms.rows)
    limits = _finite(low, high)
    return Interval(*limits, "f") if limits else Interval(None, None, None, "the F interval is not finite")


def mean_t_interval(values: Floats) -> Interval:
    """Student interval of the mean of one value a family: the cluster interval when each cluster has one value."""
    n = values.size
    if n < 2:
        return Interval(None, None, None, ONE_FAMILY)
    mean, error = float(values.mean()), float(stats.sem(values - values[0]))
    if error == 0:
        return Interval(mean, mean, "t", "degenerate: every family has the same value", ("degenerate",))
    reach = float(stats.t.ppf((1 + LEVEL) / 2, n - 1)) * error
    return Interval(mean - reach, mean + reach, "t")


def drawn_interval(drawn: Floats) -> Interval:
    """Percentile limits straight from draws: for differences and averages of what was drawn together."""
    usable = drawn[~np.isnan(drawn)]
    if usable.size < 2 or usable.size < drawn.size / 2:
        return Interval(None, None, None, "undefined in over half of the draws")
    low, high = _quantiles(usable, LEVEL)
    if np.ptp(usable) <= 1e-12:
        return Interval(low, high, "percentile", DEGENERATE, ("degenerate",), 0.0)
    return Interval(low, high, "percentile", None, (), float(usable.std(ddof=1)))


def wilson(successes: int, trials: int) -> Interval:
    """Wilson's score interval of a share; none without trials."""
    if trials == 0:
        return Interval(None, None, None, "no trials")
    z = float(stats.norm.ppf((1 + LEVEL) / 2))
    share, bottom = successes / trials, 1 + z**2 / trials
    centre = share + z**2 / (2 * trials)
    reach = z * math.sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2))
    low = 0.0 if successes == 0 else (centre - reach) / bottom
    return Interval(low, 1.0 if successes == trials else (centre + reach) / bottom, "wilson")


def estimate(point: Point, limits: Interval | None = None) -> Estimate:
    """A point and its interval as one record."""
    if point.value is None or limits is None:
        return Estimate(value=point.value, n=point.n, reason=point.reason, flags=list(point.flags))
    return Estimate(
        value=point.value, low=limits.low, high=limits.high, n=point.n, reason=point.reason, method=limits.method,
        flags=[*point.flags, *limits.flags], interval_reason=limits.reason, standard_error=limits.standard_error,
    )
