"""The engine: what other threads use to ask models, and wait.

Here belongs the surface: one event-loop thread a process, the lines to its endpoints, and for each store and run an
engine that asks, remembers and counts. How a single ask goes is ``asking.py``.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, TypeVar

from storage.records import Call
from storage.store import Store
from storage.vocabulary import Outcome
from tasks.models.asking import Accept, Asking, Counters, Desk
from tasks.models.asks import Ask
from tasks.models.batches import Batches
from tasks.models.budget import Budget
from tasks.models.endpoints import EndpointSpec
from tasks.models.lines import Lines
from tasks.models.loop import LoopThread, shared_loop
from tasks.models.texts import Texts
from tasks.models.uploads import Uploads

PACE_S = 5.0
"""The longest wait for the loop to take new limits."""
Item = TypeVar("Item")
T = TypeVar("T")


def take_any(_: Call) -> Outcome:
    """An ``accept`` that takes every answer."""
    return Outcome.answered


class Engine:
    """Asks models for one store and one run. Methods that are coroutines run on the engine's loop."""

    def __init__(self, store: Store, run_id: str | None = None, budget: Budget | None = None) -> None:
        self._thread, self._lines = _shared_lines()
        self._store = store
        self.budget = budget or Budget()
        self.counters = Counters()
        self._uploads: dict[str, Uploads] = {}
        self._batches: dict[str, Batches] = {}
        self._schemas: set[str] = set()
        self._desk = Desk(store, run_id, self.budget, Texts(store), self.counters, self._uploads_to,
                          self._batches_to)

    async def ask(self, ask: Ask, endpoint: EndpointSpec, accept: Accept = take_any) -> Call:
        """Asks until an answer is accepted or asking on is of no use; every attempt is in the store when this returns.

        Args:
            ask: what is asked; its ``base_url`` is the endpoint's ``identity``.
            endpoint: where, and within what limits.
            accept: reads an answered call and says ``answered``, or why not (``unparsable``, ``out_of_range`` ...):
            then
                it is asked again, within ``endpoint.attempts``. Runs on the loop, so it must be quick.

        Returns:
            The accepted call or the last one. Attempt 0 means it was never sent, and is in no table: over budget,
            endpoint closed (quota gone, key refused, a wait longer than its cap), or a prompt that cannot fit the
            window.

        Raises:
            EnvironmentProblem: when the endpoint's key variable is not set or the extra ``local`` is missing.
            StoreDamaged: when a text or PDF of the ask is not in the store.
            ValueError: when ask and endpoint do not belong together.
        """
        if ask.base_url != endpoint.identity or ask.api != endpoint.api:
            raise ValueError(f"the ask is for {ask.base_url} ({ask.api}), not for endpoint {endpoint.title}")
        if ask.schema_text is not None and ask.schema_hash not in self._schemas:
            self._schemas.add(self._store.put_text(ask.schema_text))
        return await Asking(self._desk, self._lines.to(endpoint), ask).answer(accept)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine on the engine's loop and waits for it; from any thread but the loop's own.

        KeyboardInterrupt, or any exception thrown at the waiting thread, drops what is in flight and goes on its way.
        """
        return self._thread.run(work)

    async def gather(self, items: Iterable[Item], worker: Callable[[Item], Awaitable[T]], width: int) -> list[T]:
        """The results of ``worker`` for each item, in their order, at most ``width`` at a time.

        Never more than ``width`` coroutines exist, so that 37,800 cells do not become as many. The first exception
        stops the rest and is raised.
        """
        results: dict[int, T] = {}
        places = enumerate(items)

        async def lane() -> None:
            for place, item in places:
                results[place] = await worker(item)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(max(width, 1)):
                    group.create_task(lane())
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return [results[place] for place in sorted(results)]

    def peak_in_flight(self, endpoint: EndpointSpec) -> int:
        """The most requests that were ever in flight at an endpoint of this process."""
        return self._lines.to(endpoint).limiter.peak

    def in_flight(self, endpoint: EndpointSpec) -> int:
        """The requests that are in flight at an endpoint from this process now."""
        return self._lines.to(endpoint).limiter.in_flight

    def pace(self, endpoint: EndpointSpec, most: int, rpm: int | None, tpm: int | None) -> None:
        """Sets an endpoint's limits in this process, from any thread; it holds before the next request starts."""
        limiter = self._lines.to(endpoint).limiter
        done = threading.Event()

        def change() -> None:
            limiter.pace(most, rpm, tpm)
            done.set()

        self._thread.loop.call_soon_threadsafe(change)
        done.wait(PACE_S)

    def reopen(self) -> None:
        """Lets endpoints that were closed (quota gone, key refused) be tried again, one request first."""
        self._thread.loop.call_soon_threadsafe(self._lines.reopen)

    def _batches_to(self, endpoint: EndpointSpec) -> Batches:
        batches = self._batches.get(endpoint.fingerprint)
        if batches is None:
            batches = self._batches[endpoint.fingerprint] = Batches(self._store, endpoint, self._desk.run_id)
        return batches

    def _uploads_to(self, endpoint: EndpointSpec) -> Uploads:
        uploads = self._uploads.get(endpoint.fingerprint)
        if uploads is None:
            uploads = self._uploads[endpoint.fingerprint] = Uploads(self._store, endpoint, self._desk.run_id)
        return uploads


_lock = threading.Lock()
_lines: tuple[LoopThread, Lines] | None = None
_engines: dict[tuple[LoopThread, Store, str | None], Engine] = {}


def _shared_lines() -> tuple[LoopThread, Lines]:
    """The loop thread and its lines; a new thread (after a stop, or in a forked child) has lines of its own."""
    global _lines
    thread = shared_loop()
    with _lock:
        if _lines is None or _lines[0] is not thread:
            lines = Lines()
            thread.at_end(lines.close)
            _lines = (thread, lines)
        return _lines


def engine_for(store: Store, run_id: str | None = None, budget: Budget | None = None) -> Engine:
    """This process's engine for a store and a run, made on first use; then endpoints closed earlier are tried again.

    Args:
        store: where texts come from and calls go.
        run_id: enters the call rows.
        budget: the run's; taken when the engine is made, and later calls need not give it.
    """
    thread, lines = _shared_lines()
    key = (thread, store, run_id)
    with _lock:
        engine = _engines.get(key)
        if engine is not None:
            return engine
        for old in [known for known in _engines if known[0] is not thread]:
            del _engines[old]
    engine = Engine(store, run_id, budget)
    thread.loop.call_soon_threadsafe(lines.reopen)
    with _lock:
        return _engines.setdefault(key, engine)
