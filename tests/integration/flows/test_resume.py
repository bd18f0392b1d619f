"""Killed at any moment, a run goes on where it was: nothing is lost, nothing is paid for twice."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from storage.store import open_store
from tests.fakes.mock_server import MockServer
from tests.integration.flows.conftest import kill_at_work

FAULTS = {"429": 0.05, "500": 0.05, "reset": 0.05, "truncated": 0.05, "prose": 0.05}
IN_FLIGHT = 8
KILLS = 10
SUITE = """
name: killed
benchmark: robust_review
draws: 200
families: {{source: folder, path: papers, human_scores: papers/human.csv}}
rewrite:
  conditions: [novelty_stance, scope_framing, joint, joint_r2]
  producers:
    - {{name: rules-a, kind: rules, seed: 1}}
judge:
  endpoints:
    mock: {{base_url: "{url}", max_in_flight: {in_flight}, attempts: 12}}
  matrix:
    - {{endpoint: mock, models: [m1, m2, m3, m4], protocols: [standard, strict, persistent]}}
"""


def _project(folder: Path, root: Path, url: str) -> Path:
    papers = folder / "papers"
    source = root / "deployments" / "suites" / "papers"
    for family in ("overlap-reranking", "quiet-frames"):
        shutil.copytree(source / family, papers / family)
    (papers / "human.csv").write_text("family,score\noverlap-reranking,2.0\nquiet-frames,3.33\n")
    suite = folder / "killed.yaml"
    suite.write_text(SUITE.format(url=url, in_flight=IN_FLIGHT))
    return suite


def _start(suite: Path, home: Path, *arguments: str) -> subprocess.Popen[bytes]:
    home.mkdir(exist_ok=True)
    environment = os.environ | {"EVENHAND_HOME": str(home), "EVENHAND_STORE": str(home / "store.duckdb")}
    environment |= {"PYTHONPATH": str(Path.cwd())}
    return subprocess.Popen(
        [sys.executable, "-m", "flows.cli", "run", str(suite), "--json", *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def _run(suite: Path, home: Path, *arguments: str) -> dict[str, str]:
    process = _start(suite, home, *arguments)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err.decode()
    assert b"Traceback" not in err, err.decode()
    return json.loads(out)


def _tables(home: Path) -> dict[str, pl.DataFrame]:
    store = open_store(home / "store.duckdb")
    tables = {
        "judgements": store.query("SELECT key, outcome, scores, protocol, model FROM judgements_best ORDER BY key"),
        "versions": store.query("SELECT key, condition, text_hash FROM versions_best ORDER BY key"),
        "families": store.query("SELECT key, family, text_hash FROM families_best ORDER BY key"),
    }
    doubled = store.query("SELECT attempt_id FROM calls GROUP BY attempt_id HAVING count(*) > 1")
    store.close()
    assert doubled.height == 0
    return tables


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_ten_kills_leave_the_tables_of_an_uninterrupted_run(
    tmp_path: Path, root: Path, prefect_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", prefect_url)
    moments = random.Random(20261130)
    with MockServer(latency_ms=120, faults=FAULTS) as mock:
        suite = _project(tmp_path, root, mock.base_url)
        _run(suite, tmp_path / "clean")
        mock.reset()
        killed_in_judging = 0
        for place in range(KILLS):
            process = _start(suite, tmp_path / "killed")
            # Three kills fall wherever the run is by then, the others among the calls.
            seconds = moments.uniform(1.0, 12.0) if place < 3 else 120.0
            killed_in_judging += kill_at_work(process, mock, moments.randint(1, 14), seconds) > 0
        _run(suite, tmp_path / "killed")
        stats = mock.stats()
        assert _run(suite, tmp_path / "killed")["state"] == "complete"
        assert mock.stats()["requests"] == stats["requests"], "a finished run asked again"
    clean, after = _tables(tmp_path / "clean"), _tables(tmp_path / "killed")
    for name, table in clean.items():
        assert after[name].equals(table), name
    assert killed_in_judging >= 4, "too few kills hit the judging: the test shows nothing"
    refused = stats["faults"].get("truncated", 0) + stats["faults"].get("prose", 0)
    assert stats["served_again"] <= refused + KILLS * IN_FLIGHT
