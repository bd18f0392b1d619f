"""What Prefect, the store and the limiter add to judging: 2,000 cells at 200 ms, 64 in flight, beside a bare loop.

The bare loop sends the same number of requests of the same size with aiohttp and does nothing with the answers; its first request
goes alone, as ours does (an empty account must cost one call), so that what differs is Prefect, store and parsing. Both run in
turn, several times, against one mock server in a process of its own.

    .venv/bin/python tests/benchmarks/bench_operations.py
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import statistics
import sys
import tempfile
import time
from pathlib import Path

import aiohttp

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from flows.benchmark import benchmark
from flows.judge import judge
from flows.server import prefect_api
from storage.store import open_store
from tests.fakes.mock_server import MockServer
from tests.fakes.stack import write_suite

ROUNDS, LATENCY_MS, WIDTH = 3, 200, 64
MODELS, REPEATS = 10, 25
CELLS = 2 * 2 * MODELS * 2 * REPEATS


async def _bare(url: str, body: bytes, nonce: int) -> float:
    """Seconds for the same number of requests without anything of ours."""
    headers = {"Content-Type": "application/json"}
    numbers = iter(range(CELLS))
    started = time.perf_counter()
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=WIDTH)) as session:

        async def lane(most: int) -> None:
            for number in itertools.islice(numbers, most):
                asked = body.replace(b'"NONCE"', str(nonce * CELLS + number).encode())
                async with session.post(f"{url}/chat/completions", data=asked, headers=headers) as answer:
                    json.loads(await answer.read())

        await lane(1)
        await asyncio.gather(*(lane(CELLS) for _ in range(WIDTH)))
    return time.perf_counter() - started


def _body(store_url: str) -> bytes:
    """A request as judging sends it: a paper's text and the schema that is asked for."""
    store = open_store(store_url)
    text = store.get_text(store.query("SELECT text_hash FROM versions_best LIMIT 1")["text_hash"][0])
    message = {"role": "user", "content": text}
    schema = {"type": "json_schema", "json_schema": {"name": "review", "schema": {
        "type": "object", "properties": {"rating": {"type": "integer", "minimum": 1, "maximum": 10}}}}}
    return json.dumps({"model": "m", "messages": [message], "seed": "NONCE", "response_format": schema}).encode()


def main() -> None:
    """Prints the table."""
    logging.disable(logging.WARNING)
    bare: list[float] = []
    ours: list[float] = []
    with tempfile.TemporaryDirectory() as folder, MockServer(latency_ms=LATENCY_MS) as mock:
        place = Path(folder)
        with prefect_api(place / "home"):
            for round_ in range(ROUNDS):
                suite = str(write_suite(
                    place, mock.base_url, f"round{round_}", conditions="novelty_stance", repeats=REPEATS,
                    models=", ".join(f"m{round_}x{number}" for number in range(MODELS)),
                    endpoint=f"max_in_flight: {WIDTH}, attempts: 6",
                ))
                store = str(place / "store.duckdb")
                for stage in ("ingest", "rewrite"):
                    benchmark(suite=suite, store_url=store, only=stage, return_state=True)
                bare.append(asyncio.run(_bare(mock.base_url, _body(store), round_)))
                before, started = mock.stats()["requests"], time.perf_counter()
                state = judge(suite=suite, store_url=store, return_state=True)
                ours.append(time.perf_counter() - started)
                assert state.is_completed() and mock.stats()["requests"] == before + CELLS, state
    ratio = statistics.median(mine / loop for mine, loop in zip(ours, bare, strict=True))
    best = CELLS / WIDTH * LATENCY_MS / 1e3
    print(f"{CELLS:,} cells at {LATENCY_MS} ms, {WIDTH} in flight, {ROUNDS} rounds; at best {best:.2f} s")
    print(f"{'bare loop':<28}{statistics.median(bare):8.2f} s  1.00")
    print(f"{'judge: Prefect and store':<28}{statistics.median(ours):8.2f} s  {ratio:.3f}")


if __name__ == "__main__":
    main()
