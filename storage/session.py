"""An open store: the few things that the writer, the readers and the verifier do with it.

The same whether the tables are in a file (here) or at a server (``quack_client.py``); nobody else touches a connection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, Protocol

import duckdb
import polars as pl
import pyarrow as pa

from storage.database import Connection
from storage.manifest import Counts, Manifest
from storage.migrations import COUNTED

Frames = Mapping[str, "pl.DataFrame | pa.Table"]
"""Tables of the caller, by the name that the SQL calls them."""


class Session(Protocol):
    """An open store, for one thread and a short time."""

    def begin(self) -> None:
        """Begins a transaction."""

    def commit(self) -> None:
        """Ends it, all or nothing."""

    def rollback(self) -> None:
        """Undoes it."""

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        """Runs one statement in the transaction, where the tables are."""

    def insert(self, table: str, rows: pa.Table) -> None:
        """Inserts rows, by the names of their columns."""

    def ask(self, sql: str, params: Sequence[object], frames: Frames) -> pa.Table:
        """Runs one SELECT outside any transaction; it cannot change anything."""

    def checkpoint(self) -> bool:
        """Brings every committed row into the main file. False when others hindered it and it is to be tried again."""


class Lease(Protocol):
    """Where sessions come from: a file, or a server."""

    folder: Path
    """Journals, manifest and locks of this machine's processes."""
    manifest: Manifest
    wait_s: float

    def session(self, wait_s: float | None = None) -> AbstractContextManager[Session]:
        """An open store, for as long as the ``with`` lasts."""


def columns_of(rows: pa.Table) -> str:
    """The column names of a batch, quoted."""
    return ", ".join(f'"{name}"' for name in rows.column_names)


def arrow(frame: pl.DataFrame | pa.Table) -> pa.Table:
    """A caller's table as Arrow."""
    return frame.to_arrow() if isinstance(frame, pl.DataFrame) else frame


class FileSession:
    """An open store file."""

    def __init__(self, connection: Connection, manifest: Manifest) -> None:
        self.connection = connection
        self._manifest = manifest

    def begin(self) -> None:
        """Begins a transaction."""
        self.connection.execute("BEGIN")

    def commit(self) -> None:
        """Ends it, all or nothing."""
        self.connection.execute("COMMIT")

    def rollback(self) -> None:
        """Undoes it; after an error of the disk DuckDB has undone it already, or will at the next opening."""
        with suppress(duckdb.Error):
            self.connection.execute("ROLLBACK")

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        """Runs one statement."""
        return self.connection.execute(sql).fetchall()

    def insert(self, table: str, rows: pa.Table) -> None:
        """Inserts rows, by the names of their columns."""
        self.connection.register("incoming", rows)
        try:
            self.connection.execute(f"INSERT INTO {table} ({columns_of(rows)}) SELECT {columns_of(rows)} FROM incoming")
        finally:
            self.connection.unregister("incoming")

    def ask(self, sql: str, params: Sequence[object], frames: Frames) -> pa.Table:
        """Runs one SELECT in a transaction that can only read."""
        for name, frame in frames.items():
            self.connection.register(name, arrow(frame))
        self.connection.execute("BEGIN TRANSACTION READ ONLY")
        try:
            return self.connection.execute(sql, list(params)).to_arrow_table()
        finally:
            self.rollback()
            for name in frames:
                self.connection.unregister(name)

    def counts(self) -> Counts:
        """Rows by table."""
        return dict(self.run(" UNION ALL ".join(f"SELECT '{table}', count(*) FROM {table}" for table in COUNTED)))

    def checkpoint(self) -> bool:
        """Brings every committed row into the main file, then promises it."""
        self.run("CHECKPOINT store")
        self._manifest.write(self.counts())
        return True
