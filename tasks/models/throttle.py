"""A rate that is never exceeded: so many requests, or tokens, in any minute.

Here belongs the arithmetic of booking ahead, on times that the caller gives. Two rules hold together: a token bucket
spreads bookings evenly (the generic cell rate algorithm), and a window of a minute is never filled above the limit.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

WINDOW_S = 61.0
"""A minute and a margin: what is booked at one moment reaches the server a little later, not always equally so."""
BURST_S = 3.0
"""The bucket holds what comes in during this time."""


@dataclass(slots=True)
class Booking:
    """An amount that goes out at a time."""

    at: float
    amount: float
    counted: bool = True


class Throttle:
    """Books amounts so that no minute holds more than ``per_minute``; times only move forward."""

    def __init__(self, per_minute: int) -> None:
        self._limit = float(per_minute)
        self._due = 0.0
        """When everything booked so far would be paid for at the even rate."""
        self._last = 0.0
        self._booked: deque[Booking] = deque()
        self._total = 0.0

    def book(self, amount: float, now: float) -> Booking:
        """The booking of the next ``amount``; an amount above a minute's limit takes an empty minute for itself."""
        amount = min(amount, self._limit)
        at = max(now, self._last, self._due - BURST_S)
        while self._booked and (self._booked[0].at + WINDOW_S <= at or self._total + amount > self._limit):
            oldest = self._booked.popleft()
            oldest.counted = False
            self._total -= oldest.amount
            at = max(at, oldest.at + WINDOW_S)
        self._due = max(self._due, at) + amount * 60.0 / self._limit
        self._last = at
        booking = Booking(at, amount)
        self._booked.append(booking)
        self._total += amount
        return booking

    def change(self, per_minute: int) -> None:
        """Another limit from now on; what is booked stays booked."""
        self._limit = float(per_minute)

    def correct(self, booking: Booking, amount: float | None) -> None:
        """Sets a booking to what was really used; None leaves the estimate."""
        if amount is None:
            return
        change = amount - booking.amount
        booking.amount = amount
        self._due += change * 60.0 / self._limit
        if booking.counted:
            self._total += change
