"""Looking up earlier answers while a shard is going: those who ask in the same moment share one query.

Here belongs the batching. What an earlier answer is worth is decided by who asks; how it is found is
``tasks.models.memory``.
"""

from __future__ import annotations

import asyncio

from storage.records import Call
from storage.store import Store
from tasks.models.memory import recall


class Recalls:
    """Earlier answers by the key of their ask; used from the engine's loop, filled ahead from the shard's thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._found: dict[str, list[Call]] = {}
        self._looked_up: set[str] = set()
        self._wanted: dict[str, asyncio.Future[None]] = {}
        self._fetching: asyncio.Task[None] | None = None

    def look_up(self, keys: list[str]) -> None:
        """Finds the answers of many asks in one query, before the shard begins."""
        new = [key for key in keys if key not in self._looked_up]
        self._found |= recall(self._store, new)
        self._looked_up.update(new)

    async def of(self, key: str) -> list[Call]:
        """The answered attempts of one ask, the oldest first.

        Raises:
            StoreError: when the store cannot be read.
        """
        if key not in self._looked_up:
            future = self._wanted.get(key)
            if future is None:
                future = self._wanted[key] = asyncio.get_running_loop().create_future()
                if self._fetching is None or self._fetching.done():
                    self._fetching = asyncio.create_task(self._fetch())
            await asyncio.shield(future)
        return self._found.get(key, [])

    async def _fetch(self) -> None:
        """Fetches whatever is wanted by now, until nothing is."""
        while self._wanted:
            batch, self._wanted = self._wanted, {}
            try:
                found = await asyncio.to_thread(recall, self._store, list(batch))
            except BaseException as error:
                for future in batch.values():
                    if isinstance(error, Exception):
                        future.set_exception(error)
                    else:
                        future.cancel()
                if not isinstance(error, Exception):
                    raise
                continue
            self._found |= found
            self._looked_up.update(batch)
            for future in batch.values():
                future.set_result(None)
