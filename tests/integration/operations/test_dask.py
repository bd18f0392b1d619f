"""Shards on Dask worker processes, with the store behind a Quack server: the tables are those of threads and a file."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import psutil
import pytest

from flows.servant import end
from storage.store import open_store
from tests.fakes.mock_server import MockServer
from tests.fakes.stack import Stack, free_port, tables, write_suite

TOKEN = "a-token-for-the-tests-only"
IN_FLIGHT = 4
CELLS = 2 * 2 * 4
"""Families x versions x configurations."""


@contextmanager
def _served(folder: Path) -> Iterator[str]:
    """A store behind a Quack server; its URL."""
    folder.mkdir()
    port = free_port()
    command = [sys.executable, "-m", "storage.quack", str(folder / "store.duckdb"), "--port", str(port)]
    process = subprocess.Popen(command, env=os.environ | {"EVENHAND_STORE_TOKEN": TOKEN})
    try:
        yield f"quack://localhost:{port}?blobs={folder}/blobs&journal={folder}/journal"
    finally:
        end(process)


def _run(stack: Stack, suite: Path, store: str, home: Path, **variables: str) -> subprocess.Popen[str]:
    environment = os.environ | {"PREFECT_API_URL": stack.url, "EVENHAND_HOME": str(home), "EVENHAND_STORE_TOKEN": TOKEN}
    home.mkdir()
    return subprocess.Popen(
        [sys.executable, "-m", "flows.cli", "run", str(suite), "--store", store, "--json"],
        env=environment | variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )


def _ended(run: subprocess.Popen[str], home: Path) -> None:
    _, said = run.communicate(timeout=300)
    logs = "\n".join(path.read_text()[-3000:] for path in (home / "logs").glob("*.log"))
    assert run.returncode == 0, f"{said}\n{logs}"


def _workers(run: subprocess.Popen[str]) -> list[psutil.Process]:
    """The Dask worker processes of a run: children of its nannies."""
    found = psutil.Process(run.pid).children(recursive=True)
    return [process for process in found if "spawn_main" in " ".join(process.cmdline())]


def _served_tables(url: str) -> dict[str, pl.DataFrame]:
    os.environ["EVENHAND_STORE_TOKEN"] = TOKEN
    try:
        return tables(url)
    finally:
        del os.environ["EVENHAND_STORE_TOKEN"]


@pytest.mark.slow
def test_threads_two_dask_workers_and_one_of_them_killed_give_the_same_tables(stack: Stack, tmp_path: Path) -> None:
    with MockServer(latency_ms=300) as mock:
        suite = write_suite(tmp_path, mock.base_url, conditions="novelty_stance",
                            endpoint=f"max_in_flight: {IN_FLIGHT}, attempts: 4")
        _ended(_run(stack, suite, str(tmp_path / "threads.duckdb"), tmp_path / "a"), tmp_path / "a")
        expected = tables(tmp_path / "threads.duckdb")
        assert expected["judgements"].height == CELLS

        with _served(tmp_path / "dask") as url:
            _ended(_run(stack, suite, url, tmp_path / "b", EVENHAND_DASK="local:2"), tmp_path / "b")
            _same(expected, _served_tables(url))

        mock.reset()
        with _served(tmp_path / "killed") as url:
            run = _run(stack, suite, url, tmp_path / "c", EVENHAND_DASK="local:2")
            deadline = time.monotonic() + 120
            while mock.stats()["served"] < 2:
                assert run.poll() is None and time.monotonic() < deadline, run.communicate()[1]
                time.sleep(0.05)
            killed = _workers(run)[0]
            killed.kill()
            assert mock.stats()["served"] < CELLS, "the kill did not hit the judging"
            _ended(run, tmp_path / "c")
            _same(expected, _served_tables(url))
        assert mock.stats()["served_again"] <= 2 * IN_FLIGHT, "only what was in flight is asked again"
    assert open_store(tmp_path / "threads.duckdb").query("SELECT count(*) AS n FROM calls")["n"][0] == CELLS


def _same(expected: dict[str, pl.DataFrame], found: dict[str, pl.DataFrame]) -> None:
    for name, table in expected.items():
        assert found[name].equals(table), name
