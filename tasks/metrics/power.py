"""How many families a difference needs: from the standard errors of the comparisons that were made.

Only what is read off finished comparisons. Formulas are ``bootstrap.py``'s, the comparisons ``assemble.py``'s.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from storage.results import Comparison, Power
from tasks.metrics.bootstrap import detectable_difference, families_needed

DIFFERENCES: dict[str, tuple[float, ...]] = {"discriminability": (0.02, 0.05, 0.1), "mad": (0.1, 0.2, 0.5)}
"""True differences to plan for, by metric."""
_FEW = 1e-12


def power(comparisons: Iterable[Comparison]) -> list[Power]:
    """One record a metric: what this many families can show of a difference between two judges.

    Pairs of judges differ in how well they can be told apart; the middle pair speaks, the quarters give the range.
    The normal approximation, 0.05 two-sided, probability 0.8, one comparison (no correction). Comparisons without a
    standard error say nothing and are left out, as are metrics without any.
    """
    by_metric: dict[str, list[Comparison]] = {}
    for each in comparisons:
        if each.standard_error is not None and each.standard_error > _FEW and each.difference.n > 1:
            by_metric.setdefault(each.metric, []).append(each)
    return [_power(metric, found) for metric, found in by_metric.items()]


def _power(metric: str, found: list[Comparison]) -> Power:
    families = int(np.median([each.difference.n for each in found]))
    # A standard error over n families stands for one over the usual number of them.
    errors = [(each.standard_error or 0.0) * (each.difference.n / families) ** 0.5 for each in found]
    low, middle, high = (float(part) for part in np.quantile(errors, [0.25, 0.5, 0.75]))
    needed = {f"{size:g}": families_needed(middle, families, size) for size in DIFFERENCES.get(metric, ())}
    return Power(
        metric=metric, families=families, pairs=len(found), detectable=detectable_difference(middle),
        detectable_low=detectable_difference(low), detectable_high=detectable_difference(high),
        needed={size: count for size, count in needed.items() if count is not None},
    )
