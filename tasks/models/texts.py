"""The texts of prompts, fetched from the store by hash and kept for a while.

Here belongs keeping memory small and the event loop free: papers are read in batches on another thread, each once while
it is of use, and the least recently used go first.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable

from storage.store import Store

KEPT_CHARS = 64_000_000


class Texts:
    """A cache of stored texts for one engine; used from its loop only."""

    def __init__(self, store: Store, kept_chars: int = KEPT_CHARS) -> None:
        self._store = store
        self._room = kept_chars
        self._kept: OrderedDict[str, str] = OrderedDict()
        self._wanted: dict[str, asyncio.Future[str]] = {}
        self._fetching: asyncio.Task[None] | None = None

    async def get(self, hashes: Iterable[str]) -> dict[str, str]:
        """The texts by hash.

        Raises:
            storage.errors.StoreDamaged: when the store does not hold one of them.
        """
        found: dict[str, str] = {}
        late: dict[str, asyncio.Future[str]] = {}
        for name in hashes:
            text = self._kept.get(name)
            if text is not None:
                self._kept.move_to_end(name)
                found[name] = text
            else:
                late[name] = self._want(name)
        for name, future in late.items():
            found[name] = await asyncio.shield(future)
        return found

    def _want(self, name: str) -> asyncio.Future[str]:
        future = self._wanted.get(name)
        if future is None:
            future = self._wanted[name] = asyncio.get_running_loop().create_future()
            if self._fetching is None or self._fetching.done():
                self._fetching = asyncio.create_task(self._fetch())
        return future

    async def _fetch(self) -> None:
        """Fetches whatever is wanted by now, until nothing is: those who ask in the same moment share one query."""
        served: set[str] = set()
        while batch := [name for name in self._wanted if name not in served]:
            served.update(batch)
            try:
                texts = await asyncio.to_thread(self._store.get_texts, batch)
            except BaseException as error:
                self._fail(batch, error)
                if not isinstance(error, Exception):
                    raise
                continue
            for name in batch:
                self._keep(name, texts[name])
                self._settle(name).set_result(texts[name])

    def _fail(self, batch: list[str], error: BaseException) -> None:
        for name in batch:
            future = self._settle(name)
            if isinstance(error, Exception):
                future.set_exception(error)
            else:
                future.cancel()

    def _settle(self, name: str) -> asyncio.Future[str]:
        return self._wanted.pop(name)

    def _keep(self, name: str, text: str) -> None:
        self._kept[name] = text
        self._room -= len(text)
        while self._room < 0 and len(self._kept) > 1:
            _, dropped = self._kept.popitem(last=False)
            self._room += len(dropped)
