"""What a failed request to a literature service means: each fault has a type, and what is done about it.

Two kinds of 429 are told apart: "too fast" is waited out, "budget gone" closes the provider at once, because no wait
within a run helps. Waits that a server asks for are capped. Here belongs that reading, and the loop that tries again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Final, Literal, TypeVar

from storage.records import now
from tasks.retrieve.limiter import Limiter

T = TypeVar("T")
Kind = Literal["too_fast", "budget_gone", "unavailable", "refused", "bad_query", "not_found"]
LONGEST_WAIT_S: Final = 60.0
ATTEMPTS: Final = 5
DAY_S: Final = 24 * 3600.0
FIRST_BYTES: Final = 120


class ProviderFault(Exception):
    """A request that gave no usable answer."""

    def __init__(self, kind: Kind, detail: str, *, status: int | None = None, wait_s: float | None = None,
                 interval_s: float | None = None) -> None:
        super().__init__(detail)
        self.kind = kind
        self.status = status
        self.wait_s = wait_s
        """What the server asks for; None when it does not."""
        self.interval_s = interval_s
        """Seconds between requests by the server's own limit, where it names one."""


def _number(headers: Mapping[str, str], *names: str) -> float | None:
    for name in names:
        value = headers.get(name)
        if value is None:
            continue
        try:
            return float(value.strip().rstrip("s"))
        except ValueError:
            continue
    return None


def wait_asked_for(headers: Mapping[str, str]) -> float | None:
    """Seconds by ``Retry-After`` (number or date); None where there is none."""
    seconds = _number(headers, "Retry-After")
    if seconds is not None:
        return max(seconds, 0.0)
    value = headers.get("Retry-After")
    if value is None:
        return None
    try:
        return max((parsedate_to_datetime(value) - now()).total_seconds(), 0.0)
    except (ValueError, TypeError):
        return None


def is_budget_gone(headers: Mapping[str, str]) -> bool:
    """Whether a 429 says that the day's budget is used up: less remains than one request costs."""
    for kind in ("", "-USD"):
        remaining = _number(headers, f"X-RateLimit-Remaining{kind}")
        required = _number(headers, f"X-RateLimit-Credits-Required{kind}", f"X-RateLimit-Required{kind}")
        onetime = _number(headers, f"X-RateLimit-Onetime-Remaining{kind}") or 0.0
        if remaining is not None and remaining + onetime < (required if required is not None else 1e-9):
            return True
    return False


def _interval(headers: Mapping[str, str]) -> float | None:
    """Crossref's limit as seconds between requests."""
    limit, interval = _number(headers, "X-Rate-Limit-Limit"), _number(headers, "X-Rate-Limit-Interval")
    return interval / limit if limit and interval else None


def fault_of(status: int, headers: Mapping[str, str], body: str) -> ProviderFault:
    """The fault that a reply amounts to.

    Args:
        status: of the reply; a 200 is here because its body is no JSON answer.
        headers: of the reply, by any case.
        body: its text; only the first bytes are kept.
    """
    said = f"status {status}: {' '.join(body[:FIRST_BYTES].split()) or 'an empty body'}"
    wait = wait_asked_for(headers)
    if status in (429, 403) and is_budget_gone(headers):
        reset = _number(headers, "X-RateLimit-Reset", "X-RateLimit-Reset-USD")
        return ProviderFault("budget_gone", said, status=status, wait_s=wait if wait is not None else reset)
    if status == 429 or (status == 403 and "rate" in body.lower()):
        return ProviderFault("too_fast", said, status=status, wait_s=wait, interval_s=_interval(headers))
    if status in (404, 410):
        return ProviderFault("not_found", said, status=status)
    if status in (401, 403):
        return ProviderFault("refused", said, status=status)
    if 400 <= status < 500 and status != 408:
        return ProviderFault("bad_query", said, status=status)
    return ProviderFault("unavailable", said, status=status, wait_s=wait)


def patiently(
    limiter: Limiter, request: Callable[[], T], *, attempts: int = ATTEMPTS, cap_s: float = LONGEST_WAIT_S,
    sleep: Callable[[float], None] = time.sleep,
) -> T:
    """One answer, asked for as often as it makes sense, each time at the limiter's pace.

    Args:
        limiter: the provider's.
        request: asks once, and raises ``ProviderFault`` when there is no usable answer.
        attempts: in all.
        cap_s: the longest wait; a server that asks for more closes the provider for that long.
        sleep: waits; tests give another.

    Raises:
        ProviderFault: the last one, or at once where asking again is of no use.
        ProviderClosed: when the provider is closed.
    """
    for attempt in range(1, attempts + 1):
        try:
            with limiter.turn():
                return request()
        except ProviderFault as fault:
            if fault.kind in ("bad_query", "not_found"):
                raise
            if fault.kind in ("budget_gone", "refused"):
                limiter.close(fault.wait_s if fault.wait_s is not None else DAY_S / 24, f"{fault.kind}: {fault}")
                raise
            if fault.wait_s is not None and fault.wait_s > cap_s:
                limiter.close(fault.wait_s, f"it asks for a wait of {fault.wait_s:,.0f} s")
                raise
            if attempt == attempts:
                raise
            pause = fault.wait_s if fault.wait_s is not None else min(cap_s, 0.5 * 2.0 ** (attempt - 1))
            if fault.kind == "too_fast":
                limiter.slow_down(pause, fault.interval_s)
            else:
                sleep(pause)
    raise ValueError("attempts must be at least 1")
