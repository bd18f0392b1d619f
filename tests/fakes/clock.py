"""An event loop whose time jumps to the next timer instead of waiting: minutes of pacing are tested in milliseconds."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Jumping(selectors.SelectSelector):
    """Never waits for a timer; waits for other threads only when there is no timer."""

    jumped = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        ready = super().select(None if timeout is None else 0)
        if not ready and timeout is not None and timeout > 0:
            self.jumped += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop on its own time, which starts at 0."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.jumped


def run_virtually(work: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine to its end on a virtual loop."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)
