"""What SciStyleBench costs at the paper's size: ranking, planning, numbers. Prints a small table.

Aims: 600 ideas x 400 candidates made unique and ranked in under 30 s; 648,000 cells planned in under 15 s and 1 GB;
648,000 x 6 scores with 1,000 draws in under 20 s. CPU seconds are shown beside wall time, which other work lengthens.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from flows.planning import expected_grid, judging
from flows.suites import load_suite
from storage.ideas import Idea
from storage.store import open_store
from tasks.metrics.style_frame import DIMENSIONS, OVERALL, VARIANTS
from tasks.metrics.style_results import style_json
from tasks.retrieve.dedupe import unique
from tasks.retrieve.queries import ranking_text
from tasks.retrieve.ranking import ranked
from tasks.retrieve.works import Found

ROOT = Path(__file__).resolve().parents[2]
IDEAS = [json.loads(line) for line in (ROOT / "deployments/suites/ideas/ideas.jsonl").read_text().splitlines()]


def peak_gib() -> float:
    """The most memory this program held; ``ru_maxrss`` would count what the process was before it became this program."""
    kib = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert kib is not None
    return int(kib[1]) / 2**20


def ranking() -> str:
    """De-duplication and ranking of 400 candidates for each of 600 ideas; a sixth of them, scaled."""
    ideas = [Idea.model_validate({name: value for name, value in idea.items() if name != "id"}) for idea in IDEAS]
    words = " ".join(idea.text for idea in ideas).split()
    rng = random.Random(1)
    pools = [
        [Found(title=" ".join(rng.sample(words, 9)), abstract=" ".join(rng.choices(words, k=160)), year=2020,
               authors=(f"A Name{rng.randrange(200)}",), doi=f"10.5555/{place}-{n % 380}", provider="openalex")
         for n in range(400)]
        for place in range(4)
    ]
    for place in range(100):
        idea = ideas[place % len(ideas)]
        ranked(unique(pools[place % 4], idea).works, ranking_text(idea))[:50]
    return "x 6 for 600 ideas x 400 candidates"


def planning() -> str:
    """The whole matrix of the paper, nothing cached."""
    with tempfile.TemporaryDirectory() as folder:
        many = [{**IDEAS[n % len(IDEAS)], "id": f"i{n}", "title": f"{IDEAS[n % len(IDEAS)]['title']} {n}"}
                for n in range(600)]
        path = Path(folder) / "ideas.jsonl"
        path.write_text("\n".join(map(json.dumps, many)))
        suite = load_suite("sci_style", [f"families.path={path}", 'contexts.1.pools={"*": ideas/corpus.jsonl}'])
        store = open_store(Path(folder) / "store.duckdb")
        cells = sum(row.wanted for row in judging(suite, store, expected_grid(suite, store)))
        store.close()
    peak = peak_gib()
    return f"{cells:,} cells, peak {peak:.2f} GiB"


def numbers() -> str:
    """24 judges and methods x 3 settings x 600 ideas x 15 variants x 6 scores, 1,000 draws."""
    rng = np.random.default_rng(1)
    ideas = [f"i{n}" for n in range(600)]
    axes = np.meshgrid(np.arange(24), np.arange(3), np.arange(600), np.arange(15), np.arange(6), indexing="ij")
    judge, context, idea, variant, dimension = (axis.ravel() for axis in axes)
    names = [*DIMENSIONS, OVERALL]
    frame = pl.DataFrame({
        "configuration": pl.Series([f"j{n}" for n in range(24)])[judge], "context": pl.Series(["a", "b", "c"])[context],
        "idea": pl.Series(ideas)[idea], "variant": pl.Series(list(VARIANTS))[variant],
        "dimension": pl.Series(names)[dimension],
        "score": rng.integers(1, 11, size=judge.size).astype(float),
    })
    document = style_json(frame, draws=1000)
    return f"{frame.height:,} scores, {len(document['configurations'])} configurations"


PARTS: dict[str, Callable[[], str]] = {"ranking": ranking, "planning": planning, "numbers": numbers}


def main() -> None:
    """Each part in a process of its own, so that one's memory is not another's."""
    if len(sys.argv) > 1:
        wall, cpu = time.perf_counter(), time.process_time()
        said = PARTS[sys.argv[1]]()
        spent = f"{time.process_time() - cpu:8.1f} s CPU {time.perf_counter() - wall:8.1f} s wall"
        print(f"{sys.argv[1]:10} {spent}   {said}")
        return
    for name in PARTS:
        subprocess.run([sys.executable, __file__, name], check=True)


if __name__ == "__main__":
    main()
