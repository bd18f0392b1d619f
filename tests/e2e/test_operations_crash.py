"""A worker that is killed in the middle, and a run whose cells fail: what the operator sees, and what it costs to go on."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from flows.setup import prepare_limits
from tests.fakes.mock_server import MockServer
from tests.fakes.stack import Stack, kill, tables, write_suite

IN_FLIGHT = 4
CELLS = 2 * 3 * 3 * 2
"""Families x versions x models x protocols."""


@pytest.mark.slow
def test_kill_of_the_worker_mid_judging_then_the_next_run_resumes(stack: Stack, tmp_path: Path) -> None:
    with MockServer(latency_ms=600) as mock:
        suite = write_suite(tmp_path, mock.base_url, models="m1, m2, m3", endpoint=f"max_in_flight: {IN_FLIGHT}")
        with stack.api():
            prepare_limits([str(suite)])
        home = tmp_path / "home"
        with stack.worker(home) as worker:
            first = stack.start("benchmark/benchmark", suite=str(suite))
            deadline = time.monotonic() + 150
            while mock.stats()["served"] < CELLS // 4:
                assert time.monotonic() < deadline, stack.logs(first)
                time.sleep(0.2)
            kill(worker)
        bought = mock.stats()["served"]
        assert 0 < bought < CELLS, "the kill did not hit the judging"
        assert stack.read(first).state_name == "Running", "nobody has told the server"

        second = stack.start("benchmark/benchmark", suite=str(suite))
        assert stack.sweep()
        assert stack.read(first).state_name == "Crashed"
        with stack.worker(home):
            ended = stack.wait(second)
        assert ended.state_name == "Completed", f"{ended.state.message}\n{stack.logs(second)}"
        stats = mock.stats()
        assert stats["requests"] <= CELLS + IN_FLIGHT
        assert stats["served_again"] <= IN_FLIGHT, "only what was in flight is asked again"

        with stack.worker(tmp_path / "clean"):
            assert stack.wait(stack.start("benchmark/benchmark", suite=str(suite))).state_name == "Completed"
    clean, after = tables(tmp_path / "clean" / "store.duckdb"), tables(home / "store.duckdb")
    for name, table in clean.items():
        assert after[name].equals(table), name
