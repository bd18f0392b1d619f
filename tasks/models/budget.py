"""A run's hard limit in dollars and tokens, shared by everything that calls a model in this process.

Here belongs the stop. Before a call goes out its expected cost is set aside; once what is spent and set aside reaches a
limit, no further call starts. Calls in flight finish, so a run ends above its limit by at most what their answers
exceeded their estimates.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock

from storage.store import Store


class BudgetGone(Exception):
    """The run's budget does not allow another call; the message says which limit."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """What a call that is under way is expected to cost."""

    usd: float
    tokens: int


class Budget:
    """Dollars and tokens a run may spend. None means no limit. Thread-safe."""

    def __init__(
        self,
        usd: float | None = None,
        tokens: int | None = None,
        *,
        spent_usd: float = 0.0,
        spent_tokens: int = 0,
    ) -> None:
        self.usd = usd
        self.tokens = tokens
        self.spent_usd = spent_usd
        self.spent_tokens = spent_tokens
        self.unpriced_calls = 0
        """Calls whose price is not known: the dollar limit does not see them."""
        self._held_usd = 0.0
        self._held_tokens = 0
        self._lock = Lock()

    def check(self, usd: float | None, tokens: int) -> None:
        """Refuses, like ``reserve``, and sets nothing aside: for before a call waits for its place."""
        with self._lock:
            self._refuse(usd or 0.0, tokens)

    def reserve(self, usd: float | None, tokens: int) -> Reservation:
        """Sets the expected cost of one call aside, at the moment it goes out.

        Args:
            usd: expected dollars; None when the price is not known.
            tokens: expected tokens, input and output.

        Raises:
            BudgetGone: when the call would go above a limit.
        """
        cost = usd or 0.0
        with self._lock:
            self._refuse(cost, tokens)
            self._held_usd += cost
            self._held_tokens += tokens
        return Reservation(cost, tokens)

    def settle(self, reservation: Reservation, usd: float | None, tokens: int) -> None:
        """Puts what a call really cost in the place of what was set aside; ``usd`` None counts it as unpriced."""
        with self._lock:
            self._held_usd -= reservation.usd
            self._held_tokens -= reservation.tokens
            self.spent_tokens += tokens
            if usd is not None:
                self.spent_usd += usd
            elif tokens:
                self.unpriced_calls += 1

    def _refuse(self, cost: float, tokens: int) -> None:
        if self.usd is not None and self.spent_usd + self._held_usd + cost > self.usd:
            raise BudgetGone(f"not sent: the budget of {self.usd:g} dollars is spent ({self.spent_usd:.2f} so far)")
        if self.tokens is not None and self.spent_tokens + self._held_tokens + tokens > self.tokens:
            raise BudgetGone(f"not sent: the budget of {self.tokens} tokens is spent ({self.spent_tokens} so far)")


def spent(store: Store, run_ids: list[str]) -> tuple[float, int]:
    """Dollars and tokens that the calls of earlier sittings of a run cost, from the store."""
    if not run_ids:
        return 0.0, 0
    frame = store.query(
        "SELECT coalesce(sum(cost_usd), 0.0) AS usd, "
        "coalesce(sum(coalesce(input_tokens, 0) + coalesce(output_tokens, 0)), 0) AS tokens "
        "FROM calls WHERE list_contains(?, run_id)",
        [run_ids],
    )
    usd, tokens = frame.row(0)
    return float(usd), int(tokens)
