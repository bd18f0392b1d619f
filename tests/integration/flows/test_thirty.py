"""The paper's suite, whole: thirty configurations, SciCore, its ablations and the analyses, at a server that fails in every way.

What is changed of ``robust_review.yaml`` is only where the papers, the writers and the models are.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from storage.records import Judgement
from storage.store import open_store
from storage.vocabulary import TRANSIENT, Outcome
from tests.fakes.mock_server import MockServer
from tests.integration.flows.conftest import kill_at_work

FAULTS = {
    "429": 0.02, "429-noheader": 0.01, "500": 0.02, "503": 0.01, "hang": 0.001, "slow": 0.005, "reset": 0.02, "truncated": 0.02,
    "empty": 0.01, "null": 0.01, "prose": 0.02, "badschema": 0.01, "outofrange": 0.01, "stringnum": 0.01, "refusal": 0.01,
    "html": 0.01,
}
UNREADABLE = ("truncated", "empty", "null", "prose", "badschema", "outofrange", "stringnum", "refusal")
GENERAL = ("standard", "strict", "persistent", "core_standard", "core_strict", "core_persistent", "core_adapted")
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
        endpoint |= {"base_url": url, "max_in_flight": IN_FLIGHT, "attempts": 6, "timeout_s": 6}
    path = folder / "thirty.yaml"
    path.write_text(yaml.safe_dump(suite))
    return path


def _start(suite: Path, home: Path) -> subprocess.Popen[bytes]:
    environment = os.environ | {"EVENHAND_HOME": str(home), "PYTHONPATH": str(Path.cwd())}
    return subprocess.Popen(
        [sys.executable, "-m", "flows.cli", "run", str(suite), "--json", "--out", str(home / "out")],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )


def _judgements(home: Path) -> list[Judgement]:
    store = open_store(home / "store.duckdb")
    rows = store.load(Judgement)
    store.close()
    return rows


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
        busy = in_flight = 0
        for _ in range(KILLS):
            flying = kill_at_work(_start(suite, home), mock, moments.randint(20, 500), seconds=120)
            busy += flying > 0
            in_flight += flying
        ended, seen = _run(suite, home), mock.stats()
        open_cells = {row.key for row in _judgements(home) if row.outcome in TRANSIENT}
        again, after = _run(suite, home), mock.stats()
    rows = _judgements(home)
    store = open_store(home / "store.duckdb")
    calls = store.query("SELECT key, outcome FROM calls")
    store.close()
    assert busy >= 2, "too few kills hit the judging: the test shows nothing"
    for row in rows:
        assert bool(row.scores) == (row.outcome is Outcome.answered)
        assert row.scores or row.reason
    asked = after["requests"] - seen["requests"]
    assert asked == 0 if not open_cells else asked <= len(open_cells) * 40, f"a finished run asked {asked} again"
    lost = after["requests"] - calls.height
    assert lost <= in_flight + KILLS * IN_FLIGHT, f"{lost} answers are in no table, {in_flight} were in flight at the kills"
    # Parsers of the native reviewers ask again for what they cannot read; of all others no answer was bought twice.
    answered = Counter(calls.filter(calls["outcome"] == "answered")["key"].to_list())
    general = {key for row in rows if row.protocol in GENERAL and row.outcome is Outcome.answered for key in row.call_keys}
    twice = sum(answered[key] - 1 for key in general if answered[key] > 1)
    assert len(general) > 400 and twice <= sum(seen["faults"].get(kind, 0) for kind in UNREADABLE) / 2
    told = json.loads((home / "out" / "metrics.json").read_text())
    counts = {each["name"]: each["cells"] for each in told["configurations"]}
    with_reviewers = {"OpenReviewer", "CycleReviewer", "DeepReviewer", "AI Scientist", "OpenJudge", "ProReviewer", "SciCore"}
    assert with_reviewers <= set(counts) and len(counts) >= 39
    for name, cells in counts.items():
        assert cells["wanted"] == cells["answered"] + sum(cells["missing"].values()), name
        assert "not_run" not in cells["missing"], name
        # The server knows the general form; of what it says to those who were trained on another form, some read nothing.
        assert cells["answered"] > 0 or name in with_reviewers, (name, cells)
    analyses = {each["name"]: each for each in told["sections"]["analyses"]}
    wanted = yaml.safe_load(suite.read_text())["analyses"]
    assert set(analyses) == {each["name"] for each in wanted}
    assert all(each["rows"] or each["reason"] for each in analyses.values())
    print(f"\n{len(rows)} judgements, {sum(answered.values())} answers, {lost} lost with {in_flight} in flight at kills, {twice} twice, {seen['requests']} requests, "
          f"faults {dict(Counter(seen['faults']))}; {ended['state']} with {len(open_cells)} cells to try again, then {again['state']}")
