"""A process's share of a provider: slots leased from its global limit, and a pace to match.

Here belongs how processes share one provider. Each leases slots, asks with as many calls in flight as it has slots, and
paces itself at the same share of the rates; so all of them together stay within the limits, and a value changed in
Prefect's UI takes effect within seconds. What the limits are is ``slots.py``, how one process paces ``limiter.py``.
"""

from __future__ import annotations

import contextvars
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import UUID

import httpx
from prefect.client.orchestration import get_client

from storage.errors import EnvironmentProblem
from tasks.models.endpoints import EndpointSpec
from tasks.models.engine import Engine
from tasks.models.slots import Counter, Limits, PrefectCounter

TICK_S = 1.0
SHARERS_A_TICK = 10
"""With more processes each looks less often, so that all of them together ask Prefect's API as much as ten would."""
RENEW_S = 15.0
PIECES = 4
"""A share is leased in about so many pieces, so that a part of it can be given back."""
SHARED_PACE = 0.93
"""Of a rate, when it is shared: each process may burst a little, and the sum must stay below."""
_LOG = logging.getLogger(__name__)


@dataclass
class Share:
    """One process's share of a provider: what it has leased, and how it paces itself by it."""

    counter: Counter
    engine: Engine
    endpoint: EndpointSpec
    leases: dict[UUID, int] = field(default_factory=dict)
    place: UUID | None = None
    renewed: float = field(default_factory=time.monotonic)
    pause_s: float = TICK_S
    """Until the next tick."""

    @property
    def held(self) -> int:
        """Slots that are leased."""
        return sum(self.leases.values())

    def tick(self) -> None:
        """Read the limits and move towards this process's share: give back what is not in use, take what is free."""
        self._renew()
        if self.place is None:
            self.place = self.counter.join()
        limits = self.counter.limits()
        self.pause_s = TICK_S * max(1.0, limits.sharers / SHARERS_A_TICK)
        while self.held > limits.share and self._gave_back(limits):
            pass
        if self.held < limits.share:
            self._take(limits)
        if self.held <= limits.share:
            self._pace(self.held, limits)

    def _gave_back(self, limits: Limits) -> bool:
        """Whether the smallest piece could be given back: calls in flight keep what they need until they end."""
        lease, size = min(self.leases.items(), key=lambda item: item[1])
        self._pace(self.held - size, limits)
        if self.engine.in_flight(self.endpoint) > self.held - size:
            return False
        del self.leases[lease]
        self.counter.release(lease)
        return True

    def _take(self, limits: Limits) -> None:
        piece = max(limits.share // PIECES, 1)
        while self.held < limits.share:
            size = min(piece, limits.share - self.held)
            lease = self.counter.lease(size)
            if lease is None and size > 1:
                size, lease = 1, self.counter.lease(1)
            if lease is None:
                return
            self.leases[lease] = size

    def _pace(self, ceiling: int, limits: Limits) -> None:
        part = ceiling / limits.in_flight if limits.in_flight else 0.0
        whole = SHARED_PACE if limits.sharers > 1 else 1.0
        rates = [None if rate is None else max(int(rate * part * whole), 1) for rate in (limits.rpm, limits.tpm)]
        self.engine.pace(self.endpoint, ceiling, *rates)

    def _renew(self) -> None:
        if time.monotonic() - self.renewed < RENEW_S:
            return
        self.renewed = time.monotonic()
        self.leases = {lease: size for lease, size in self.leases.items() if self.counter.renew(lease)}
        if self.place is not None and not self.counter.renew(self.place):
            self.place = None

    def leave(self) -> None:
        """Give everything back; nothing more is asked until somebody paces this endpoint again."""
        for lease in [*self.leases, *([self.place] if self.place else [])]:
            self.counter.release(lease)
        self.leases, self.place = {}, None


class _Keeper(threading.Thread):
    """Ticks one share for as long as somebody needs it."""

    def __init__(self, engine: Engine, endpoint: EndpointSpec) -> None:
        super().__init__(name=f"slots-{endpoint.title}", daemon=True)
        self.users = 0
        self.begun = threading.Event()
        self.problem: BaseException | None = None
        self._engine, self._endpoint = engine, endpoint
        self._ending = threading.Event()
        self._settings = contextvars.copy_context()

    def run(self) -> None:
        """The thread's work."""
        self._settings.run(self._keep)

    def _keep(self) -> None:
        try:
            with get_client(sync_client=True) as client:
                share = Share(PrefectCounter(self._endpoint, client), self._engine, self._endpoint)
                try:
                    share.tick()
                    self.begun.set()
                    while not self._ending.wait(share.pause_s):
                        self._tick(share)
                finally:
                    share.leave()
        except (EnvironmentProblem, httpx.HTTPError) as error:
            self.problem = error
        finally:
            self.begun.set()

    def _tick(self, share: Share) -> None:
        """One tick; an API that is away for a moment changes nothing: the share holds, calls go on."""
        try:
            share.tick()
        except httpx.HTTPError as error:
            _LOG.warning("the limits of endpoint %s cannot be read: %s", self._endpoint.title, error)

    def stop(self) -> None:
        """Ends the thread and waits for it."""
        self._ending.set()
        self.join()


_LOCK = threading.Lock()
_KEEPERS: dict[str, _Keeper] = {}


@contextmanager
def shared_limits(engine: Engine, endpoint: EndpointSpec | None) -> Iterator[None]:
    """Calls to an endpoint inside this context stay within the provider's global limits, together with other processes.

    Endpoints in this process (phantoms, the embedded model) have no provider: nothing is done for them.

    Args:
        engine: the process's engine.
        endpoint: what is asked; None does nothing.

    Raises:
        EnvironmentProblem: when the provider has no global limit.
    """
    if endpoint is None or endpoint.kind != "openai":
        yield
        return
    with _LOCK:
        keeper = _KEEPERS.get(endpoint.fingerprint)
        if keeper is None or not keeper.is_alive():
            keeper = _KEEPERS[endpoint.fingerprint] = _Keeper(engine, endpoint)
            keeper.start()
        keeper.users += 1
    keeper.begun.wait()
    try:
        if keeper.problem is not None:
            raise keeper.problem
        yield
    finally:
        with _LOCK:
            keeper.users -= 1
            if keeper.users == 0:
                _KEEPERS.pop(endpoint.fingerprint, None)
                keeper.stop()
