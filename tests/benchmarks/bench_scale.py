"""The slopes behind deployments/SCALE.md: rows a second into a file and into a served store, looking up, size, task runs.

    .venv/bin/python tests/benchmarks/bench_scale.py
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from prefect import flow, task
from prefect.cache_policies import NO_CACHE

from flows.server import prefect_api
from storage.keys import content_hash
from storage.quack import serve
from storage.records import Call, Judgement, now
from storage.store import Store, open_store
from storage.vocabulary import Outcome
from tests.fakes.stack import free_port

TOKEN = "a-token-for-the-benchmark"
ROWS = 10_000
KEYS = (10_000, 100_000, 1_000_000)
TASKS = 200
ANSWER = '{"summary": "%s", "rating": 6}' % ("A careful paper with one gap. " * 30)


def _call(number: int) -> Call:
    return Call(
        key=content_hash(f"call {number}"), attempt=1, outcome=Outcome.answered, base_url="https://api.example.com/v1",
        api="chat", model="m", messages=[{"role": "user", "parts": [{"kind": "text", "hash": content_hash("paper")}]}],
        parameters={"temperature": 1.0}, repeat=0, answer=ANSWER, input_tokens=9000, output_tokens=400, cost_usd=0.01,
        started_at=now(), latency_ms=800.0,
    )


def _judgement(number: int) -> Judgement:
    return Judgement(
        key=content_hash(f"cell {number}"), protocol="standard", parser="review_json/1", model="m", repeat=0,
        base_url="https://api.example.com/v1", version_hash=content_hash("paper"), outcome=Outcome.answered,
        scores={"overall": 6.0}, call_keys=[content_hash(f"call {number}")], attempt_ids=["0" * 32],
    )


def _fill(store: Store) -> float:
    started = time.perf_counter()
    for number in range(ROWS):
        store.append(_call(number), _judgement(number))
    store.flush()
    return time.perf_counter() - started


def _served(folder: Path) -> float:
    os.environ["EVENHAND_STORE_TOKEN"] = TOKEN
    port, stop = free_port(), threading.Event()
    server = threading.Thread(target=serve, args=(folder / "served.duckdb", port, TOKEN), kwargs={"stop": stop})
    server.start()
    time.sleep(2)
    store = open_store(f"quack://localhost:{port}?blobs={folder}/blobs&journal={folder}/journal")
    seconds = _fill(store)
    store.close()
    stop.set()
    server.join()
    return seconds


@task(cache_policy=NO_CACHE, persist_result=False)
def _nothing(number: int) -> int:
    return number


@flow
def _many() -> None:
    for future in [_nothing.submit(number) for number in range(TASKS)]:
        future.wait()


def main() -> None:
    """Prints the table."""
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = open_store(folder / "store.duckdb")
        seconds = _fill(store)
        print(f"cells into a file        {ROWS / seconds:10,.0f} cells/s  (a call and a judgement each)")
        print(f"cells into a served store{ROWS / _served(folder):10,.0f} cells/s")
        print(f"size                     {(folder / 'store.duckdb').stat().st_size / ROWS:10,.0f} bytes a cell")
        for count in KEYS:
            keys = [content_hash(f"cell {number}") for number in range(count)]
            started = time.perf_counter()
            missing = store.missing("judgements", keys)
            took = time.perf_counter() - started
            print(f"missing of {count:>9,} keys   {took:10.2f} s  ({len(missing):,} missing)")
        store.close()
        with prefect_api(folder / "home"):
            _many()
            started = time.perf_counter()
            _many()
            print(f"task runs                {TASKS / (time.perf_counter() - started):10,.0f} a second")


if __name__ == "__main__":
    main()
