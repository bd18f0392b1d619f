"""A client's side of Quack, DuckDB's own client-server protocol: the store of a server as leases and sessions.

Journals stay on the client's machine; what is stored is the same as in a file. Here belong the address, the connection
and the transaction that goes through it; the server is ``quack.py``.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import secrets
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import duckdb
import pyarrow as pa

from storage.database import MACHINE_ERRORS, Connection
from storage.errors import EnvironmentProblem, StoreError, StoreHeld, StoreTooNew
from storage.manifest import Manifest
from storage.migrations import MIGRATIONS
from storage.records import Record
from storage.schema import literal
from storage.session import Frames, arrow, columns_of

WAIT_S = 60.0
TOKEN_VARIABLE = "EVENHAND_STORE_TOKEN"  # noqa: S105 - the variable's name, not a token
PORT = 9494


class Address(Record):
    """Where a server is and how a client introduces itself."""

    host: str
    port: int
    token_env: str = TOKEN_VARIABLE
    blobs: str | None = None
    journal: str | None = None
    """Folder of this machine's journals; by default under the user's state folder."""
    ssl: bool | None = None
    """Whether to speak TLS; by default only to other machines."""

    @property
    def uri(self) -> str:
        """As DuckDB writes it."""
        return f"quack:{self.host}:{self.port}"


def parse_address(url: str) -> Address:
    """The parts of ``quack://host:port?token_env=NAME&blobs=URL&journal=FOLDER&ssl=true``.

    Raises:
        StoreError: naming the part that is wrong.
    """
    parts = urlsplit(url)
    options = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    if unknown := sorted(set(options) - {"token_env", "blobs", "journal", "ssl"}):
        raise StoreError(f"{url}: unknown option {unknown[0]}: a quack store takes token_env, blobs, journal and ssl")
    if not parts.hostname or parts.username or parts.path.strip("/"):
        raise StoreError(f"{url}: write quack://host:port?token_env=NAME (a token is never part of a URL)")
    if options.get("ssl", "true") not in ("true", "false"):
        raise StoreError(f"{url}: ssl is true or false")
    ssl = options["ssl"] == "true" if "ssl" in options else None
    return Address(host=parts.hostname, port=parts.port or PORT, token_env=options.get("token_env", TOKEN_VARIABLE),
                   blobs=options.get("blobs"), journal=options.get("journal"), ssl=ssl)


def token_from(variable: str) -> str:
    """The token in an environment variable.

    Raises:
        EnvironmentProblem: when it is not set or too short.
    """
    token = os.environ.get(variable, "")
    if len(token) < 16:
        raise EnvironmentProblem(f"{variable} must hold the store server's token (16 characters or more), e.g. "
                                 f"{secrets.token_hex(4)}...: set the same in server and clients")
    return token


def load_extensions(connection: Connection) -> None:
    """Loads Quack from the packages of the ``cluster`` extra; nothing is fetched.

    Raises:
        EnvironmentProblem: when the extra is not installed, or is for another DuckDB.
    """
    for name in ("httpfs", "quack"):
        found = importlib.util.find_spec(f"duckdb_extension_{name}")
        place = Path(found.origin).parent if found and found.origin else None
        files = sorted(place.glob(f"extensions/v{duckdb.__version__}/{name}.duckdb_extension")) if place else []
        if not files:
            raise EnvironmentProblem(f"a quack:// store needs duckdb-extension-{name}=={duckdb.__version__}: install "
                                     "evenhand[cluster]")
        connection.execute(f"LOAD {literal(str(files[0]))}")


class QuackSession:
    """A server's store, as one client uses it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        """Runs one statement at the server, in this session's transaction."""
        return self._there(sql).fetchall()

    def _there(self, sql: str) -> Connection:
        return self._connection.execute(f"FROM quack_query_by_name('store', {literal(sql)})")

    def begin(self) -> None:
        """Begins a transaction at the server (a client's own BEGIN would not hold its inserts)."""
        self.run("BEGIN")

    def commit(self) -> None:
        """Ends it, all or nothing."""
        self.run("COMMIT")

    def rollback(self) -> None:
        """Undoes it; a connection that is gone has undone it already."""
        with suppress(duckdb.Error):
            self.run("ROLLBACK")

    def insert(self, table: str, rows: pa.Table) -> None:
        """Sends rows, by the names of their columns."""
        self._connection.register("incoming", rows)
        try:
            self._connection.execute(
                f"INSERT INTO store.{table} ({columns_of(rows)}) SELECT {columns_of(rows)} FROM incoming").fetchall()
        finally:
            self._connection.unregister("incoming")

    def ask(self, sql: str, params: Sequence[object], frames: Frames) -> pa.Table:
        """Runs one SELECT at the server; the caller's tables are sent there in a transaction that is undone."""
        # CREATE TABLE makes a client's transaction reach the server; without tables to send, the server's own does.
        if frames:
            self._connection.execute("BEGIN")
        else:
            self.run("BEGIN TRANSACTION READ ONLY")
        try:
            sent: dict[str, str] = {}
            for name, frame in frames.items():
                # Of its own name: two clients that create one table at a time would refuse each other.
                sent[name] = f"{name}_{secrets.token_hex(8)}"
                self._connection.register("sent", arrow(frame))
                self._connection.execute(f'CREATE TABLE store."{sent[name]}" AS SELECT * FROM sent').fetchall()
                self._connection.unregister("sent")
            sql = _calling(sql, sent)
            if not params:
                return self._there(sql).to_arrow_table()
            self.run(f"PREPARE asked AS {sql}")
            return self._there(f"EXECUTE asked({', '.join(map(_value, params))})").to_arrow_table()
        finally:
            if frames:
                with suppress(duckdb.Error):
                    self._connection.execute("ROLLBACK")
            else:
                self.rollback()

    def checkpoint(self) -> bool:
        """Asks the server for a checkpoint; False while other clients' transactions hinder it."""
        try:
            self.run("CHECKPOINT")
        except duckdb.Error as error:
            if "CHECKPOINT" in str(error):
                return False
            raise
        return True


def _calling(sql: str, tables: dict[str, str]) -> str:
    """A query in which names mean tables of other names."""
    if not tables:
        return sql
    parts = ", ".join(f'"{name}" AS (SELECT * FROM "{table}")' for name, table in tables.items())
    words = sql.split(None, 1)
    return f"WITH {parts}, {words[1]}" if words[0].upper() == "WITH" else f"WITH {parts} {sql}"


def _value(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool | int | float):
        return repr(value)
    if isinstance(value, datetime):
        return f"{literal(value.isoformat())}::TIMESTAMPTZ"
    if isinstance(value, str):
        return literal(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]" if value else "[]::VARCHAR[]"
    raise TypeError(f"{type(value).__name__} cannot be a parameter of a query")


class QuackLease:
    """Sessions of a served store. Thread-safe; a process has one at a time."""

    def __init__(self, address: Address, wait_s: float = WAIT_S) -> None:
        self.address = address
        self.wait_s = wait_s
        self._token = token_from(address.token_env)
        self._threads = threading.Lock()
        self._checked = False
        self._kept: Connection | None = None
        self.folder = Path(address.journal) if address.journal else _state_folder(address)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.manifest = Manifest(self.folder)

    @contextmanager
    def session(self, wait_s: float | None = None) -> Iterator[QuackSession]:
        """Connects for as long as the ``with`` lasts.

        Raises:
            StoreHeld: when other threads kept it for longer than the wait.
            StoreTooNew: when the server's tables are newer.
            StoreError: when the server cannot be reached or refuses.
        """
        if not self._threads.acquire(timeout=self.wait_s if wait_s is None else wait_s):
            raise StoreHeld(f"{self.address.uri}: other threads of this process kept the connection for too long")
        try:
            connection = self._instance().cursor()
            try:
                self._attach(connection)
                yield QuackSession(connection)
            finally:
                self._detach(connection)
        except MACHINE_ERRORS as error:
            raise self._explained(error) from None
        finally:
            self._threads.release()

    def _instance(self) -> Connection:
        # Kept, as loading the extensions takes a quarter of a second; each session connects anew.
        if self._kept is None:
            self._kept = duckdb.connect()
            load_extensions(self._kept)
            self._kept.execute(
                f"CREATE SECRET (TYPE quack, TOKEN {literal(self._token)}, SCOPE {literal(self.address.uri)})")
        return self._kept

    def _attach(self, connection: Connection) -> None:
        uri, ssl = self.address.uri, self.address.ssl
        options = "" if ssl is None else f", DISABLE_SSL {not ssl}"
        try:
            connection.execute(f"ATTACH {literal(uri)} AS store (TYPE quack{options})")
            # The served file is not the server's own default database: this session of it has to say so.
            connection.execute("FROM quack_query_by_name('store', 'USE store')").fetchall()
            connection.execute("SET TimeZone = 'UTC'")
            if not self._checked:
                self._check(QuackSession(connection))
                self._checked = True
        except duckdb.Error as error:
            raise self._explained(error) from None

    def _detach(self, connection: Connection) -> None:
        try:
            connection.execute("DETACH DATABASE IF EXISTS store")
            connection.close()
        except duckdb.Error:
            if self._kept is not None:
                self._kept.close()
            self._kept = None

    def _check(self, session: QuackSession) -> None:
        had, writer = session.run("SELECT version, evenhand FROM migrations ORDER BY version DESC LIMIT 1")[0]
        ours = MIGRATIONS[-1].version
        if had > ours:
            raise StoreTooNew(f"{self.address.uri}: its tables are version {had}, of Evenhand {writer}; this one knows "
                              f"version {ours}: install the newer one here")
        if had < ours:
            raise StoreError(f"{self.address.uri}: its tables are version {had}, this Evenhand needs {ours}: restart "
                             "the server with the newer one")

    def _explained(self, error: duckdb.Error) -> StoreError:
        text = str(error).replace(self._token, "***").splitlines()[0]
        if "token" in text.lower() or "auth" in text.lower():
            return StoreError(f"{self.address.uri}: the server refuses the token in {self.address.token_env} ({text})")
        return StoreError(f"{self.address.uri}: the server does not answer ({text}): start it with `python -m "
                          "storage.quack PATH`, then run again; journalled rows are kept")


def _state_folder(address: Address) -> Path:
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    name = hashlib.sha256(address.uri.encode()).hexdigest()[:8]
    return state / "evenhand" / f"{address.host}-{address.port}-{name}.journal"
