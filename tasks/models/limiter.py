"""How fast an endpoint is asked: in flight, requests and tokens a minute, pauses the server asks for, and closing.

Here belongs pacing, one limiter for each endpoint of a process, used from the engine's loop only. What an outcome means
for one ask is ``retries.py``; here is what it means for everybody who asks the same endpoint.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass

from storage.vocabulary import Outcome
from tasks.models.endpoints import EndpointSpec
from tasks.models.outcomes import Reply
from tasks.models.throttle import Booking, Throttle

PROBE_S = 3.0
"""The first request goes alone until it is answered, at most so long: an empty account costs one call."""
CLOSED_S = 600.0
"""An endpoint closed for money or keys is tried again after this time, or by the next run."""
REFUSALS_TO_CLOSE = 3
FAILURES_TO_CLOSE = 60
DOWN_S = 60.0
"""An endpoint that failed ``FAILURES_TO_CLOSE`` times in a row and for so long is left alone for as long again."""
SHRINK = 0.7
SHARE_STEP = 0.05
SHARE_TO_SHRINK = 0.22
"""Scattered 429s only make their own ask wait; from this share of recent replies on, fewer go out at once."""


class Closed(Exception):
    """The endpoint takes no request now: ``outcome`` says why, the message says it to a person."""

    def __init__(self, outcome: Outcome, reason: str) -> None:
        super().__init__(reason)
        self.outcome = outcome


@dataclass(frozen=True, slots=True)
class _Closing:
    outcome: Outcome
    reason: str
    until: float


@dataclass(slots=True)
class Ticket:
    """The right to send one request, given back with ``Limiter.settle``."""

    model: str
    started: float
    booking: Booking | None = None


class Limiter:
    """Paces one endpoint. Never more than ``capacity`` in flight, never above rpm and tpm."""

    def __init__(self, endpoint: EndpointSpec) -> None:
        self._endpoint = endpoint
        self._most = endpoint.max_in_flight
        self.capacity = float(self._most)
        self.in_flight = 0
        self.peak = 0
        self._waiters: deque[asyncio.Future[bool]] = deque()
        self._requests = Throttle(endpoint.rpm) if endpoint.rpm else None
        self._tokens = Throttle(endpoint.tpm) if endpoint.tpm else None
        self._changed = asyncio.Event()
        self._pauses: dict[str, float] = {}
        self._closings: dict[str | None, _Closing] = {}
        self._proven = self._endpoint.batch  # a batch of one would take as long as a whole one
        self._refusals = 0
        self._failures = 0
        self._good_at: float | None = None
        self._share = 0.0
        self._shrunk_at = -1.0

    @property
    def waiting(self) -> int:
        """How many requests wait for a place."""
        return len(self._waiters)

    async def admit(self, model: str, tokens: int) -> Ticket:
        """Waits until a request may go out.

        Args:
            model: pauses and closings that concern one model leave the others alone.
            tokens: estimate of input and output together, corrected by ``settle``.

        Raises:
            Closed: when the endpoint, or the model at it, takes no request now.
        """
        while True:
            self._refuse_if_closed(model)
            pause = self._pauses.get(model, 0.0) - _now()
            if pause > 0:
                await self._nap(pause)
                continue
            if not await self._enter():
                continue
            try:
                self._refuse_if_closed(model)
                if self._pauses.get(model, 0.0) <= _now():
                    return await self._booked(model, tokens)
            except BaseException:
                self._leave()
                raise
            self._leave()

    def settle(self, ticket: Ticket, reply: Reply | None) -> None:
        """Gives a place back and learns from the reply; None when the request was dropped."""
        if ticket.booking is not None and self._tokens is not None and reply is not None:
            used = (reply.usage.input or 0) + (reply.usage.output or 0)
            self._tokens.correct(ticket.booking, used if reply.usage.input is not None else None)
        if reply is not None:
            self._learn(ticket, reply)
        self._leave()

    def reopen(self) -> None:
        """Forgets closings and pauses: a new run tries again, one request first."""
        self._closings.clear()
        self._pauses.clear()
        self._proven = self._endpoint.batch  # a batch of one would take as long as a whole one
        self._refusals = self._failures = 0
        self._wake()

    def pace(self, most: int, rpm: int | None, tpm: int | None) -> None:
        """Takes new limits, from now on; nothing starts until those in flight are fewer than ``most`` (0 pauses)."""
        self.capacity = float(most) if self.capacity >= self._most else min(self.capacity, float(most))
        self._most = most
        self._requests = _paced(self._requests, rpm)
        self._tokens = _paced(self._tokens, tpm)
        self._pump()

    def _learn(self, ticket: Ticket, reply: Reply) -> None:
        outcome, now = reply.outcome, _now()
        if outcome is Outcome.quota_gone:
            self._close(None, _Closing(outcome, reply.error or "the account is empty", now + CLOSED_S))
            return
        if outcome is Outcome.unauthorised:
            self._refusals += 1
            if self._refusals >= REFUSALS_TO_CLOSE:
                self._close(None, _Closing(outcome, reply.error or "the key is refused", now + CLOSED_S))
            return
        self._refusals = 0
        self._prove()
        if outcome is Outcome.rate_limited and reply.retry_after_s is not None:
            self._heed(ticket.model, reply.retry_after_s)
        # A server that drops or refuses connections says "too many" as well as it can.
        throttled = reply.overloaded or (outcome is Outcome.provider_error and reply.http_status is None)
        self._share += SHARE_STEP * (float(throttled) - self._share)
        if throttled and self._share > SHARE_TO_SHRINK and ticket.started > self._shrunk_at:
            self.capacity = max(1.0, min(self.capacity, self.in_flight) * SHRINK)
            self._shrunk_at = now
        elif not throttled:
            self.capacity = min(float(self._most), self.capacity + 1.0 / max(self.capacity, 1.0))
        self._watch_health(outcome, reply, now)

    def _heed(self, model: str, wait_s: float) -> None:
        until = _now() + wait_s
        if wait_s > self._endpoint.retry_after_cap_s:
            reason = (
                f"the server asks to wait {wait_s:.0f} s, longer than "
                f"retry_after_cap_s = {self._endpoint.retry_after_cap_s:.0f}"
            )
            self._close(model, _Closing(Outcome.rate_limited, reason, until))
        self._pauses[model] = max(self._pauses.get(model, 0.0), until)

    def _watch_health(self, outcome: Outcome, reply: Reply, now: float) -> None:
        if outcome not in (Outcome.provider_error, Outcome.timed_out):
            self._failures, self._good_at = 0, now
            return
        self._failures += 1
        self._good_at = now if self._good_at is None else self._good_at
        if self._failures >= FAILURES_TO_CLOSE and now - self._good_at > DOWN_S:
            reason = f"{self._failures} failures in a row, the last one: {reply.error}"
            self._close(None, _Closing(outcome, reason, now + DOWN_S))
            self._failures, self._good_at = 0, None

    def _close(self, model: str | None, closing: _Closing) -> None:
        self._closings[model] = closing
        self._wake()

    def _refuse_if_closed(self, model: str) -> None:
        for scope in (None, model):
            closing = self._closings.get(scope)
            if closing is None:
                continue
            if closing.until > _now():
                raise Closed(closing.outcome, f"not sent, endpoint {self._endpoint.title} is closed: {closing.reason}")
            del self._closings[scope]
            self._proven = self._proven and scope is not None

    def _wake(self) -> None:
        """Everybody who waits looks again whether there is still something to wait for."""
        self._changed.set()
        self._changed = asyncio.Event()
        waiters, self._waiters = self._waiters, deque()
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(False)

    async def _nap(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return

    async def _booked(self, model: str, tokens: int) -> Ticket:
        now = _now()
        start = self._requests.book(1, now).at if self._requests else now
        booking = self._tokens.book(max(tokens, 1), max(start, now)) if self._tokens else None
        start = max(start, booking.at if booking else now)
        while start > _now():
            await self._nap(start - _now())
            self._refuse_if_closed(model)
        return Ticket(model, _now(), booking)

    def _may_start(self) -> bool:
        return self.in_flight < min(int(self.capacity) if self._proven else 1, self._most)

    def _count_in(self) -> None:
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)

    async def _enter(self) -> bool:
        """Takes a place, in the order of asking; False when woken without one, to look again."""
        if not self._waiters and self._may_start():
            self._count_in()
            if not self._proven:
                asyncio.get_running_loop().call_later(PROBE_S, self._prove)
            return True
        waiter: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled() and waiter.result():
                self._leave()
            raise

    def _leave(self) -> None:
        self.in_flight -= 1
        self._pump()

    def _prove(self) -> None:
        if not self._proven:
            self._proven = True
            self._pump()

    def _pump(self) -> None:
        while self._waiters and self._may_start():
            waiter = self._waiters.popleft()
            if not waiter.done():
                self._count_in()
                waiter.set_result(True)


def _paced(throttle: Throttle | None, per_minute: int | None) -> Throttle | None:
    if per_minute is None:
        return None
    if throttle is None:
        return Throttle(per_minute)
    throttle.change(per_minute)
    return throttle


def _now() -> float:
    return asyncio.get_running_loop().time()
