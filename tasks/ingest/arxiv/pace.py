"""One request at a time, and a pause between two, for all processes of this user on this machine.

Here belongs waiting. arXiv's terms: one connection, one request in three seconds, over all of a user's programs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from filelock import FileLock

INTERVAL_S = 3.0
INTERVAL_VARIABLE = "EVENHAND_ARXIV_INTERVAL_S"
"""Seconds between requests to a host that is not arXiv's own (a mirror); arXiv's own always get their pause."""


def cache_folder() -> Path:
    """The user's folder for such things, one for all working folders."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "evenhand"


def interval_for(base_url: str) -> float:
    """Seconds between the end of one request and the next."""
    host = urlsplit(base_url).hostname or ""
    given = os.environ.get(INTERVAL_VARIABLE)
    if given is None or host == "arxiv.org" or host.endswith(".arxiv.org"):
        return INTERVAL_S
    return max(float(given), 0.0)


class Pace:
    """The queue before one host."""

    def __init__(
        self,
        host: str,
        interval_s: float = INTERVAL_S,
        *,
        folder: Path | None = None,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        place = (folder or cache_folder()) / "pace"
        place.mkdir(parents=True, exist_ok=True)
        safe = "".join(letter if letter.isalnum() or letter in ".-" else "_" for letter in host)
        self._last = place / f"{safe}.last"
        self._lock_path = place / f"{safe}.lock"
        self._interval_s, self._clock, self._sleep = interval_s, clock, sleep

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Holds the only place while the body makes its request; begins when the pause since the last one is over."""
        # A lock of its own for each turn: one lock object let in twice by one thread would not wait.
        with FileLock(self._lock_path):
            self._sleep(self._wait())
            try:
                yield
            finally:
                self._last.write_text(repr(self._clock()), encoding="ascii")

    def _wait(self) -> float:
        try:
            last = float(self._last.read_text(encoding="ascii"))
        except (FileNotFoundError, ValueError):
            return 0.0
        # A clock that was set back must not make anyone wait for ever.
        return min(max(last + self._interval_s - self._clock(), 0.0), self._interval_s)
