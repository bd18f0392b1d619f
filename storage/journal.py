"""The journal: rows on disk before they are used, so that kill -9 loses none.

One file a process and a time, in the folder beside the store. The first line says whose it is, each further line is
one row: CRC-32, a space, JSON ``[sequence, table, row]``. The file is held by flock as long as its process lives, so a
journal whose lock can be had is one that a dead process left, whatever became of its PID. Here belongs the file; when
its rows are committed and when it may go is the writer's matter.
"""

from __future__ import annotations

import errno
import fcntl
import os
import threading
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import orjson

from storage.errors import StoreError
from storage.records import new_id, now
from storage.schema import PlainRow

SUFFIX = ".jsonl"
FORMAT = 1


class Entry(NamedTuple):
    """One journalled row."""

    sequence: int
    table: str
    row: PlainRow


class Contents(NamedTuple):
    """What a journal holds."""

    id: str
    entries: list[Entry]
    damaged_lines: list[int]
    """Line numbers that do not have their checksum, a torn last line apart (its append never returned)."""


def _line(value: object) -> bytes:
    payload = orjson.dumps(value)
    return b"%08x %s\n" % (zlib.crc32(payload), payload)


def _parse(line: bytes) -> list | None:
    checksum, _, payload = line.partition(b" ")
    try:
        if int(checksum, 16) != zlib.crc32(payload):
            return None
        return orjson.loads(payload)
    except ValueError:
        return None


def read_journal(path: Path) -> Contents:
    """All sound rows of a journal; a torn last line is left out, damaged lines elsewhere are counted."""
    data = path.read_bytes()
    lines = data.split(b"\n")
    torn = lines.pop()  # empty where the last append came to its end
    entries: list[Entry] = []
    damaged: list[int] = []
    for number, line in enumerate(lines, start=1):
        value = _parse(line)
        if value is None:
            damaged.append(number)
        elif number > 1:
            entries.append(Entry(*value))
    if torn and (value := _parse(torn)) is not None and lines:
        entries.append(Entry(*value))
    return Contents(path.name.removesuffix(SUFFIX), entries, damaged)


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise
    return True


class Journal:
    """The journal of this process. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        """Makes and holds a new journal in ``folder``.

        Raises:
            StoreError: when the folder cannot be written to.
        """
        self.id = new_id()
        self.path = folder / (self.id + SUFFIX)
        self.last = 0
        """The sequence of the last row."""
        self._guard = threading.Lock()
        self._syncing = threading.Lock()
        self._dirty = True
        header = _line([0, "", {"format": FORMAT, "pid": os.getpid(), "at": now().isoformat()}])
        hidden = self.path.with_suffix(".new")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            # Locked before it has its name: a journal in sight is never unheld while its process lives.
            _lock(self._file)
            os.write(self._file, header)
            hidden.rename(self.path)
        except OSError as error:
            raise StoreError(f"{folder}: no journal can be written there ({error.strerror}): make room or check its "
                             "permissions") from error
        self.size = len(header)

    def append(self, rows: Sequence[tuple[str, PlainRow]]) -> list[Entry]:
        """Writes rows to the operating system (all or none) and numbers them.

        Raises:
            StoreError: when they could not be written; then none of them is in the journal.
        """
        with self._guard:
            entries = [Entry(self.last + place, table, row) for place, (table, row) in enumerate(rows, start=1)]
            data = b"".join(_line(tuple(entry)) for entry in entries)
            try:
                written = 0
                while written < len(data):
                    written += os.write(self._file, data[written:] if written else data)
            except OSError as error:
                with suppress(OSError):
                    os.ftruncate(self._file, self.size)
                raise StoreError(f"{self.path}: a row could not be journalled ({error.strerror}): make room on the "
                                 "disk, then run again; rows before it are kept") from error
            self.size += len(data)
            self.last += len(entries)
            self._dirty = True
            return entries

    def sync(self) -> None:
        """Forces what was appended to the disk; appends go on meanwhile.

        Raises:
            StoreError: when the disk refuses.
        """
        with self._syncing:
            if not self._dirty or self._file < 0:
                return
            self._dirty = False
            try:
                os.fsync(self._file)
            except OSError as error:
                self._dirty = True
                raise StoreError(f"{self.path}: could not be forced to disk ({error.strerror})") from error

    def close(self, *, remove: bool) -> None:
        """Lets go of the journal; ``remove`` it only when every row of it is in the main file's checkpoint."""
        with self._syncing, self._guard:
            if self._file < 0:
                return
            if remove:
                self.path.unlink(missing_ok=True)
            os.close(self._file)
            self._file = -1


class DeadJournal:
    """A journal that a dead process left, held by us so that nobody else folds it at the same time."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._file = descriptor

    def read(self) -> Contents:
        """Its sound rows."""
        return read_journal(self.path)

    def remove(self) -> None:
        """Deletes it: its rows are in the main file."""
        self.path.unlink(missing_ok=True)

    def set_aside(self) -> Path:
        """Keeps it under a name that is not folded again, for a person to look at."""
        return self.path.rename(self.path.with_suffix(".damaged"))

    def close(self) -> None:
        """Lets go of it."""
        os.close(self._file)


def dead_journals(folder: Path) -> Iterator[DeadJournal]:
    """The journals in ``folder`` that no living process holds, one at a time, each held while it is looked at."""
    for path in sorted(folder.glob("*" + SUFFIX)):
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            # It may have been folded and deleted by another between listing and locking.
            if _lock(descriptor) and path.exists():
                yield DeadJournal(path, descriptor)
        finally:
            os.close(descriptor)
