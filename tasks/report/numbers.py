"""How numbers are written: fixed digits, a real minus sign, intervals in brackets, and never a NaN.

Only text from numbers. Which numbers are shown is decided elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from storage.results import Estimate

NO_VALUE = "–"
MINUS = "−"


def finite(value: float | None) -> float | None:
    """The value, or None where it is missing or not a finite number."""
    return value if value is not None and math.isfinite(value) else None


def number(value: float | None, digits: int = 2, *, signed: bool = False) -> str:
    """``value`` with ``digits`` decimals; a dash where there is none."""
    value = finite(value)
    if value is None:
        return NO_VALUE
    rounded = round(value, digits) + 0.0
    text = f"{abs(rounded):,.{digits}f}"
    if rounded < 0:
        return MINUS + text
    return f"+{text}" if signed and rounded > 0 else text


def count(value: float | None) -> str:
    """A whole number with thousands separators."""
    return number(value, 0)


def interval(estimate: Estimate, digits: int = 2, *, signed: bool = False) -> str:
    """``[low, high]``, or an empty text where no interval is defined."""
    if finite(estimate.low) is None or finite(estimate.high) is None:
        return ""
    return f"[{number(estimate.low, digits, signed=signed)}, {number(estimate.high, digits, signed=signed)}]"


def no_interval(estimate: Estimate) -> str:
    """Why a number that is there has no interval, in plain words; empty where it has one."""
    if finite(estimate.value) is None or interval(estimate):
        return ""
    words = (estimate.interval_reason or "no interval").replace("_", " ")
    return words[:1].upper() + words[1:]


def reason(estimate: Estimate) -> str:
    """Why there is no value, in plain words; empty where there is one."""
    if finite(estimate.value) is not None:
        return ""
    words = (estimate.reason or "no reason was recorded").replace("_", " ")
    return words[:1].upper() + words[1:]


def with_interval(estimate: Estimate, digits: int = 2, *, signed: bool = False) -> str:
    """``0.72 [0.66, 0.78]``, or a dash and the reason."""
    if finite(estimate.value) is None:
        return f"{NO_VALUE} ({reason(estimate).lower()})"
    return f"{number(estimate.value, digits, signed=signed)} {interval(estimate, digits, signed=signed)}".strip()


def money(usd: float | None) -> str:
    """Dollars; ``unknown`` where a price is not known."""
    if finite(usd) is None:
        return "unknown"
    value = usd or 0.0
    return f"${value:,.2f}" if value == 0 or value >= 0.01 else "< $0.01"


def duration(seconds: float) -> str:
    """Seconds as a person says them."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"


def listed(names: Iterable[str], limit: int = 3) -> str:
    """``a, b, c and 4 more``; semicolons part names that hold commas."""
    every = list(names)
    comma = "; " if any("," in name for name in every) else ", "
    if len(every) <= 1:
        return "".join(every)
    if len(every) > limit:
        return comma.join(every[:limit]) + f" and {len(every) - limit} more"
    return comma.join(every[:-1]) + " and " + every[-1]
