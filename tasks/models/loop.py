"""The one event-loop thread of a process, and how other threads hand it work.

Here belongs the thread's life: started on first use, stopped before the interpreter ends, with nothing left open. What
runs on it is ``engine.py``'s matter.
"""

from __future__ import annotations

import asyncio
import atexit
import gc
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")
TICK_S = 0.25
"""Waiting threads look up this often, so that an exception thrown at them (a Prefect time-out) is seen."""
STOP_S = 10.0
GARBAGE = (20_000, 20, 20)
"""When Python looks for garbage in cycles (its own: 700, 10, 10): requests make many objects and few cycles."""


class LoopThread:
    """An event loop on a daemon thread."""

    def __init__(self) -> None:
        # What is loaded by now stays: looking through all of it for garbage would hold every request up for 300 ms.
        gc.freeze()
        gc.set_threshold(*GARBAGE)
        self.loop = asyncio.new_event_loop()
        self.pid = os.getpid()
        self._closers: list[Callable[[], Awaitable[None]]] = []
        self._thread = threading.Thread(target=self._serve, name="evenhand-engine", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine on the loop and waits for it, from any other thread.

        An exception thrown at the waiting thread (KeyboardInterrupt among them) cancels the work, waits until it has
        let go of what it held, and goes on its way.
        """
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("the engine's loop cannot wait for itself: await the coroutine instead")
        ended = threading.Event()

        async def whole() -> T:
            try:
                return await work
            finally:
                ended.set()

        future: Future[T] = asyncio.run_coroutine_threadsafe(whole(), self.loop)
        try:
            while True:
                try:
                    return future.result(timeout=TICK_S)
                except TimeoutError:
                    if future.done():
                        raise
        except BaseException:
            if not ended.is_set() and future.cancel():
                ended.wait(STOP_S)
            raise

    def at_end(self, close: Callable[[], Awaitable[None]]) -> None:
        """Has ``close`` awaited on the loop before it stops."""
        self._closers.append(close)

    def stop(self) -> None:
        """Cancels what still runs, closes what was opened, ends the thread."""
        if not self._thread.is_alive() or self.pid != os.getpid():
            return
        asyncio.run_coroutine_threadsafe(self._wind_up(), self.loop).result(STOP_S)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(STOP_S)

    async def _wind_up(self) -> None:
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for close in self._closers:
            await close()
        await self.loop.shutdown_asyncgens()

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            self.loop.close()


_lock = threading.Lock()
_shared: LoopThread | None = None


def shared_loop() -> LoopThread:
    """This process's loop thread, started on first use (and anew in a forked child)."""
    global _shared
    with _lock:
        if _shared is None or _shared.pid != os.getpid():
            _shared = LoopThread()
        return _shared


def stop_shared_loop() -> None:
    """Ends this process's loop thread, if it runs; the next use starts another."""
    global _shared
    with _lock:
        running, _shared = _shared, None
    if running is not None:
        running.stop()


atexit.register(stop_shared_loop)
