"""An event loop whose time jumps to the next timer instead of waiting: minutes of pacing are tested in milliseconds."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Jumping(selectors.SelectSelector):
    """Waits for other threads, never for a timer: while a thread works for the loop, no time passes on it."""

    jumped = 0.0
    threads = 0

    def select(self, timeout: float | None = None) -> list[Any]:
        if self.threads and timeout != 0:
            return super().select(0.01)
        ready = super().select(None if timeout is None else 0)
        if not ready and timeout is not None and timeout > 0:
            self.jumped += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop on its own time, which starts at 0."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def run_in_executor(self, *args: Any) -> Any:
        self._jumping.threads += 1
        future = super().run_in_executor(*args)
        future.add_done_callback(self._returned)
        return future

    def _returned(self, _: Any) -> None:
        self._jumping.threads -= 1

    def time(self) -> float:
        return self._jumping.jumped


def run_virtually(work: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine to its end on a virtual loop."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)
