"""Whether a judge only looks stable: one score for everything, or small drift without discrimination.

Works on numbers that are there already; nothing is resampled here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from storage.results import Estimate
from tasks.metrics.grid import Floats

TOP_SHARE_LIMIT = 0.9
QUARTER = 0.25
CHANCE = 0.5
MIN_CONFIGURATIONS = 4
"""Under this many configurations there is no lowest quarter to be in."""


class Spread(NamedTuple):
    """How the scores of a configuration are spread over their values."""

    histogram: dict[str, int]
    """Score as text (``6``, ``6.5``), in rising order -> cells."""
    entropy_bits: float | None
    top_share: float | None
    """Share of cells that have the commonest score."""
    top_score: str | None


def spread(y: Floats) -> Spread:
    """Histogram, entropy (bits) and commonest score over all observed cells."""
    cells = y[~np.isnan(y)]
    if not cells.size:
        return Spread({}, None, None, None)
    levels, counts = np.unique(cells, return_counts=True)
    names = [score_text(float(level)) for level in levels]
    shares = counts / cells.size
    top = int(counts.argmax())
    entropy = float(-(shares * np.log2(shares)).sum()) + 0.0
    return Spread(dict(zip(names, counts.tolist(), strict=True)), entropy, float(shares[top]), names[top])


def score_text(score: float) -> str:
    """The shortest text of a score: ``6`` for 6.0, ``6.25`` for 6.25."""
    return str(int(score)) if score == int(score) and abs(score) < 1e15 else repr(score)


def lowest_quarter(mads: Mapping[str, Estimate]) -> set[str]:
    """The configurations that fewer than a quarter of all undercut in MAD; empty under four configurations."""
    known = {name: mad.value for name, mad in mads.items() if mad.value is not None}
    if len(known) < MIN_CONFIGURATIONS:
        return set()
    return {name for name, mad in known.items() if sum(v < mad for v in known.values()) < QUARTER * len(known)}


def false_robustness(low_mad: bool, discriminability: Estimate, cells: Spread) -> list[str]:
    """Why a judge's stability is not to be believed; empty when there is no such reason.

    ``one_value``: one score in over 90 % of the cells. ``stable_at_chance``: MAD in the lowest quarter of the
    configurations while the interval of discriminability contains 0.5.
    """
    reasons = []
    if cells.top_share is not None and cells.top_share > TOP_SHARE_LIMIT:
        reasons.append("one_value")
    low, high = discriminability.low, discriminability.high
    if low_mad and low is not None and high is not None and low <= CHANCE <= high:
        reasons.append("stable_at_chance")
    return reasons
