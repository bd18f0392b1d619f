"""What a run has done so far, for whoever looks: the terminal's bars, a JSON line, a Prefect progress artifact.

Stage flows write to the board of their process; they know nothing of terminals. Drawing belongs to
``commands/console.py``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class StageProgress:
    """One stage's counts; ``done`` includes what was cached."""

    name: str
    total: int = 0
    done: int = 0
    cached: int = 0
    failed: int = 0
    started: float = field(default_factory=time.monotonic)
    ended: float | None = None

    def eta_s(self, now: float) -> float | None:
        """Seconds to go at the pace so far of what was not cached; None before the first is done."""
        fresh, left = self.done - self.cached, self.total - self.done
        if left <= 0:
            return 0.0
        return None if fresh <= 0 else (now - self.started) / fresh * left


@dataclass(frozen=True)
class Spent:
    """Live counts of model calls: how many ended, and what they cost (None: a price is unknown)."""

    calls: int = 0
    tokens: int = 0
    usd: float | None = 0.0
    in_flight: int = 0


class Board:
    """Thread-safe counts of the stages of a run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stages: dict[tuple[str, str], StageProgress] = {}
        self._spent: Callable[[], Spent] = Spent
        self._part = ""

    def __reduce__(self) -> tuple[Callable[[], Board], tuple[()]]:
        """In another process (a Dask worker is sent the flow's globals) it is that process's board."""
        return _here, ()

    def clear(self) -> None:
        """Forget everything: a new run begins."""
        with self._lock:
            self._stages.clear()
            self._spent = Spent
            self._part = ""

    def turn_to(self, part: str) -> None:
        """What starts from now on belongs to this part of the run (a companion's name; empty: the suite itself)."""
        with self._lock:
            self._part = part

    def start(self, stage: str, total: int) -> None:
        """A stage begins and will work through ``total`` things."""
        with self._lock:
            self._stages[self._part, stage] = StageProgress(f"{stage} {self._part}".strip(), total)

    def advance(self, stage: str, done: int = 1, *, cached: int = 0, failed: int = 0) -> None:
        """``done`` more things of the stage have ended, of which ``cached`` needed no work and ``failed`` failed."""
        with self._lock:
            entry = self._stages[self._part, stage]
            entry.done += done
            entry.cached += cached
            entry.failed += failed

    def end(self, stage: str) -> None:
        """The stage is over."""
        with self._lock:
            self._stages[self._part, stage].ended = time.monotonic()

    def watch_spending(self, source: Callable[[], Spent]) -> None:
        """Ask ``source`` for the live counts of calls from now on."""
        with self._lock:
            self._spent = source

    def snapshot(self) -> tuple[list[StageProgress], Spent]:
        """A copy of the counts."""
        with self._lock:
            stages = [StageProgress(**vars(stage)) for stage in self._stages.values()]
            source = self._spent
        return stages, source()


def _here() -> Board:
    return BOARD


BOARD = Board()
"""The board of this process: one run at a time writes to it."""
