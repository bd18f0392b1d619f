"""The exact fast forms: each metric as a function of family weights.

``weights[b, i]`` says how often family i is in draw b; a kernel gives one value for each draw, NaN where that draw
leaves the metric undefined. No approximation: the same numbers as the definitions on the resampled families, by matrix
products. Discriminability never compares a family with a copy of itself. Definitions and reasons are ``robust.py``,
intervals ``intervals.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tasks.metrics.comparisons import comparison_sums
from tasks.metrics.grid import Floats, complete_rows

Value = Callable[[Floats], Floats]
Gradient = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Kernel:
    """A metric as a function of weights (draws x families).

    ``used`` marks the families that enter it. ``moments`` and ``gradient`` are there for metrics that are smooth
    functions of means of per-family parts: the gradient is that of the value on the scale named by ``scale``.
    """

    value: Value
    used: NDArray[np.bool_]
    scale: str = "identity"
    moments: Floats | None = None
    gradient: Gradient | None = None

    def standard_errors(self, weights: Floats) -> Floats:
        """Delta-method standard error of each draw on the kernel's scale, clustered by family (shape: draws)."""
        if self.moments is None or self.gradient is None:
            raise ValueError("this kernel has no moments to take a standard error from")
        n, m = weights.sum(axis=1, keepdims=True), self.moments.shape[1]
        mean = weights @ self.moments / n
        upper = np.triu_indices(m)
        products = weights @ (self.moments[:, upper[0]] * self.moments[:, upper[1]]) / n
        covariance = products - mean[:, upper[0]] * mean[:, upper[1]]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            slope = self.gradient(mean)
            twice = np.where(upper[0] == upper[1], 1.0, 2.0)
            variance = (slope[:, upper[0]] * slope[:, upper[1]] * covariance * twice).sum(axis=1)
        return np.sqrt(np.maximum(variance, 0.0) / n[:, 0])


def divide(top: Floats, bottom: Floats) -> Floats:
    """The quotient, NaN where bottom is 0."""
    return np.divide(top, bottom, out=np.full(np.broadcast(top, bottom).shape, np.nan), where=bottom != 0)


def _variance(count: Floats, total: Floats, squares: Floats) -> Floats:
    """Population variance from sums; what is only rounding error is 0."""
    mean_square = divide(squares, count)
    variance = mean_square - divide(total, count) ** 2
    return np.where(variance <= 1e-14 * mean_square, 0.0, variance)


def ratio_kernel(top: Floats, bottom: Floats, scale: str = "log") -> Kernel:
    """Kernel of sum(top) / sum(bottom) over families; with bottom = 1 where seen, a plain mean."""
    parts = np.stack([bottom, top], axis=1)

    def value(weights: Floats) -> Floats:
        sums = weights @ parts
        return divide(sums[:, 1], sums[:, 0])

    def gradient(mean: Floats) -> Floats:
        if scale == "log":
            return np.stack([-1 / mean[:, 0], 1 / mean[:, 1]], axis=1)
        return np.stack([-mean[:, 1] / mean[:, 0] ** 2, 1 / mean[:, 0]], axis=1)

    return Kernel(value, bottom > 0, scale, parts, gradient)


def mean_kernel(values: Floats, scale: str = "log") -> Kernel:
    """Kernel of the mean of one value for each family (NaN where a family has none)."""
    seen = ~np.isnan(values)
    return ratio_kernel(np.where(seen, values, 0.0), seen.astype(float), scale)


