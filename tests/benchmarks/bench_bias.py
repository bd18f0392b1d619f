"""JudgeBiasBench at its published size: 4,504 items under 18 judges planned, and all numbers with 5,000 draws.

Run it: .venv/bin/python tests/benchmarks/bench_bias.py
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from flows.planning import expected_grid, judging
from flows.suites import load_suite
from storage.store import open_store
from tasks.metrics.bias import bias_json

ITEMS = {
    "length": 291, "authority": 380, "beauty": 304, "assertiveness": 351, "sycophancy": 295, "sentiment": 397,
    "concreteness": 362, "gender": 327, "race": 297, "bandwagon": 500, "superficial-reflection": 500, "position": 500,
}
WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu"]


def write_pairs(folder: Path) -> None:
    """Twelve files of the published forms and sizes, with made-up words."""
    rng = random.Random(0)

    def text(words: int) -> str:
        return " ".join(rng.choice(WORDS) for _ in range(words))

    for bias, count in ITEMS.items():
        is_prompt = bias in ("bandwagon", "superficial-reflection", "position")
        with (folder / f"{bias}_bias.jsonl").open("w") as file:
            for number in range(count):
                record = {"question": f"{bias} {number} {text(10)}?", "label": "response1"}
                for side in ("response1", "response2"):
                    names = [side] if is_prompt else [f"original_{side}", f"rewritten_{side}"]
                    record |= {name: text(150) for name in names}
                file.write(json.dumps(record) + "\n")


def verdicts() -> pl.DataFrame:
    """Random verdicts of 18 judges about all items."""
    rng = np.random.default_rng(0)
    names = np.array(["correct", "wrong", "unparsed"])
    parts = []
    for judge in range(18):
        for bias, count in ITEMS.items():
            drawn = [names[rng.choice(3, size=count, p=(0.7, 0.27, 0.03))] for _ in range(2)]
            items = [f"{bias}-{number}" for number in range(count)]
            parts.append(pl.DataFrame({"item": items, "original": drawn[0], "injected": drawn[1]}).with_columns(
                pl.lit(bias).alias("bias"), pl.lit(f"judge-{judge}").alias("configuration")))
    return pl.concat(parts)


def main() -> None:
    """Prints the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_pairs(folder)
        suite = load_suite("judge_bias", [f"families.path={folder}"])
        store = open_store(folder / "store.duckdb")
        started, used = time.perf_counter(), time.process_time()
        rows = judging(suite, store, expected_grid(suite, store))
        wall, cpu = time.perf_counter() - started, time.process_time() - used
        cells = sum(row.wanted for row in rows)
        print(f"plan     {cells:,} cells (both orders)  {wall:6.2f} s wall  {cpu:6.2f} s of processor")
        store.close()
    frame = verdicts()
    started, used = time.perf_counter(), time.process_time()
    bias_json(frame, draws=5000)
    print(f"metrics  {frame.height:,} pairs, 5,000 draws     {time.perf_counter() - started:6.2f} s wall  "
          f"{time.process_time() - used:6.2f} s of processor")


if __name__ == "__main__":
    main()
