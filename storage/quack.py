"""The store's server: holds the file and serves it over Quack, DuckDB's own client-server protocol.

Clients speak the same ``Store`` API over ``quack://host:port`` (``quack_client.py``). Run a server with
``python -m storage.quack PATH --port N``; its token is read from an environment variable.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path

import duckdb

from storage.commit import fold_dead
from storage.errors import UserError
from storage.lease import FileLease
from storage.quack_client import PORT, TOKEN_VARIABLE, load_extensions, token_from
from storage.schema import literal
from storage.session import FileSession

_CHECKPOINT_S = 5.0


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
