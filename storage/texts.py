"""The texts a process used last, kept in memory, and what it knows to be stored."""

from __future__ import annotations

import threading
from collections import OrderedDict

TEXT_CACHE_BYTES = 64 * 2**20


class TextCache:
    """Texts by hash, up to so many characters. Thread-safe."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._size = 0
        self.stored: set[str] = set()
        """Hashes that are in the store or its journal: they need not be put again."""

    def put(self, name: str, text: str) -> None:
        """Keeps a text; the ones used longest ago make room for it."""
        with self._guard:
            if name not in self._texts:
                self._texts[name] = text
                self._size += len(text)
            self._texts.move_to_end(name)
            while self._size > TEXT_CACHE_BYTES and len(self._texts) > 1:
                _, old = self._texts.popitem(last=False)
                self._size -= len(old)

    def get(self, name: str) -> str | None:
        """The text, if it is in memory."""
        with self._guard:
            text = self._texts.get(name)
            if text is not None:
                self._texts.move_to_end(name)
            return text
