"""What style does to a ranking of ideas, and how far judges agree on one.

Ranks of the overall score only; scores themselves are ``style.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats

from storage.results import Estimate
from tasks.metrics.grid import Floats, Point
from tasks.metrics.robust import spearman
from tasks.metrics.style_frame import PLAIN, StyleGrid

TOP: tuple[int, ...] = (5, 10, 20, 30)
AGREEMENT_TOP: tuple[int, ...] = (5, 50)
_ORDERS = 64
"""Shared random orders that break ties at the edge of a Top-K; the change is the mean over them."""


def rank_shifts(grid: StyleGrid, variant: str) -> Floats:
    """|rank under the variant - rank under plain| by idea, average ranks; NaN where a score is missing."""
    first, second = grid.total(variant), grid.total(PLAIN)
    both = ~np.isnan(first) & ~np.isnan(second)
    out = np.full(first.size, np.nan)
    out[both] = np.abs(stats.rankdata(first[both]) - stats.rankdata(second[both]))
    return out


def _tops(scores: Floats, orders: Floats, sizes: Sequence[int]) -> dict[int, np.ndarray]:
    """Membership of each Top-K under each tie-breaking order (orders x ideas)."""
    dense = stats.rankdata(-scores, method="dense")
    places = np.argsort(np.argsort(dense[None, :] + orders, axis=1), axis=1)
    return {k: places < k for k in sizes}


def _orders(ideas: int) -> Floats:
    """Tie-breaking priorities in [0, 1), the same for every ranking of these ideas."""
    return np.random.default_rng(0).permuted(np.tile(np.arange(ideas) / ideas, (_ORDERS, 1)), axis=1)


def _tied_edge(scores: Floats, k: int) -> bool:
    ranked = np.sort(scores)[::-1]
    return k < ranked.size and bool(ranked[k - 1] == ranked[k])


def top_k_change(grid: StyleGrid, variant: str) -> dict[int, Estimate]:
    """Share of the plain Top-K that leaves it under the variant; ``n`` is K.

    Ideas tied at the edge are ordered by shared random orders and the share is averaged over them (flag ``tied_edge``),
    so that equal scores under both wordings never count as a change.
    """
    first, second = grid.total(PLAIN), grid.total(variant)
    both = ~np.isnan(first) & ~np.isnan(second)
    first, second = first[both], second[both]
    sizes = [k for k in TOP if k < first.size]
    found = {k: Estimate(value=None, n=k, reason=f"a Top-{k} needs more than {k} ideas scored both ways, there are "
                         f"{first.size}") for k in TOP if k not in sizes}
    if not sizes:
        return found
    orders = _orders(first.size)
    plain, other = _tops(first, orders, sizes), _tops(second, orders, sizes)
    for k in sizes:
        tied = _tied_edge(first, k) or _tied_edge(second, k)
        found[k] = Estimate(value=float((plain[k] & ~other[k]).sum(axis=1).mean() / k), n=k,
                            flags=["tied_edge"] if tied else [])
    return dict(sorted(found.items()))


def agreement(first: StyleGrid, second: StyleGrid) -> dict[str, Point]:
    """How two judges agree on the plain ideas: Spearman of the overall score, and shares of common Top-50 and Top-5."""
    a, b = first.total(PLAIN), second.total(PLAIN)
    both = ~np.isnan(a) & ~np.isnan(b)
    a, b = a[both], b[both]
    found = {"spearman": spearman(a, b)}
    sizes = [k for k in AGREEMENT_TOP if k < a.size]
    orders = _orders(a.size) if sizes else np.zeros((1, 0))
    tops = (_tops(a, orders, sizes), _tops(b, orders, sizes)) if sizes else ({}, {})
    for k in AGREEMENT_TOP:
        if k not in sizes:
            found[f"top_{k}_overlap"] = Point(None, k, f"a Top-{k} needs more than {k} ideas scored by both")
            continue
        flags = ("tied_edge",) if _tied_edge(a, k) or _tied_edge(b, k) else ()
        found[f"top_{k}_overlap"] = Point(float((tops[0][k] & tops[1][k]).sum(axis=1).mean() / k), k, flags=flags)
    return found
