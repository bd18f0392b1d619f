"""The store past one machine: a DuckDB server over Quack, DuckDB's own client-server protocol, and its clients.

The server process holds the file and serves it; clients speak the same ``Store`` API over ``quack://host:port``.
Journals stay on the client's machine. Here belong only the connection, the transaction that goes through it, and the
server's loop; what is stored is the same as in a file.

Run a server with ``python -m storage.quack PATH --port N``; its token is read from an environment variable.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import secrets
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import duckdb

from storage.commit import fold_dead
from storage.database import MACHINE_ERRORS, Connection
from storage.errors import EnvironmentProblem, StoreError, StoreHeld, StoreTooNew, UserError
from storage.lease import WAIT_S, FileLease, FileSession
from storage.manifest import Manifest
from storage.migrations import MIGRATIONS
from storage.records import Record
from storage.schema import literal

TOKEN_VARIABLE = "EVENHAND_STORE_TOKEN"  # noqa: S105 - the variable's name, not a token
PORT = 9494
_CHECKPOINT_S = 5.0


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
        self.connection = connection

    def _run(self, sql: str) -> None:
        self.connection.execute(f"FROM quack_query_by_name('store', {literal(sql)})").fetchall()

    def begin(self) -> None:
        """Begins a transaction on the server (a client's own BEGIN would not reach it)."""
        self._run("BEGIN")

    def commit(self) -> None:
        """Ends it, all or nothing."""
        self._run("COMMIT")

    def rollback(self) -> None:
        """Undoes it; a connection that is gone has undone it already."""
        with suppress(duckdb.Error):
            self._run("ROLLBACK")

    def checkpoint(self) -> bool:
        """Asks the server for a checkpoint; False while other clients' transactions hinder it."""
        try:
            self._run("CHECKPOINT")
        except duckdb.Error as error:
            if "write transactions" in str(error) or "CHECKPOINT" in str(error):
                return False
            raise
        return True


class QuackLease:
    """Sessions of a served store. Thread-safe; a process has one at a time."""

    def __init__(self, address: Address, wait_s: float = WAIT_S) -> None:
        self.address = address
        self.wait_s = wait_s
        self._token = token_from(address.token_env)
        self._threads = threading.Lock()
        self._checked = False
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
        connection = duckdb.connect()
        try:
            self._attach(connection)
            yield QuackSession(connection)
        except MACHINE_ERRORS as error:
            raise self._explained(error) from None
        finally:
            connection.close()
            self._threads.release()

    def _attach(self, connection: Connection) -> None:
        load_extensions(connection)
        uri, ssl = self.address.uri, self.address.ssl
        options = "" if ssl is None else f", DISABLE_SSL {not ssl}"
        try:
            connection.execute(f"CREATE SECRET (TYPE quack, TOKEN {literal(self._token)}, SCOPE {literal(uri)})")
            connection.execute(f"ATTACH {literal(uri)} AS store (TYPE quack{options})")
            connection.execute("USE store; SET TimeZone = 'UTC'")
            if not self._checked:
                self._check(connection)
                self._checked = True
        except duckdb.Error as error:
            raise self._explained(error) from None

    def _check(self, connection: Connection) -> None:
        rows = connection.execute("SELECT version, evenhand FROM migrations ORDER BY version DESC").fetchall()
        had, writer = rows[0]
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


def serve(path: str | Path, port: int, token: str, *, host: str = "localhost",
          stop: threading.Event | None = None) -> None:
    """Holds a store file and serves it until told to stop.

    Args:
        path: the DuckDB file; made when it is not there.
        port: the port to listen on.
        token: what clients must show.
        host: other than ``localhost`` only behind a proxy that speaks TLS.
        stop: set it to end; None is for ever.

    Raises:
        StoreHeld, StoreTooNew, StoreDamaged, StoreError: when the file cannot be had, or the port.
        EnvironmentProblem: when the ``cluster`` extra is missing.
    """
    stop = stop or threading.Event()
    lease = FileLease(Path(path).expanduser().resolve())
    with lease.session() as session:
        load_extensions(session.connection)
        fold_dead(lease, session)
        other = ", allow_other_hostname => true" if host not in ("localhost", "127.0.0.1") else ""
        session.connection.execute(
            f"CALL quack_serve({literal(f'quack:{host}:{port}')}, token => {literal(token)}{other})").fetchall()
        while not stop.wait(_CHECKPOINT_S):
            _try_checkpoint(session)
        session.connection.execute(f"CALL quack_stop({literal(f'quack:{host}:{port}')})").fetchall()
        session.checkpoint()


def _try_checkpoint(session: FileSession) -> None:
    # A client's transaction may be under way; the next round is soon enough.
    with suppress(duckdb.TransactionException):
        session.checkpoint()


def main(arguments: list[str] | None = None) -> int:
    """The server process."""
    parser = argparse.ArgumentParser(prog="python -m storage.quack", description="Serves a store to other machines.")
    parser.add_argument("path", help="the DuckDB file to serve")
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--host", default="localhost")
    parser.add_argument("--token-env", default=TOKEN_VARIABLE, help="environment variable with the token")
    given = parser.parse_args(arguments)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        serve(given.path, given.port, token_from(given.token_env), host=given.host, stop=stop)
    except UserError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
