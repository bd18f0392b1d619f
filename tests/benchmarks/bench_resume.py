"""Resume: 30 configurations x 60 families x 21 versions, all judged already; `run` finds that nothing is to do.

    .venv/bin/python tests/benchmarks/bench_resume.py

The store is filled as a run would fill it (families by the keys of their sources, versions by rewrite keys, judgements by
their cells' keys), then `evenhand run` is timed as a process of its own, its Prefect server included.
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from flows.families import sources_of
from flows.grid import look_up, version_keys
from flows.judge import shard_orders
from flows.suites import load_suite
from storage.records import Family, Judgement, Step, Version
from storage.store import open_store
from storage.vocabulary import Outcome
from tasks.ingest.family import ingest_key
from tasks.ingest.sources import read_source
from tasks.judge.shards import wanted_cells

FAMILIES = 60
SUITE = """
name: resumed
benchmark: robust_review
families: {source: folder, path: papers, human_scores: human.csv}
rewrite:
  producers:
    - {name: rules-a, kind: rules, seed: 1}
    - {name: rules-b, kind: rules, seed: 2}
judge:
  endpoints:
    mock: {base_url: "URL", max_in_flight: 64}
  matrix:
    - {endpoint: mock, models: [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9], protocols: [standard, strict, persistent]}
"""
PAPER = r"""\documentclass{article}\title{Paper %d}\begin{document}\maketitle
\begin{abstract}An abstract of paper %d.\end{abstract}\section{One}%s\end{document}
"""


def lay_out(folder: Path, server: str = "http://127.0.0.1:9/v1") -> Path:
    """Sixty small papers and the suite, whose models are at ``server``."""
    words = "We measure things and report them with care. " * 800
    for place in range(FAMILIES):
        paper = folder / "papers" / f"paper-{place:02}"
        paper.mkdir(parents=True)
        (paper / "main.tex").write_text(PAPER % (place, place, words))
    rows = "".join(f"paper-{place:02},{1 + place % 8}\n" for place in range(FAMILIES))
    (folder / "human.csv").write_text(f"family,score\n{rows}")
    (folder / "resumed.yaml").write_text(SUITE.replace("URL", server))
    return folder / "resumed.yaml"


def fill(suite_file: Path, url: str, *, judged: bool = True) -> int:
    """Every family, version (42 KB each) and, if wanted, judgement of the suite; returns the number of cells."""
    suite, store, chance = load_suite(str(suite_file)), open_store(url), random.Random(0)
    families = []
    for source in sources_of(suite):
        material = read_source(source)
        assert material.project is not None
        key = ingest_key(material)
        text = store.put_text(f"{source.name} " + "words " * 7000)
        family = Family(
            key=key,
            family=source.name,
            source_kind="latex",
            title=source.name,
            text_hash=text,
            source_hash=store.blobs.put(material.archive, "application/x-tar"),
            main_file="main.tex",
        )
        store.append(family, Step(key=key, step="ingest", outcome="done"))
        families.append(family)
    by_name = {family.family: family for family in families}
    for (name, condition, producer), key in version_keys(suite, families).items():
        text = store.put_text(f"{name} {condition} {producer} " + "words " * 7000)
        store.append(
            Version(key=key, family_key=by_name[name].key, condition=condition, text_hash=text),
            Step(key=key, step="rewrite", outcome="done"),
        )
    cells = 0
    for order, _ in shard_orders(suite, look_up(suite, store, families), None):
        manner = order.configuration.manner(order.endpoint)
        for cell in wanted_cells(order.configuration, order.endpoint, order.versions, order.repeats):
            cells += 1
            if not judged:
                continue
            store.append(
                Judgement(
                    key=cell.key,
                    protocol=order.configuration.protocol,
                    parser="review_json/1",
                    base_url=order.endpoint.identity,
                    model=manner.model,
                    version_hash=cell.version.text_hash,
                    repeat=cell.repeat,
                    outcome=Outcome.answered,
                    scores={"overall": float(chance.choice([1, 3, 5, 6, 8, 10])), "soundness": 3.0},
                    call_keys=[],
                    attempt_ids=[],
                )
            )
    store.close()
    return cells


def main() -> None:
    """Fill a store, time two runs over it."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        suite, url = lay_out(folder), str(folder / "store.duckdb")
        started = time.perf_counter()
        cells = fill(suite, url)
        print(f"filled {cells:,} cells in {time.perf_counter() - started:.1f} s")
        environment = os.environ | {"EVENHAND_HOME": str(folder / "home"), "PYTHONPATH": str(Path(__file__).parents[2])}
        for which in ("first", "second"):
            started = time.perf_counter()
            command = [
                sys.executable,
                "-m",
                "flows.cli",
                "run",
                str(suite),
                "--store",
                url,
                "--out",
                str(folder / "out"),
            ]
            ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            seconds = time.perf_counter() - started
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
            print(
                f"{which} run, nothing to do: {seconds:.1f} s (target 20), peak {peak:.2f} GB (target 1), exit {ended.returncode}"
            )
            if ended.returncode:
                sys.exit(ended.stderr)
        started = time.perf_counter()
        subprocess.run(
            [*command[:3], "status", str(suite), "--store", url, "--json"],
            env=environment,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        print(f"status: {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
