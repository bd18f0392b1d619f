"""A run through the command line: what it makes, what it says, what it never pays for twice."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes.mock_server import MockServer
from tests.integration.flows.conftest import Ended

Evenhand = Callable[..., Ended]
CELLS = 2 * 3 * 4
"""Families x versions x configurations."""


@pytest.mark.slow
def test_run_resumes_and_buys_nothing_twice(
    evenhand: Evenhand, suite_file: Path, mock: MockServer, tmp_path: Path
) -> None:
    before = evenhand("plan", str(suite_file), "--json").document
    assert before["total"]["to_do"] == CELLS
    assert mock.stats()["requests"] == 0

    first = evenhand("run", str(suite_file), "--json", "--out", str(tmp_path / "out"))
    assert first.code == 0, first.err
    assert first.document["state"] == "complete"
    assert mock.stats()["requests"] == CELLS
    page = (tmp_path / "out" / "index.html").read_text()
    assert "m1/strict" in page and "http://127.0.0.1" not in page.split("<body", 1)[0]
    numbers = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert [entry["cells"]["answered"] for entry in numbers["configurations"]] == [6, 6, 6, 6]

    assert evenhand("run", str(suite_file), "--json").document["state"] == "complete"
    assert mock.stats()["requests"] == CELLS, "a finished run asked again"

    renamed = suite_file.with_name("renamed.yaml")
    renamed.write_text(suite_file.read_text().replace("models:", 'name: "judge {model} {protocol}", models:'))
    assert evenhand("run", str(renamed), "--json").code == 0
    assert mock.stats()["requests"] == CELLS, "a label changed what is asked"

    after = evenhand("plan", str(suite_file), "--json").document
    assert (after["total"]["to_do"], after["total"]["cached"]) == (0, CELLS)
    status = evenhand("status", str(suite_file), "--json").document
    assert status["stages"]["judge"] == {"done": CELLS, "missing": {}}
    assert status["stages"]["rewrite"]["done"] == 6
    verified = evenhand("verify", "--json")
    assert (verified.code, verified.document["damage"]) == (0, [])
    report = evenhand("report", str(suite_file), "--out", str(tmp_path / "again"), "--json")
    assert report.code == 0 and (tmp_path / "again" / "index.html").exists()


@pytest.mark.slow
def test_one_word_of_a_prompt_asks_everything_again(
    evenhand: Evenhand, suite_file: Path, mock: MockServer, tmp_path: Path, root: Path
) -> None:
    assert evenhand("run", str(suite_file), "--only", "ingest").code == 0
    assert evenhand("run", str(suite_file), "--only", "rewrite").code == 0
    assert evenhand("run", str(suite_file), "--only", "judge", "--json").code == 0
    assert mock.stats()["requests"] == CELLS
    copy = tmp_path / "copy"
    for package in ("storage", "tasks", "flows", "deployments"):
        shutil.copytree(root / package, copy / package)
    prompt = copy / "tasks" / "judge" / "prompts" / "strict.md"
    prompt.write_text(prompt.read_text().replace("evidence", "proof", 1))
    assert evenhand("run", str(suite_file), "--only", "judge", "--json", PYTHONPATH=str(copy)).code == 0
    assert mock.stats()["requests"] == CELLS + CELLS // 2, "strict is asked again, standard is not"


@pytest.mark.slow
def test_missing_cells_end_with_3_and_retry_asks_only_them(
    evenhand: Evenhand, suite_file: Path, mock: MockServer
) -> None:
    mock.faults(refusal=0.4, sticky=True)
    gaps = evenhand("run", str(suite_file), "--json")
    assert gaps.code == 3, gaps.err
    missing = evenhand("status", str(suite_file), "--json").document["stages"]["judge"]["missing"]
    assert missing and set(missing) == {"refused"}
    mock.faults()
    asked = mock.stats()["requests"]
    assert evenhand("run", str(suite_file), "--json").code == 3
    assert mock.stats()["requests"] == asked, "a refusal is final until somebody says retry"
    assert evenhand("retry", str(suite_file), "--reason", "refused", "--json").code == 0
    assert mock.stats()["requests"] == asked + missing["refused"]


@pytest.mark.slow
def test_status_answers_while_a_run_is_writing(
    evenhand: Evenhand, suite_file: Path, tmp_path: Path, prefect_url: str
) -> None:
    slow = suite_file.with_name("slow.yaml")
    slow.write_text(
        suite_file.read_text().replace("attempts: 12", "attempts: 12, rpm: 60").replace("name: small", "name: slow")
    )
    environment = os.environ | {"PREFECT_API_URL": prefect_url}
    folder = tmp_path / "a folder"
    run = subprocess.Popen(
        [sys.executable, "-m", "flows.cli", "run", str(slow)],
        cwd=folder,
        stderr=subprocess.PIPE,
        env=environment | {"PYTHONPATH": str(Path.cwd())},
    )
    try:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            done = evenhand("status", str(slow), "--json").document["stages"]["judge"]["done"]
            if 0 < done < CELLS:
                break
        assert 0 < done < CELLS, "status never saw the run at work"
        assert run.poll() is None
    finally:
        run.kill()
        run.communicate()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda text: text.replace("name: small", "name: small\nbudgett: 3"), "budgett: unknown field"),
        (lambda text: text.replace("path: papers,", "path: no-papers,"), "no-papers"),
        (lambda text: text.replace("max_in_flight: 16", "api_key_env: EVENHAND_TEST_NO_KEY"), "EVENHAND_TEST_NO_KEY"),
        (lambda text: text.replace("papers/human.csv", "papers/nobody.csv"), "nobody.csv"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    evenhand: Evenhand, suite_file: Path, spoil: Callable[[str], str], told: str
) -> None:
    suite_file.write_text(spoil(suite_file.read_text()))
    ended = evenhand("run", str(suite_file))
    assert ended.code == 2, ended.err
    assert told in ended.err and "evenhand: " in ended.err.splitlines()[-1]