def _shifts(y: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    d = y[:, 1:] - y[:, :1]
    return np.asarray(d), ~np.isnan(d)


def mad_kernel(y: Floats) -> Kernel:
    """Kernel of the mean absolute drift."""
    d, seen = _shifts(y)
    return ratio_kernel(np.abs(np.where(seen, d, 0.0)).sum(axis=1), seen.sum(axis=1).astype(float))


def drift_sd_kernel(y: Floats) -> Kernel:
    """Kernel of the pooled population SD of the shifts."""
    d, seen = _shifts(y)
    # Centring keeps sums of squares free of cancellation; on a median, equal values stay exactly 0.
    offset = np.where(seen, d - (float(np.median(d[seen])) if seen.any() else 0.0), 0.0)
    parts = np.stack([seen.sum(axis=1).astype(float), offset.sum(axis=1), (offset**2).sum(axis=1)], axis=1)

    def value(weights: Floats) -> Floats:
        return np.sqrt(_variance(*(weights @ parts).T))

    def gradient(mean: Floats) -> Floats:
        count, total, squares = mean.T
        slope = np.stack([-squares / count**2 + 2 * total**2 / count**3, -2 * total / count**2, 1 / count], axis=1)
        return np.asarray(slope / (2 * _variance(count, total, squares))[:, None])

    return Kernel(value, np.asarray(seen.any(axis=1)), "log", parts, gradient)


def spr_kernel(y: Floats) -> Kernel:
    """Kernel of V / (V + D); its logit is log V - log D."""
    d, seen = _shifts(y)
    paired = np.asarray(seen.any(axis=1))
    centre = float(np.median(y[paired, 0])) if paired.any() else 0.0
    first = np.where(paired, y[:, 0] - centre, 0.0)
    parts = np.stack(
        [seen.sum(axis=1).astype(float), (np.where(seen, d, 0.0) ** 2).sum(axis=1), paired.astype(float), first,
         first**2], axis=1)

    def value(weights: Floats) -> Floats:
        count, squares, families, total, total_squares = (weights @ parts).T
        variance, drift = _variance(families, total, total_squares), divide(squares, count)
        both = variance + drift
        return np.where(both == 0, 0.0, divide(variance, both))

    def gradient(mean: Floats) -> Floats:
        count, squares, families, total, total_squares = mean.T
        variance = _variance(families, total, total_squares)
        return np.stack(
            [1 / count, -1 / squares, (-total_squares / families**2 + 2 * total**2 / families**3) / variance,
             -2 * total / families**2 / variance, 1 / families / variance], axis=1)

    return Kernel(value, paired, "logit", parts, gradient)


def icc_kernel(y: Floats) -> Kernel:
    """Kernel of ICC(A,1): per-family sums and weighted column sums give the three mean squares of every draw."""
    complete, k = complete_rows(y), y.shape[1]
    centre = float(np.median(y[complete])) if complete.any() else 0.0
    z = np.where(complete[:, None], y - centre, 0.0)
    row = z.mean(axis=1)
    parts = np.concatenate([complete[:, None], row[:, None], (row**2)[:, None], (z**2).sum(axis=1)[:, None], z], axis=1)

    def value(weights: Floats) -> Floats:
        sums = weights @ parts
        safe = np.maximum(sums[:, 0], 2.0)
        grand = sums[:, 1] / safe
        ssr = k * (sums[:, 2] - safe * grand**2)
        ssc = safe * ((sums[:, 4:] / safe[:, None] - grand[:, None]) ** 2).sum(axis=1)
        sse = sums[:, 3] - safe * k * grand**2 - ssr - ssc
        dust = 1e-13 * np.abs(sums[:, 3])
        ssr, ssc, sse = (np.where(part <= dust, 0.0, part) for part in (ssr, ssc, sse))
        msr, msc, mse = ssr / (safe - 1), ssc / max(k - 1, 1), sse / ((safe - 1) * max(k - 1, 1))
        bottom = msr + (k - 1) * mse + k / safe * (msc - mse)
        bottom = np.where(np.abs(bottom) <= 1e-12 * np.maximum(msr, np.maximum(msc, mse)), 0.0, bottom)
        return np.where((sums[:, 0] >= 2) & (k >= 2), divide(msr - mse, bottom), np.nan)

    return Kernel(value, complete, f"fisher:{k}")


def discriminability_kernel(y: Floats) -> Kernel:
    """Kernel of discriminability: w' S w over w' w without the diagonal; NaN for a draw of a single family."""
    complete, k = complete_rows(y), y.shape[1]
    size = int(complete.sum())
    sums = comparison_sums(y[complete]) if size >= 2 and k >= 2 else np.zeros((size, size))

    def value(weights: Floats) -> Floats:
        w = weights[:, complete]
        pairs = w.sum(axis=1) ** 2 - (w**2).sum(axis=1)
        return divide(((w @ sums) * w).sum(axis=1), pairs * (k * k * (k - 1)))

    return Kernel(value, complete, "logit")


def _weighted_ranks(values: Floats, weights: Floats) -> Floats:
    """Average ranks of each family's copies within each draw, less the mean rank (shape: draws x families)."""
    codes = stats.rankdata(values, method="dense").astype(int) - 1
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    level = np.add.reduceat(weights[:, order], starts, axis=1)
    middle = np.cumsum(level, axis=1) - level / 2
    return np.asarray((middle - weights.sum(axis=1, keepdims=True) / 2)[:, codes])


def spearman_kernel(first: Floats, second: Floats) -> Kernel:
    """Kernel of Spearman's rho over families where both sides are present; NaN for a draw with a constant side."""
    both = ~np.isnan(first) & ~np.isnan(second)

    def value(weights: Floats) -> Floats:
        w = weights[:, both]
        if not both.any():
            return np.full(weights.shape[0], np.nan)
        a, b = _weighted_ranks(first[both], w), _weighted_ranks(second[both], w)
        wa = w * a
        return divide((wa * b).sum(axis=1), np.sqrt((wa * a).sum(axis=1) * (w * b * b).sum(axis=1)))

    return Kernel(value, both, "fisher:2")


def excess_kernel(y: Floats, null: Floats) -> Kernel:
    """Kernel of MAD less the null arm's MAD, over families that have pairs of both kinds (paired by family)."""
    columns = []
    for grid in (y, null):
        d, seen = _shifts(grid)
        columns += [seen.sum(axis=1).astype(float), np.abs(np.where(seen, d, 0.0)).sum(axis=1)]
    both = (columns[0] > 0) & (columns[2] > 0)
    parts = np.stack(columns, axis=1) * both[:, None]

    def value(weights: Floats) -> Floats:
        sums = weights @ parts
        return divide(sums[:, 1], sums[:, 0]) - divide(sums[:, 3], sums[:, 2])

    def gradient(mean: Floats) -> Floats:
        a, b, c, d = mean.T
        return np.stack([-b / a**2, 1 / a, d / c**2, -1 / c], axis=1)

    return Kernel(value, both, "identity", parts, gradient)


def repeat_kernels(y: Floats) -> dict[str, Kernel]:
    """The kernels of the five metrics that need no human score."""
    return {"mad": mad_kernel(y), "drift_sd": drift_sd_kernel(y), "icc_a1": icc_kernel(y), "spr": spr_kernel(y),
            "discriminability": discriminability_kernel(y)}


def robust_kernels(y: Floats, human: Floats) -> dict[str, Kernel]:
    """The kernels of the seven metrics of one configuration."""
    return {**repeat_kernels(y), "human_mae": mean_kernel(np.abs(y[:, 0] - human)),
            "human_spearman": spearman_kernel(y[:, 0], human)}
