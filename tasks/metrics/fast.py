"""The exact fast forms: each metric as a function of family weights.

``weights[b, i]`` says how often family i is in draw b; a kernel gives one value for each draw, NaN where that draw leaves
the metric undefined. No approximation: the same numbers as the definitions on the resampled families, by matrix products.
Discriminability never compares a family with a copy of itself. Definitions and reasons are ``robust.py``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tasks.metrics.grid import Floats, complete_rows

Kernel = Callable[[Floats], Floats]
_SCALE = 63_000_000
"""Scores that are multiples of 1/63e6 (decimals, thirds, sevenths, ninths) are compared as whole numbers."""


def _divide(top: Floats, bottom: Floats) -> Floats:
    """top / bottom, NaN where bottom is 0."""
    return np.divide(top, bottom, out=np.full(np.broadcast(top, bottom).shape, np.nan), where=bottom != 0)


def shift_kernels(y: Floats) -> dict[str, Kernel]:
    """Kernels of ``mad``, ``drift_sd`` and ``spr`` from per-family sums of the shifts."""
    d = y[:, 1:] - y[:, :1]
    seen = ~np.isnan(d)
    count = seen.sum(axis=1).astype(float)
    paired = count > 0
    # Centring keeps sums of squares free of cancellation; on a median, equal values stay exactly 0.
    middle = float(np.median(d[seen])) if seen.any() else 0.0
    centre = float(np.median(y[paired, 0])) if paired.any() else 0.0
    first = np.where(paired, y[:, 0] - centre, 0.0)
    filled, offset = np.where(seen, d, 0.0), np.where(seen, d - middle, 0.0)
    parts = np.stack(
        [count, np.abs(filled).sum(axis=1), offset.sum(axis=1), (offset**2).sum(axis=1), (filled**2).sum(axis=1),
         paired.astype(float), first, first**2], axis=1)

    def mad(weights: Floats) -> Floats:
        sums = weights @ parts[:, :2]
        return _divide(sums[:, 1], sums[:, 0])

    def drift_sd(weights: Floats) -> Floats:
        sums = weights @ parts[:, [0, 2, 3]]
        mean = _divide(sums[:, 1], sums[:, 0])
        return np.sqrt(np.maximum(_divide(sums[:, 2], sums[:, 0]) - mean**2, 0.0))

    def spr(weights: Floats) -> Floats:
        sums = weights @ parts[:, [0, 4, 5, 6, 7]]
        drift = _divide(sums[:, 1], sums[:, 0])
        variance = np.maximum(_divide(sums[:, 4], sums[:, 2]) - _divide(sums[:, 3], sums[:, 2]) ** 2, 0.0)
        total = variance + drift
        return np.where(total == 0, 0.0, _divide(variance, total))

    return {"mad": mad, "drift_sd": drift_sd, "spr": spr}


def icc_kernel(y: Floats) -> Kernel:
    """Kernel of ICC(A,1): per-family sums and weighted column sums give the three mean squares of every draw."""
    complete = complete_rows(y)
    z = np.where(complete[:, None], y, 0.0)
    k = y.shape[1]
    if complete.any():
        z = np.where(complete[:, None], y - np.median(y[complete]), 0.0)
    row = z.mean(axis=1)
    parts = np.concatenate([complete[:, None], row[:, None], (row**2)[:, None], (z**2).sum(axis=1)[:, None], z], axis=1)

    def icc(weights: Floats) -> Floats:
        sums = weights @ parts
        n = sums[:, 0]
        safe = np.maximum(n, 2.0)
        grand = sums[:, 1] / safe
        ssr = k * (sums[:, 2] - safe * grand**2)
        ssc = safe * ((sums[:, 4:] / safe[:, None] - grand[:, None]) ** 2).sum(axis=1)
        sst = sums[:, 3] - safe * k * grand**2
        sse = sst - ssr - ssc
        dust = 1e-13 * np.abs(sums[:, 3])
        ssr, ssc, sse = (np.where(part <= dust, 0.0, part) for part in (ssr, ssc, sse))
        msr, msc, mse = ssr / (safe - 1), ssc / max(k - 1, 1), sse / ((safe - 1) * max(k - 1, 1))
        bottom = msr + (k - 1) * mse + k / safe * (msc - mse)
        bottom = np.where(np.abs(bottom) <= 1e-12 * np.maximum(msr, np.maximum(msc, mse)), 0.0, bottom)
        return np.where(n >= 2, _divide(msr - mse, bottom), np.nan)

    return icc


def _whole_numbers(y: Floats) -> NDArray[np.int64] | None:
    """The scores as integers whose differences order exactly like the rounded distances, or None."""
    if np.all(y == np.rint(y)) and np.abs(y).max(initial=0.0) < 2**40:
        return np.rint(y).astype(np.int64)
    scaled = y * _SCALE
    near = np.rint(scaled)
    # Within 1e-6 of a multiple of 1/63e6, distances that are equal as integers also round to the same 12 decimals.
    if np.abs(scaled - near).max(initial=0.0) > 1e-6 or np.abs(y).max(initial=0.0) > 128:
        return None
    return near.astype(np.int64)


def comparison_sums(rows: Floats) -> Floats:
    """S[i, j] = sum over k != k' and k'' of [within < between] + ties / 2, zero on the diagonal.

    ``within`` is |y[i,k] - y[i,k']|, ``between`` |y[i,k] - y[j,k'']|, both rounded to 12 decimals (shape: n x n).

    A between-distance is larger exactly when y[j,k''] lies below y[i,k] - within or above y[i,k] + within: so each
    family needs its sorted limits once, and each distinct score one search, instead of a loop over five indices.
    """
    n, k = rows.shape
    whole = _whole_numbers(rows)
    values: NDArray[np.int64] | Floats = rows if whole is None else whole
    levels, codes = np.unique(values, return_inverse=True)
    codes = codes.reshape(n, k)
    others = np.bincount(codes.ravel(), minlength=levels.size)
    off = ~np.eye(k, dtype=bool)
    sums = np.empty((n, n))
    for i in range(n):
        own = values[i]
        within = np.abs(own[:, None] - own[None, :])[off]
        centre = np.repeat(own, k - 1)
        low, high = np.sort(centre - within), np.sort(centre + within)
        if whole is None:
            foreign = others - np.bincount(codes[i], minlength=levels.size) > 0
            if _near_tie(levels[foreign], low, high):
                sums[i] = _literal_row(rows, i)
                continue
        larger = 2 * low.size - np.searchsorted(low, levels, "right") - np.searchsorted(low, levels, "left")
        larger = larger + np.searchsorted(high, levels, "right") + np.searchsorted(high, levels, "left")
        # A zero distance has one limit, not two: its tie would be counted twice.
        zero = np.sort(centre[within == 0])
        larger = larger - (np.searchsorted(zero, levels, "right") - np.searchsorted(zero, levels, "left"))
        sums[i] = (larger / 2)[codes].sum(axis=1)
    np.fill_diagonal(sums, 0.0)
    return sums


def _near_tie(levels: Floats, low: Floats, high: Floats) -> bool:
    """Whether a score of another family is so close to a limit that the rounding to 12 decimals could decide."""
    slack = 4e-12 + 1e-14 * float(np.abs(high).max(initial=0.0) + np.abs(low).max(initial=0.0))
    return any(
        bool(np.any(np.searchsorted(limit, levels - slack, "left") != np.searchsorted(limit, levels + slack, "right")))
        for limit in (low, high)
    )


def _literal_row(rows: Floats, i: int) -> Floats:
    """One row of S by its definition, for scores that need the rounding."""
    k = rows.shape[1]
    out = np.zeros(rows.shape[0])
    for a in range(k):
        within = np.sort(np.round(np.abs(rows[i, a] - np.delete(rows[i], a)), 12))
        between = np.round(np.abs(rows[i, a] - rows), 12)
        out += (np.searchsorted(within, between, "left") + np.searchsorted(within, between, "right")).sum(axis=1) / 2
    return out


def discriminability_kernel(y: Floats) -> Kernel:
    """Kernel of discriminability: w' S w over w' w without the diagonal; NaN for a draw of a single family."""
    complete = complete_rows(y)
    k = y.shape[1]
    sums = comparison_sums(y[complete]) if complete.sum() >= 2 and k >= 2 else np.zeros((int(complete.sum()),) * 2)

    def discriminability(weights: Floats) -> Floats:
        w = weights[:, complete]
        pairs = w.sum(axis=1) ** 2 - (w**2).sum(axis=1)
        return _divide(((w @ sums) * w).sum(axis=1), pairs * (k * k * (k - 1)))

    return discriminability


def mean_kernel(values: Floats) -> Kernel:
    """Kernel of a plain mean of one value for each family (NaN where a family has none)."""
    seen = ~np.isnan(values)
    parts = np.stack([seen.astype(float), np.where(seen, values, 0.0)], axis=1)

    def mean(weights: Floats) -> Floats:
        sums = weights @ parts
        return _divide(sums[:, 1], sums[:, 0])

    return mean


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

    def spearman(weights: Floats) -> Floats:
        w = weights[:, both]
        if not both.any():
            return np.full(weights.shape[0], np.nan)
        a, b = _weighted_ranks(first[both], w), _weighted_ranks(second[both], w)
        wa = w * a
        return _divide((wa * b).sum(axis=1), np.sqrt((wa * a).sum(axis=1) * (w * b * b).sum(axis=1)))

    return spearman


def robust_kernels(y: Floats, human: Floats) -> dict[str, Kernel]:
    """The kernels of the seven metrics of one configuration."""
    return {
        **shift_kernels(y),
        "icc_a1": icc_kernel(y),
        "discriminability": discriminability_kernel(y),
        "human_mae": mean_kernel(np.abs(y[:, 0] - human)),
        "human_spearman": spearman_kernel(y[:, 0], human),
    }
