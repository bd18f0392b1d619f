"""The pairwise sums behind discriminability, exact and without the five-fold loop.

Only S[i, j] for one configuration. The metric is ``robust.py``, its draws ``fast.py``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tasks.metrics.grid import Floats

_SCALE = 63_000_000
"""Scores that are multiples of 1/63e6 (decimals, thirds, sevenths, ninths) are compared as whole numbers."""


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
    # Whole numbers stay exact as floats: they are under 2**40.
    values = rows if whole is None else whole.astype(np.float64)
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
