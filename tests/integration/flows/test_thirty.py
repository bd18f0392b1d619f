"""The paper's suite, whole: thirty configurations, SciCore, its ablations and the analyses, at a server that fails in every way.

What is changed of ``robust_review.yaml`` is only where the papers, the writers and the models are.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from storage.records import Judgement
from storage.store import open_store
from storage.vocabulary import TRANSIENT, Outcome
from tests.fakes.mock_server import MockServer

FAULTS = {
    "429": 0.02, "429-noheader": 0.01, "500": 0.02, "503": 0.01, "hang": 0.001, "slow": 0.005, "reset": 0.02, "truncated": 0.02,
    "empty": 0.01, "null": 0.01, "prose": 0.02, "badschema": 0.01, "outofrange": 0.01, "stringnum": 0.01, "refusal": 0.01,
    "html": 0.01,
}
UNREADABLE = ("truncated", "empty", "null", "prose", "badschema", "outofrange", "stringnum", "refusal")
IN_FLIGHT, KILLS = 16, 4


def _suite(folder: Path, root: Path, url: str) -> Path:
    shipped = root / "deployments" / "suites"
    suite: dict[str, Any] = yaml.safe_load((shipped / "robust_review.yaml").read_text())
    papers = shipped / "papers"
    suite |= {"name": "thirty", "draws": 200, "families": {
        "source": "folder", "path": str(papers), "human_scores": str(papers / "human.csv"),
    }}
    suite["rewrite"] = {
        "conditions": ["joint"], "producers": [{"name": f"rules-{n}", "kind": "rules", "seed": n} for n in (1, 2)],
    }
    for endpoint in suite["judge"]["endpoints"].values():
        endpoint.pop("api_key_env", None)
        endpoint.pop("pdf", None)
        endpoint |= {"base_url": url, "max_in_flight": IN_FLIGHT, "attempts": 12, "timeout_s": 15}
    path = folder / "thirty.yaml"
    path.write_text(yaml.safe_dump(suite))
    return path


def _start(suite: Path, home: Path) -> subprocess.Popen[bytes]:
    environment = os.environ | {"EVENHAND_HOME": str(home), "PYTHONPATH": str(Path.cwd())}
    return subprocess.Popen(
        [sys.executable, "-m", "flows.cli", "run", str(suite), "--json", "--out", str(home / "out")],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )


def _run(suite: Path, home: Path) -> dict[str, Any]:
    process = _start(suite, home)
    out, err = process.communicate(timeout=900)
    assert process.returncode in (0, 3), err.decode()
    assert b"Traceback" not in err, err.decode()
    document: dict[str, Any] = json.loads(out)
    return document


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_every_cell_has_a_score_or_a_typed_reason_and_nothing_is_bought_twice(
    tmp_path: Path, root: Path, prefect_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", prefect_url)
    moments = random.Random(20261201)
    with MockServer(latency_ms=30, faults=FAULTS, seed=7) as mock:
        suite = _suite(tmp_path, root, mock.base_url)
        home = tmp_path / "home"
        busy = 0
        for _ in range(KILLS):
            process, begin = _start(suite, home), mock.stats()["requests"]
            enough, deadline = moments.randint(20, 500), time.monotonic() + 120
            while process.poll() is None and time.monotonic() < deadline and mock.stats()["requests"] < begin + enough:
                time.sleep(0.02)
            busy += mock.stats()["inflight"] > 0
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        ended = _run(suite, home)
        seen = mock.stats()
        again = _run(suite, home)
        after = mock.stats()
    store = open_store(home / "store.duckdb")
    rows = store.load(Judgement)
    names = store.query("SELECT count(*) AS n FROM calls WHERE outcome = 'answered'")["n"][0]
    store.close()
    assert busy >= 2, "too few kills hit the judging: the test shows nothing"
    for row in rows:
        assert bool(row.scores) == (row.outcome is Outcome.answered)
        assert row.scores or row.reason
    transient = sum(row.outcome in TRANSIENT for row in rows)
    assert after["requests"] - seen["requests"] <= transient * 40, "a finished run asked again"
    spoiled = sum(seen["faults"].get(kind, 0) for kind in UNREADABLE)
    endpoints = 8
    assert seen["served_again"] <= spoiled + KILLS * IN_FLIGHT * endpoints
    told = json.loads((home / "out" / "metrics.json").read_text())
    counts = {each["name"]: each["cells"] for each in told["configurations"]}
    with_reviewers = {"OpenReviewer", "CycleReviewer", "DeepReviewer", "AI Scientist", "OpenJudge", "ProReviewer", "SciCore"}
    assert with_reviewers <= set(counts) and len(counts) >= 39
    for name, cells in counts.items():
        assert cells["wanted"] == cells["answered"] + sum(cells["missing"].values()), name
        assert "not_run" not in cells["missing"], name
        assert cells["answered"] > 0, (name, cells)
    analyses = {each["name"]: each for each in told["sections"]["analyses"]}
    wanted = yaml.safe_load(suite.read_text())["analyses"]
    assert set(analyses) == {each["name"] for each in wanted}
    assert all(each["rows"] or each["reason"] for each in analyses.values())
    print(f"\n{len(rows)} judgements, {names} answers, {seen['requests']} requests, served again {seen['served_again']}, "
          f"faults {dict(Counter(seen['faults']))}; {ended['state']}, then {again['state']}")
