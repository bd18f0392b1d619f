"""Judge throughput: the engine, every answer durable, beside a plain AsyncOpenAI loop that stores nothing.

    .venv/bin/python tests/benchmarks/bench_judge.py [--calls 2000]

One mock server, a process of its own, serves both in one run. Rounds alternate, the best of each is compared.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import sys
import tempfile
import time
from pathlib import Path

import openai

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from storage.store import Store, open_store
from storage.vocabulary import Outcome
from tasks.models.asks import Ask, Message, Part
from tasks.models.endpoints import EndpointSpec
from tasks.models.engine import Engine
from tests.fakes.mock_server import MockServer

PROMPT_BYTES = 4096
SYSTEM = "You are an expert reviewer. Answer in JSON."
SCHEMA = {
    "type": "object",
    "properties": {
        "summary": {"type": "string"},
        "soundness": {"type": "integer", "minimum": 1, "maximum": 4},
        "rating": {"type": "integer", "enum": [1, 3, 5, 6, 8, 10]},
    },
    "required": ["summary", "soundness", "rating"],
    "additionalProperties": False,
}


def prompts(label: str, calls: int) -> list[str]:
    """Distinct prompts of 4 KB."""
    return [(f"{label} {i} " + "word " * PROMPT_BYTES)[:PROMPT_BYTES] for i in range(calls)]


def plain(base_url: str, texts: list[str], in_flight: int) -> float:
    """Calls a second of a loop as many write it: default client, gather, semaphore; nothing is stored."""

    async def go() -> float:
        gate = asyncio.Semaphore(in_flight)
        form = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA}}
        async with openai.AsyncOpenAI(api_key="none", base_url=base_url, timeout=60) as client:

            async def one(text: str) -> str | None:
                async with gate:
                    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]
                    answer = await client.chat.completions.create(model="m", messages=messages, response_format=form)
                    return answer.choices[0].message.content

            start = time.perf_counter()
            answers = await asyncio.gather(*map(one, texts))
            if not all(answers):
                raise RuntimeError("an answer is missing")
            return len(texts) / (time.perf_counter() - start)

    return asyncio.run(go())


def ours(store: Store, base_url: str, texts: list[str], in_flight: int) -> float:
    """Calls a second of the engine: texts put in the store, asks keyed, every answer journalled and committed."""
    endpoint = EndpointSpec(base_url=base_url, max_in_flight=in_flight)
    engine = Engine(store, run_id="bench")
    start = time.perf_counter()
    system = Part(hash=store.put_text(SYSTEM))

    async def one(text: str) -> Outcome:
        user = Message(role="user", parts=(Part(hash=store.put_text(text)),))
        ask = Ask.at(endpoint, "m", (Message(role="system", parts=(system,)), user), response_schema=SCHEMA)
        return (await engine.ask(ask, endpoint)).outcome

    outcomes = engine.run(engine.gather(texts, one, in_flight * 2))
    store.flush()
    took = time.perf_counter() - start
    if any(outcome is not Outcome.answered for outcome in outcomes) or engine.peak_in_flight(endpoint) > in_flight:
        raise RuntimeError("an answer is missing, or more was in flight than allowed")
    return len(texts) / took


def main() -> None:
    """Prints the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--calls", type=int, default=2000)
    options.add_argument("--rounds", type=int, default=2)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder) / "bench.duckdb")
        print(
            f"{'server':>8} {'in flight':>9} {'limit/s':>8} {'plain/s':>8} {'ours/s':>8} {'of limit':>8} {'x plain':>8}"
        )
        for latency_ms, in_flight in ((200, 64), (200, 256), (0, 64)):
            with MockServer(latency_ms) as server:
                theirs = mine = 0.0
                for turn in range(chosen.rounds):
                    label = f"{latency_ms}/{in_flight}/{turn}"
                    theirs = max(theirs, plain(server.base_url, prompts(f"plain {label}", chosen.calls), in_flight))
                    mine = max(mine, ours(store, server.base_url, prompts(f"ours {label}", chosen.calls), in_flight))
            limit = in_flight / (latency_ms / 1000) if latency_ms else float("inf")
            print(
                f"{latency_ms:>6} ms {in_flight:>9} {limit:>8.0f} {theirs:>8.0f} {mine:>8.0f} "
                f"{mine / limit:>8.2f} {mine / theirs:>8.2f}"
            )
            if not latency_ms:
                print(f"\noverhead a cell with a 0 ms server: ours {1e3 / mine:.2f} ms, plain {1e3 / theirs:.2f} ms")
        store.close()
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
