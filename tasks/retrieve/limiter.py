"""One limiter a provider for all processes of this machine: a small file behind a lock says who may ask when.

Here belongs pacing: a distance in time between requests, a number of requests at once, and a provider that is closed
for a while. A killed process leaves nothing behind but its last appointment: locks go with it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from filelock import FileLock, Timeout

_POLL_S: Final = 0.02
LONGEST_CLOSED_S: Final = 26 * 3600.0
"""A daily budget is back after a day; nobody is closed for longer on a server's word."""


class ProviderClosed(Exception):
    """The provider is not to be asked now; says until when (seconds since the epoch) and why."""

    def __init__(self, provider: str, until: float, why: str) -> None:
        super().__init__(f"{provider} is not asked for another {max(0.0, until - time.time()):,.0f} s: {why}")
        self.provider = provider
        self.until = until
        self.why = why


class Limiter:
    """The pace of one provider, shared by every process that uses the same folder."""

    def __init__(self, provider: str, folder: Path, *, interval_s: float, at_once: int,
                 sleep: Callable[[float], None] = time.sleep) -> None:
        """A limiter.

        Args:
            provider: names the files.
            folder: where they lie; all processes that are to respect each other use one folder.
            interval_s: least seconds between the beginnings of two requests.
            at_once: requests in flight at a time, over all processes.
            sleep: waits; tests give another.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self.provider = provider
        self.interval_s = interval_s
        self._state = folder / f"{provider}.json"
        self._lock = FileLock(str(folder / f"{provider}.lock"))
        self._places = [FileLock(str(folder / f"{provider}.{number}.lock"), thread_local=False)
                        for number in range(at_once)]
        self._sleep = sleep

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Waits for a turn and holds a place until the request is over.

        Raises:
            ProviderClosed: when the provider was closed, by any process.
        """
        place = self._place()
        try:
            wait = self._appointment()
            if wait > 0:
                self._sleep(wait)
            yield
        finally:
            place.release()

    def _place(self) -> FileLock:
        # A lock of its own for every holder: a FileLock object is re-entrant, and threads would share it.
        while True:
            self.raise_if_closed()
            for known in self._places:
                lock = FileLock(known.lock_file, thread_local=False)
                try:
                    lock.acquire(blocking=False)
                except Timeout:
                    continue
                return lock
            time.sleep(_POLL_S)

    def _appointment(self) -> float:
        """Seconds until this request may begin; the next one is told a later time."""
        with self._lock:
            state = self._read()
            current = time.time()
            self._raise_if_closed(state, current)
            begin = max(current, float(state.get("next", 0.0)))
            # A clock that was set back must not hold everybody up.
            if begin - current > LONGEST_CLOSED_S:
                begin = current
            self._write({**state, "next": begin + max(self.interval_s, float(state.get("interval", 0.0)))})
        return begin - current

    def slow_down(self, wait_s: float, interval_s: float | None = None) -> None:
        """Nobody asks for ``wait_s`` seconds; from then on at the server's own interval where it named one."""
        with self._lock:
            state = self._read()
            state["next"] = max(float(state.get("next", 0.0)), time.time() + wait_s)
            if interval_s is not None and interval_s > self.interval_s:
                state["interval"] = interval_s
            self._write(state)

    def close(self, seconds: float, why: str) -> None:
        """Nobody asks for so long: the budget is gone, or the server asks for more patience than anyone has."""
        with self._lock:
            until = time.time() + min(max(seconds, 0.0), LONGEST_CLOSED_S)
            self._write({**self._read(), "closed_until": until, "why": why})

    def reopen(self) -> None:
        """The provider may be asked again."""
        with self._lock:
            self._write({name: value for name, value in self._read().items() if name not in ("closed_until", "why")})

    def raise_if_closed(self) -> None:
        """Does nothing while the provider is open.

        Raises:
            ProviderClosed: when it is closed.
        """
        self._raise_if_closed(self._read(), time.time())

    def _raise_if_closed(self, state: dict[str, Any], current: float) -> None:
        until = float(state.get("closed_until", 0.0))
        if current < until <= current + LONGEST_CLOSED_S:
            raise ProviderClosed(self.provider, until, str(state.get("why", "closed")))

    def _read(self) -> dict[str, Any]:
        try:
            state = json.loads(self._state.read_text("utf-8"))
        except (FileNotFoundError, json.JSONDecodeError):
            return {}
        return state if isinstance(state, dict) else {}

    def _write(self, state: dict[str, Any]) -> None:
        part = self._state.with_suffix(".part")
        part.write_text(json.dumps(state), "utf-8")
        part.replace(self._state)
