"""Clients of one served store do not stand in each other's way."""

from __future__ import annotations

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest

from storage.quack import serve
from storage.quack_client import QuackLease, parse_address
from tests.fakes.stack import free_port

TOKEN = "a-token-for-the-tests-only"
CLIENTS, ROUNDS = 4, 12


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with suppress(OSError), socket.create_connection(("localhost", port), 1):
            return
        time.sleep(0.1)


def test_frames_of_one_name_from_several_clients_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENHAND_STORE_TOKEN", TOKEN)
    port, stop = free_port(), threading.Event()
    server = threading.Thread(target=serve, args=(tmp_path / "store.duckdb", port, TOKEN), kwargs={"stop": stop})
    server.start()
    try:
        _wait_for(port)
        address = parse_address(f"quack://localhost:{port}?journal={tmp_path}/journal")
        leases = [QuackLease(address) for _ in range(CLIENTS)]

        def ask(client: int) -> list[int]:
            sums = []
            for round_ in range(ROUNDS):
                frame = pl.DataFrame({"key": list(range(client * round_))}, schema={"key": pl.Int64})
                sql = "SELECT count(*) AS n FROM wanted WHERE key >= ?" if round_ % 2 else (
                    "WITH own AS (SELECT * FROM wanted) SELECT count(*) AS n FROM own WHERE key >= ?")
                with leases[client].session() as session:
                    sums.append(session.ask(sql, [0], {"wanted": frame}).to_pydict()["n"][0])
            return sums

        with ThreadPoolExecutor(CLIENTS) as pool:
            found = list(pool.map(ask, range(CLIENTS)))
        assert found == [[client * round_ for round_ in range(ROUNDS)] for client in range(CLIENTS)]
        with leases[0].session() as session:
            assert session.ask("SELECT list_contains(?, 'b') AS yes", [["a", "b"]], {}).to_pydict()["yes"] == [True]
            left = session.ask("SELECT table_name FROM information_schema.tables WHERE table_name LIKE 'wanted%'", [], {})
            assert left.num_rows == 0
    finally:
        stop.set()
        server.join(30)
