"""Native reviewers and SciCore against a failing server, killed anywhere: no step is bought twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from storage.records import Call, Judgement, Version
from storage.store import open_store
from storage.vocabulary import TRANSIENT, Outcome
from tests.fakes.mock_server import MockServer

FAULTS = {"429": 0.05, "500": 0.05, "reset": 0.03, "truncated": 0.05, "empty": 0.03}
JUDGE = """
import json, sys
from pathlib import Path
from storage.records import Version
from storage.store import open_store
from tasks.judge.cells import version_refs
from tasks.judge.protocols import Configuration
from tasks.judge.shards import ShardOrder, judge_shard
from tasks.models.endpoints import EndpointSpec
from tasks.models.engine import Engine
url, place = sys.argv[1:]
store = open_store(place)
endpoint = EndpointSpec(name="mock", base_url=url, max_in_flight=8)
versions = tuple(version_refs(store, [version.key for version in store.load(Version)]))
asked = 0
for protocol, options in json.loads(Path(place).with_name("protocols.json").read_text()):
    configuration = Configuration(name=protocol, endpoint="mock", model="m", protocol=protocol, options=options)
    order = ShardOrder(configuration=configuration, endpoint=endpoint, versions=versions)
    asked += judge_shard(store, Engine(store, "run"), order).asked
store.close()
print("asked", asked, flush=True)
"""
PROTOCOLS = [("openreviewer", {"parser": "native"}), ("cyclereviewer", {}), ("deepreviewer", {"mode": "best"}),
             ("ai_scientist", {"ensemble": 3, "reflections": 3}), ("openjudge", {"parser": "native"}),
             ("proreviewer", {"max_steps": 4, "extra_steps": 1}), ("strict", {}), ("core_adapted", {}), ("scicore", {}),
             ("reconstruct_review", {})]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A store with four papers."""
    path = tmp_path / "store.duckdb"
    store = open_store(path)
    for paper in range(4):
        text = f"Paper {paper}\n\nAbstract\n\nWe measure {paper}.\n\n1 Introduction\n\n" + f"It is {paper}.7. " * 60
        store.append(Version(key=f"v{paper}", family_key=f"f{paper}", condition="original",
                             text_hash=store.put_text(text)))
    store.close()
    (tmp_path / "protocols.json").write_text(json.dumps(PROTOCOLS))
    return path


@pytest.fixture
def server() -> Iterator[MockServer]:
    """A running mock with the faults on."""
    with MockServer(latency_ms=15, faults=FAULTS, seed=3) as made:
        yield made


def start(server: MockServer, place: Path) -> subprocess.Popen[str]:
    """A process that judges everything."""
    command = [sys.executable, "-c", JUDGE, server.base_url, str(place)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_kills_inside_a_review_buy_no_step_twice(server: MockServer, place: Path) -> None:
    for seconds in (2.5, 3.0):
        process = start(server, place)
        time.sleep(seconds)
        os.kill(process.pid, signal.SIGKILL)
        process.wait(10)
        assert process.stdout is not None
        process.stdout.close()
    ended = start(server, place)
    said, _ = ended.communicate(timeout=200)
    assert ended.returncode == 0 and "asked" in said
    again = start(server, place)
    before = server.stats()["requests"]
    said, _ = again.communicate(timeout=200)
    store = open_store(place)
    rows, calls = store.load(Judgement), store.load(Call, view=False)
    store.close()
    transient = sum(row.outcome in TRANSIENT for row in rows)
    assert server.stats()["requests"] - before <= transient * 6, "a finished run asked again"
    assert len(rows) == len(PROTOCOLS) * 4
    for row in rows:
        assert bool(row.scores) == (row.outcome is Outcome.answered)
        assert row.scores or row.reason
        assert row.call_keys
    by_key: dict[str, int] = {}
    for call in calls:
        by_key[call.key] = by_key.get(call.key, 0) + (call.outcome is Outcome.answered)
    # Only the fixed parsers that could not read an answer ask on; no other step was answered twice.
    read_again = {key for row in rows if row.protocol in ("cyclereviewer", "deepreviewer") for key in row.call_keys}
    twice = {key: count for key, count in by_key.items() if count > 1 and key not in read_again}
    assert twice == {}
    # A kill loses only the calls in flight.
    assert server.stats()["requests"] - len(calls) <= 2 * 8 + 2
