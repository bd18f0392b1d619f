"""Opening a DuckDB file as the store, and what DuckDB's complaints mean for the user.

Here belongs everything that depends on the pinned DuckDB: the file's header, its formats, the wording of its errors.
Who may open the file and when is ``lease.py``'s matter.
"""

from __future__ import annotations

import os
import re
import struct
from pathlib import Path

import duckdb

from storage.errors import StoreDamaged, StoreError, StoreTooNew
from storage.schema import literal

Connection = duckdb.DuckDBPyConnection

NEWEST_STORAGE = 68
"""The newest file format that the pinned DuckDB reads; a test holds it against the library."""
ROW_GROUP = 2048
"""DuckDB's smallest. A checkpoint writes the last row group anew: with small ones a lease costs the same for ever."""
MACHINE_ERRORS = (duckdb.IOException, duckdb.FatalException, duckdb.InternalException, duckdb.OutOfMemoryException,
                  duckdb.SerializationException)
"""Errors of disk, file or memory. Any other error of DuckDB is about the SQL it was given."""
_FULL = ("No space left", "File too large", "Disk quota", "Could not write", "out of disk")
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False, "autoload_known_extensions": False,
}


def attach(path: Path) -> Connection:
    """A fresh connection whose current database is the file, for one thread.

    Raises:
        duckdb.Error: when it cannot be opened.
    """
    connection = duckdb.connect(config=_CONFIG)
    try:
        connection.execute(f"ATTACH {literal(str(path))} AS store (ROW_GROUP_SIZE {ROW_GROUP})")
        connection.execute("USE store; SET TimeZone = 'UTC'")
    except duckdb.Error:
        connection.close()
        raise
    return connection


def refuse_newer(path: Path) -> None:
    """Reads the file's header before DuckDB does.

    Raises:
        StoreTooNew: when a newer DuckDB wrote it.
        StoreDamaged: when it is no DuckDB file.
    """
    with path.open("rb") as file:
        header = file.read(84)
    if len(header) < 84 or header[8:12] != b"DUCK":
        raise StoreDamaged(f"{path}: this is not a DuckDB file; it was left as it is: name another --store")
    (storage,) = struct.unpack("<Q", header[12:20])
    if storage > NEWEST_STORAGE:
        writer = header[52:84].split(b"\0")[0].decode("ascii", "replace") or "unknown"
        raise StoreTooNew(f"{path}: its file format is {storage}, written by DuckDB {writer}; this DuckDB "
                          f"({duckdb.__version__}) reads up to {NEWEST_STORAGE}: install the newer, or name another "
                          "--store")


def holder_of(error: duckdb.Error) -> int | None:
    """The PID that has the file open, if that is what the error says."""
    text = str(error)
    if found := re.search(r"Conflicting lock is held .*PID (\d+)", text):
        return int(found[1])
    return os.getpid() if "already attached" in text or "same database file" in text else None


def log_is_damaged(error: duckdb.Error) -> bool:
    """Whether the error is about the write-ahead log and not about the file."""
    return "WAL" in str(error)


def explained(error: duckdb.Error, where: object) -> StoreError:
    """The error as one line that says what to do."""
    text = str(error)
    first = text.splitlines()[0]
    if any(word in text for word in _FULL):
        return StoreError(f"{where}: the disk is full ({first}): make room, then run again; journalled rows are kept")
    if any(word in text for word in ("checksum", "not a valid DuckDB", "Corrupt")):
        return StoreDamaged(f"{where}: the file is damaged and was left as it is ({first}): put a backup in its place, "
                            "or move it away to begin anew")
    return StoreError(f"{where}: {first}")
