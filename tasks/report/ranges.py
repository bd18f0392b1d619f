"""Which range of numbers a plot or a column of little intervals shows.

All values are inside; an interval far longer than the values are apart is cut, so that one wild interval of few papers
does not press everything else into a corner.
"""

from __future__ import annotations

from collections.abc import Iterable

from storage.results import Estimate
from tasks.report.numbers import finite

BEYOND = 0.75
"""How far beyond the values an interval is followed, as a share of the values' range."""


def shown_range(estimates: Iterable[Estimate], keep: Iterable[float] = ()) -> tuple[float, float]:
    """Lowest and highest number to show.

    Args:
        estimates: whose values must be inside, and whose intervals should be.
        keep: further numbers that must be inside, such as chance.

    Returns:
        Two finite numbers, the first the smaller; ``(0, 1)`` where there is nothing to show.
    """
    found = list(estimates)
    values = [*keep, *(value for each in found if (value := finite(each.value)) is not None)]
    if not values:
        return (0.0, 1.0)
    low, high = min(values), max(values)
    room = BEYOND * ((high - low) or abs(high) or 1.0)
    ends = [end for each in found for side in (each.low, each.high) if (end := finite(side)) is not None]
    low, high = max(min([low, *ends]), low - room), min(max([high, *ends]), high + room)
    return (low, high) if high > low else (low, low + 1.0)
