"""Memory while 37,800 cells of 42 KB papers are judged: 30 configurations x 60 families x 21 versions at a server without latency.

    .venv/bin/python tests/benchmarks/bench_memory.py

`evenhand run` is a process of its own; what it and its children hold is looked at twice a second, Prefect's server (another program,
started by its keeper) apart from it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.benchmarks.bench_resume import fill, lay_out
from tests.fakes.mock_server import MockServer

TARGET_GB = 1.5


def held(process: psutil.Process) -> tuple[int, int]:
    """Bytes that the run holds, and that the Prefect server beside it holds."""
    run = server = 0
    for each in (process, *process.children(recursive=True)):
        try:
            size, words = each.memory_info().rss, " ".join(each.cmdline())
        except psutil.Error:
            continue
        if "uvicorn" in words or "flows.keeper" in words:
            server += size
        else:
            run += size
    return run, server


def main() -> None:
    """Fill a store but for its judgements, run, look."""
    with tempfile.TemporaryDirectory() as scratch, MockServer() as mock:
        folder = Path(scratch)
        suite, url = lay_out(folder, mock.base_url), str(folder / "store.duckdb")
        cells = fill(suite, url, judged=False)
        command = [sys.executable, "-m", "flows.cli", "run", str(suite), "--store", url, "--out", str(folder / "out")]
        environment = os.environ | {"EVENHAND_HOME": str(folder / "home"), "PYTHONPATH": str(Path(__file__).parents[2])}
        started = time.perf_counter()
        with (folder / "said").open("w") as said:
            running = subprocess.Popen(command, env=environment, stdout=said, stderr=said)
            peak, beside, process = 0, 0, psutil.Process(running.pid)
            while running.poll() is None:
                run, server = held(process)
                peak, beside = max(peak, run), max(beside, server)
                time.sleep(0.5)
        seconds = time.perf_counter() - started
        if running.returncode:
            sys.exit((folder / "said").read_text())
        served = mock.stats()["served"]
        print(f"{cells:,} cells judged in {seconds:.0f} s ({served:,} answers), report included")
        print(f"peak of the run {peak / 1e9:.2f} GB (target {TARGET_GB}), of Prefect's server {beside / 1e9:.2f} GB")


if __name__ == "__main__":
    main()
