"""Blobs: PDFs, archives and logs in a folder where each is named by its content.

Any fsspec URL will do. A blob appears under its name only when it is complete, and is re-hashed when it is read, so
half a blob is never taken for one. Which blobs there should be is the ``blobs`` table's knowledge.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import fsspec

from storage.errors import StoreDamaged, StoreError
from storage.keys import content_hash
from storage.records import BlobEntry, new_id

log = logging.getLogger(__name__)


class Blobs:
    """The blob folder of a store. Thread-safe."""

    def __init__(self, url: str, record: Callable[[BlobEntry], None]) -> None:
        """``record`` is told of each new blob, for the ``blobs`` table."""
        self.url = url
        self._record = record
        self._known: set[str] = set()
        self._files, root = fsspec.core.url_to_fs(url)
        self._root = str(root).rstrip("/")

    def place(self, name: str) -> str:
        """Where a blob lies, in the blob folder's file system."""
        algorithm, _, digest = name.partition(":")
        return f"{self._root}/{algorithm}/{digest[:2]}/{digest}"

    def put(self, data: bytes, media_type: str) -> str:
        """Stores a blob, once.

        Args:
            data: its bytes.
            media_type: e.g. ``application/pdf``.

        Returns:
            Its hash.

        Raises:
            StoreError: when it cannot be written.
        """
        name = content_hash(data)
        if name in self._known:
            return name
        place = self.place(name)
        try:
            if not self._files.exists(place) or self._files.size(place) != len(data):
                self._write(place, data)
        except OSError as error:
            raise StoreError(f"{place}: cannot be written ({error}): make room or check its permissions") from error
        self._record(BlobEntry(hash=name, size_bytes=len(data), media_type=media_type))
        self._known.add(name)
        return name

    def _write(self, place: str, data: bytes) -> None:
        folder = place.rpartition("/")[0]
        self._files.makedirs(folder, exist_ok=True)
        hidden = f"{folder}/.{new_id()}.new"
        try:
            self._files.pipe_file(hidden, data)
            self._files.mv(hidden, place)
        except OSError:
            if self._files.exists(hidden):
                self._files.rm(hidden)
            raise

    def has(self, name: str) -> bool:
        """Whether the blob lies in the folder (its content is checked when it is read)."""
        return bool(self._files.exists(self.place(name)))

    def get(self, name: str) -> bytes:
        """A blob's bytes.

        Raises:
            StoreDamaged: when it is not there, or is not what its name says.
        """
        try:
            data: bytes = self._files.cat_file(self.place(name))
        except FileNotFoundError:
            raise StoreDamaged(f"{self.place(name)}: the blob is gone: `evenhand verify --repair` has it made again"
                               ) from None
        if content_hash(data) != name:
            raise StoreDamaged(f"{self.place(name)}: the blob is not what its name says (half written or changed): "
                               "`evenhand verify --repair` sets it aside and has it made again")
        return data

    def set_aside(self, name: str) -> None:
        """Moves a damaged blob out of the way, if it is there."""
        self._known.discard(name)
        if self.has(name):
            aside = f"{self._root}/damaged"
            self._files.makedirs(aside, exist_ok=True)
            self._files.mv(self.place(name), f"{aside}/{name.rpartition(':')[2]}.{new_id()}")
