"""Whether judges moved between two nights: paired differences on frozen items, one test a judge, Holm over all.

Numbers only: which items are asked again, and what an alarm leads to, is the nightly flow's matter.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tasks.metrics.bootstrap import holm

Floats = NDArray[np.float64]
EXACT_UP_TO = 14
"""Items up to which all sign patterns are tried."""
DRAWS = 20_000


@dataclass(frozen=True)
class Drift:
    """What became of one judge since the reference night."""

    configuration: str
    n: int
    """Items that were scored on both nights."""
    effect: float | None
    """Mean of tonight's score minus the reference's, in points of the judge's scale."""
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    is_alarm: bool = False
    reason: str | None = None
    """Why there is no test."""


def sign_flip_p(differences: Floats, seed: int = 0) -> float:
    """Two-sided p of "nothing moved": how often random signs give a mean as far from zero as the one seen.

    Exact (all 2^n sign patterns) for n <= 14, else from 20,000 random patterns with the seen one counted in. Under the
    hypothesis each difference is as likely with either sign, whatever the judge's noise is like (Fisher's randomisation
    test), so the level holds for any scale and any ties.

    Args:
        differences: shape (n,).
        seed: of the random patterns.
    """
    seen = abs(float(differences.sum()))
    tolerance = 1e-9 * max(1.0, float(np.abs(differences).sum()))
    if len(differences) <= EXACT_UP_TO:
        signs = np.array(list(itertools.product((1.0, -1.0), repeat=len(differences))))
        return float(np.mean(np.abs(signs @ differences) >= seen - tolerance))
    signs = np.random.default_rng(seed).choice((1.0, -1.0), size=(DRAWS, len(differences)))
    return float((1 + np.count_nonzero(np.abs(signs @ differences) >= seen - tolerance)) / (DRAWS + 1))


def fewest(level: float, judges: int) -> int:
    """The fewest items with which one of so many judges can raise an alarm: all signs equal has p = 2^(1 - n)."""
    return 1 + math.ceil(math.log2(max(judges, 1) / level))


def _interval(differences: Floats, level: float) -> tuple[float, float]:
    """Student's interval of the mean difference at confidence ``1 - level``; a point when all differences are equal."""
    mean, n = float(differences.mean()), len(differences)
    half = float(stats.t.ppf(1 - level / 2, n - 1)) * float(differences.std(ddof=1)) / float(np.sqrt(n))
    return mean - half, mean + half


def drift(
    before: Mapping[str, Mapping[str, float]], after: Mapping[str, Mapping[str, float]], *, level: float, seed: int = 0
) -> list[Drift]:
    """Test every judge that was asked on both nights.

    Args:
        before: configuration -> item -> score on the reference night.
        after: the same, tonight.
        level: chance of any false alarm in one night, over all judges together (Holm 1979).
        seed: of the randomisation.

    Returns:
        One entry for each configuration of tonight, in their order.
    """
    found: list[Drift] = []
    needed = fewest(level, len(after))
    for name, scores in after.items():
        known = before.get(name, {})
        items = sorted(set(scores) & set(known))
        differences = np.array([scores[item] - known[item] for item in items], dtype=float)
        if len(items) < needed:
            reason = "not asked on the reference night" if not known else f"{len(items)} items, {needed} are needed"
            effect = float(differences.mean()) if items else None
            found.append(Drift(name, len(items), effect, reason=reason))
            continue
        low, high = _interval(differences, level)
        found.append(Drift(name, len(items), float(differences.mean()), low, high, sign_flip_p(differences, seed)))
    corrected = holm([entry.p for entry in found])
    return [
        Drift(e.configuration, e.n, e.effect, e.low, e.high, e.p, p, p is not None and p <= level, e.reason)
        for e, p in zip(found, corrected, strict=True)
    ]
