"""Every kind of fault at once, on two worker processes that share one provider: each cell ends answered or typed.

The provider's limits are watched from the calls as they were journalled; one is changed while the work is going on. The
key that every request carries is then looked for wherever anything was written.
"""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import polars as pl
import pytest
from prefect.client.schemas.actions import GlobalConcurrencyLimitUpdate

from flows.setup import prepare_limits
from storage.store import Store, open_store
from storage.vocabulary import TRANSIENT
from tasks.models.endpoints import EndpointSpec
from tasks.models.slots import limit_names
from tests.fakes.mock_server import MockServer
from tests.fakes.stack import Stack, write_suite

KINDS = ("429", "429-noheader", "500", "503", "hang", "slow", "reset", "truncated", "empty", "null", "prose",
         "badschema", "outofrange", "stringnum", "refusal", "context", "auth", "html")
FAULTS = {kind: 0.2 / len(KINDS) for kind in KINDS}
IN_FLIGHT, LOWERED, RPM = 32, 8, 7200
MODELS, REPEATS = 25, 25
CELLS = 2 * 2 * MODELS * 2 * REPEATS
"""Families x versions x models x protocols x repeats."""
KEY = "sk-operations-test-Vq83hTz1"


def _served(mock: MockServer, count: int, stack: Stack, run: UUID, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while mock.stats()["requests"] < count:
        state = stack.read(run).state
        assert time.monotonic() < deadline and state is not None and not state.is_final(), f"{state}\n{stack.logs(run)}"
        time.sleep(0.3)


def _most_at_once(calls: pl.DataFrame) -> int:
    """The most calls that were in flight at any moment."""
    starts, ends = np.sort(calls["start"].to_numpy()), np.sort(calls["end"].to_numpy())
    return int(max(place + 1 - np.searchsorted(ends, start, side="right") for place, start in enumerate(starts)))


def _most_a_minute(calls: pl.DataFrame) -> int:
    starts = np.sort(calls["start"].to_numpy())
    return int(max(np.searchsorted(starts, start + 60.0, side="left") - place for place, start in enumerate(starts)))


def _calls(store: Store) -> pl.DataFrame:
    # A little is taken off each end: a call is over for the provider before it is written down here.
    return store.query("SELECT epoch(started_at) AS start, epoch(started_at) + latency_ms / 1000 - 0.002 AS end FROM calls")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_five_thousand_cells_with_every_fault_on_two_workers(stack: Stack, tmp_path: Path) -> None:
    home = tmp_path / "home"
    with MockServer(latency_ms=40, faults=FAULTS) as mock:
        endpoint = f"max_in_flight: {IN_FLIGHT}, rpm: {RPM}, attempts: 6, timeout_s: 4, api_key_env: OPERATIONS_TEST_KEY"
        suite = write_suite(tmp_path, mock.base_url, "faults", conditions="novelty_stance", endpoint=endpoint,
                            models=", ".join(f"m{place}" for place in range(MODELS)), repeats=REPEATS)
        with stack.api():
            prepare_limits([str(suite)])
        with stack.worker(home, EVENHAND_DASK="local:2", OPERATIONS_TEST_KEY=KEY):
            run = stack.start("benchmark/benchmark", suite=str(suite))
            _served(mock, CELLS // 2, stack, run, 240)
            assert _sharers(stack, mock) == 2
            changed = time.time()
            _limit(stack, mock, LOWERED)
            time.sleep(8)
            restored = time.time()
            _limit(stack, mock, IN_FLIGHT)
            ended = stack.wait(run, 300)
    assert ended.state_name in ("Failed", "Completed with gaps"), stack.logs(run)
    store = open_store(home / "store.duckdb")
    outcomes = dict(store.query("SELECT outcome, count(*) FROM judgements_best GROUP BY ALL").iter_rows())
    assert sum(outcomes.values()) == CELLS, outcomes
    assert outcomes["answered"] > 0.9 * CELLS, outcomes
    assert set(outcomes) - {"answered"} <= {"refused", "context_too_long", *(kind.value for kind in TRANSIENT), "truncated",
                                            "empty", "unparsable", "out_of_range", "bad_request"}
    calls = _calls(store)
    assert LOWERED < _most_at_once(calls) <= IN_FLIGHT
    assert _most_a_minute(calls) <= RPM
    lowered = calls.filter((pl.col("end") > changed + 6) & (pl.col("start") < restored))
    assert 0 < _most_at_once(lowered) <= LOWERED, "the value changed in the UI did not take effect"
    assert store.query("SELECT count(DISTINCT run_id) AS n FROM calls")["n"][0] == 1
    _no_key_anywhere(stack, store, home)
    store.close()


def _limit(stack: Stack, mock: MockServer, value: int) -> None:
    """What an operator does in the UI under Concurrency."""
    name = limit_names(EndpointSpec(base_url=mock.base_url)).in_flight
    with stack.client() as client:
        client.update_global_concurrency_limit(name, GlobalConcurrencyLimitUpdate(limit=value))


def _sharers(stack: Stack, mock: MockServer) -> int:
    """How many processes ask the provider."""
    with stack.client() as client:
        name = limit_names(EndpointSpec(base_url=mock.base_url)).sharers
        return client.read_global_concurrency_limit_by_name(name).active_slots


def _no_key_anywhere(stack: Stack, store: Store, home: Path) -> None:
    """The key is in no log, artifact, parameter, result, report, row or blob."""
    for table in ("calls", "judgements", "steps", "runs", "texts"):
        found = store.query(f"SELECT count(*) AS n FROM {table} t WHERE CAST(t AS VARCHAR) LIKE ?", [f"%{KEY}%"])
        assert found["n"][0] == 0, table
    looked = 0
    for folder in (home, stack.folder):
        for path in folder.rglob("*"):
            if path.is_file():
                looked += 1
                assert KEY.encode() not in path.read_bytes(), path
    assert looked > 20, "nothing was looked at: the test shows nothing"
    database = sqlite3.connect(f"file:{stack.folder / 'prefect.db'}?mode=ro", uri=True)
    logs: Any = database.execute("SELECT count(*) FROM log").fetchone()
    artifacts: Any = database.execute("SELECT count(*) FROM artifact WHERE data LIKE ?", [f"%{KEY}%"]).fetchone()
    database.close()
    assert logs[0] > 0 and artifacts[0] == 0
