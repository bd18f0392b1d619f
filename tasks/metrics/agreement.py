"""How far people (or models) who gave the same items a verdict agree: majority, pairwise agreement, kappas, alpha.

Nominal verdicts of any kind, with gaps. No I/O. What the verdicts are about is the callers' matter.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from storage.records import Record
from storage.results import Estimate

Verdicts = Mapping[str, Mapping[str, Hashable]]
"""Item -> who gave a verdict -> verdict. Who gave none for an item is not in its mapping."""
FEW_ITEMS = 5


class Agreement(Record):
    """The agreement on one question. Items with fewer than two verdicts count nowhere here."""

    raters: int
    items: int
    """With two verdicts at least."""
    pairwise: Estimate
    """Mean over pairs of raters of the share of their common items on which they agree (0 to 1)."""
    cohen: Estimate
    """Mean over pairs of raters of Cohen's kappa."""
    fleiss: Estimate
    alpha: Estimate
    """Krippendorff's, nominal."""


def majorities(verdicts: Verdicts) -> dict[str, Any]:
    """The verdict that more than half of an item's raters gave; None where no verdict has more than half."""
    found: dict[str, Any] = {}
    for item, given in verdicts.items():
        counted = Counter(given.values()).most_common(1)
        found[item] = counted[0][0] if counted and 2 * counted[0][1] > len(given) else None
    return found


def agreement(verdicts: Verdicts) -> Agreement:
    """Every measure of agreement on one question.

    Args:
        verdicts: item -> rater -> verdict.

    Returns:
        Measures that are not defined have a reason instead of a value: ``one_rater``, ``no_common_items``,
        ``no_variance`` (every verdict is the same, so chance alone would agree as well).
    """
    raters = sorted({rater for given in verdicts.values() for rater in given})
    shared = [list(given.values()) for given in verdicts.values() if len(given) >= 2]
    pairs = [_pair(verdicts, first, second) for first, second in itertools.combinations(raters, 2)]
    common = [pair for pair in pairs if pair]
    reason = "one_rater" if len(raters) < 2 else "no_common_items"
    return Agreement(
        raters=len(raters),
        items=len(shared),
        pairwise=_estimate(_mean([observed(pair) for pair in common]), len(shared), reason),
        cohen=_mean_kappa(common, reason),
        fleiss=_estimate(fleiss_kappa(shared), len(shared), "no_variance" if shared else reason),
        alpha=_estimate(krippendorff_alpha(shared), len(shared), "no_variance" if shared else reason),
    )


def _pair(verdicts: Verdicts, first: str, second: str) -> list[tuple[Hashable, Hashable]]:
    return [(given[first], given[second]) for given in verdicts.values() if first in given and second in given]


def observed(pair: Sequence[tuple[Hashable, Hashable]]) -> float:
    """Share of common items with equal verdicts.

    Raises:
        ZeroDivisionError: when there is no common item.
    """
    return sum(left == right for left, right in pair) / len(pair)


def cohen_kappa(pair: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Cohen's kappa of two raters (Cohen 1960); None where chance alone agrees always."""
    n = len(pair)
    left, right = Counter(one for one, _ in pair), Counter(other for _, other in pair)
    chance = sum(left[value] * right[value] for value in left) / (n * n) if n else 1.0
    return None if chance >= 1.0 else (observed(pair) - chance) / (1.0 - chance)


def fleiss_kappa(items: Sequence[Sequence[Hashable]]) -> float | None:
    """Fleiss' kappa (1971), in the form for items with different numbers of verdicts.

    Args:
        items: the verdicts of each item, two at least.

    Returns:
        None where every verdict is the same, or there is no item.
    """
    if not items:
        return None
    counts = [Counter(verdicts) for verdicts in items]
    agreed = [
        sum(count * (count - 1) for count in counted.values()) / (counted.total() * (counted.total() - 1))
        for counted in counts
    ]
    whole: Counter[Hashable] = sum(counts, Counter())
    chance = sum((count / whole.total()) ** 2 for count in whole.values())
    return None if chance >= 1.0 else (sum(agreed) / len(agreed) - chance) / (1.0 - chance)


def krippendorff_alpha(items: Sequence[Sequence[Hashable]]) -> float | None:
    """Krippendorff's alpha for nominal verdicts (2011, the coincidence matrix), with gaps.

    Args:
        items: the verdicts of each item, two at least.

    Returns:
        None where every verdict is the same, or there is no item.
    """
    counts = [Counter(verdicts) for verdicts in items]
    whole: Counter[Hashable] = sum(counts, Counter())
    n = whole.total()
    differing = n * n - sum(count * count for count in whole.values())
    if not differing:
        return None
    disagreed = sum(
        (counted.total() ** 2 - sum(count * count for count in counted.values())) / (counted.total() - 1)
        for counted in counts
    )
    return 1.0 - (n - 1) * disagreed / differing


def _mean_kappa(pairs: Sequence[Sequence[tuple[Hashable, Hashable]]], reason: str) -> Estimate:
    defined = [kappa for kappa in map(cohen_kappa, pairs) if kappa is not None]
    items = sum(map(len, pairs))
    return _estimate(_mean(defined), items, "no_variance" if pairs else reason)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _estimate(value: float | None, n: int, reason: str) -> Estimate:
    flags = ["few"] if n < FEW_ITEMS else []
    return Estimate(value=value, n=n, reason=None if value is not None else reason, flags=flags)
