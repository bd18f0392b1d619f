"""How fast judging is without a network: planning, keys, parsing, rhetoric, and phantoms through the whole path.

Run it as ``.venv/bin/python tests/benchmarks/bench_judging.py``; the ratios are measured side by side in one run.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from storage.records import Version  # noqa: E402
from storage.store import Store, open_store  # noqa: E402
from tasks.judge.cells import VersionRef, version_refs  # noqa: E402
from tasks.judge.form import review_form  # noqa: E402
from tasks.judge.parse import parse_review  # noqa: E402
from tasks.judge.plan import plan  # noqa: E402
from tasks.judge.protocols import Configuration  # noqa: E402
from tasks.judge.shards import ShardOrder, judge_shard  # noqa: E402
from tasks.models.endpoints import EndpointSpec  # noqa: E402
from tasks.models.engine import Engine  # noqa: E402
from tasks.models.phantom import PHANTOMS  # noqa: E402
from tasks.models.rhetoric import features  # noqa: E402
from tasks.models.scales import ICLR  # noqa: E402

FAMILIES, VERSIONS = 60, 21
PAPER = "We propose a novel method and report 12.34 ± 0.21 on the first set, significantly above 11.9 [3]. " * 410


def seconds(work: Callable[[], object], times: int = 1) -> float:
    """Seconds for one of ``times`` runs."""
    started = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - started) / times


def show(what: str, value: str) -> None:
    """One line of the table."""
    print(f"{what:<64}{value:>24}")


def planning(store: Store) -> None:
    """1,260 versions x 30 configurations, without a call."""
    endpoint = EndpointSpec(name="e", base_url="https://api.openai.com/v1", api="responses")
    versions = [
        VersionRef(key=f"{family}.{version}", family_key=str(family), chars=40_000,
                   text_hash=f"sha256:{family:032}{version:032}")
        for family in range(FAMILIES) for version in range(VERSIONS)
    ]
    protocols = ("standard", "strict", "persistent")
    configurations = [
        (Configuration(name=f"c{place}", endpoint="e", model=f"m{place // 3}", protocol=protocols[place % 3]), endpoint)
        for place in range(30)
    ]
    show("plan 37,800 cells (aim under 5 s)", f"{seconds(lambda: plan(store, configurations, versions)):.2f} s")


def reading() -> None:
    """Parsing of answers, beside plain json.loads; rhetoric of a paper."""
    form = review_form("review", ICLR)
    whole = {"summary": "s" * 800, "soundness": 3, "presentation": 3, "contribution": 2, "strengths": ["a" * 300] * 4,
             "weaknesses": ["b" * 300] * 4, "questions": ["c" * 100] * 3, "ethics_flag": False, "rating": 6,
             "confidence": 4}
    answer = json.dumps(whole)
    fenced = f"Here it is:\n```json\n{answer}\n```\nDone."
    plain = seconds(lambda: json.loads(answer), 2000)
    for name, text in (("clean", answer), ("fenced", fenced)):
        ours = seconds(lambda text=text: parse_review(text, form), 2000)  # type: ignore[misc]
        ratio = f"{ours * 1e6:.0f} us ({ours / plain:.1f} x)"
        show(f"parse a {name} review of {len(text)} characters (x json.loads)", ratio)
    rate = len(PAPER) / seconds(lambda: features(PAPER), 50) / 1e6
    show("rhetoric of a paper (aim 5 MB/s)", f"{rate:.1f} MB/s")


def phantoms(store: Store) -> None:
    """30 phantoms over 60 versions, through engine, journal and store; then everything is there."""
    keys = []
    for place in range(60):
        version = Version(key=f"v{place}", family_key=f"f{place // 20}", condition="c",
                          text_hash=store.put_text(f"{place}.{place}7 {PAPER}"))
        store.append(version)
        keys.append(version.key)
    versions = tuple(version_refs(store, keys))
    endpoint = EndpointSpec(name="phantom", kind="phantom", max_in_flight=64)
    engine = Engine(store, "bench")

    def judge() -> None:
        for phantom in PHANTOMS.values():
            configuration = Configuration(name=phantom.name, endpoint="phantom", model=phantom.name,
                                          protocol=phantom.protocol)
            judge_shard(store, engine, ShardOrder(configuration=configuration, endpoint=endpoint, versions=versions))

    cells = len(PHANTOMS) * len(versions)
    first, again = seconds(judge), seconds(judge)
    size = len(PAPER) // 1000
    show(f"phantom cells of {size} KB, all durable ({cells} cells)", f"{first / cells * 1e3:.2f} ms a cell")
    show("the same again, nothing to do", f"{again / cells * 1e3:.2f} ms a cell")


def main() -> None:
    """The table."""
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder) / "store.duckdb")
        planning(store)
        reading()
        phantoms(store)
        store.close()


if __name__ == "__main__":
    main()
