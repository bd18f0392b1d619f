"""One Prefect server for the session, papers that build fast, and the command line as a stranger uses it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from flows.server import prefect_api
from tests.fakes.mock_server import MockServer

FAMILIES = {"overlap-reranking": 2.0, "quiet-frames": 3.33}
SUITE = """
name: small
benchmark: robust_review
draws: 200
families: {{source: folder, path: papers, human_scores: papers/human.csv}}
rewrite:
  conditions: [novelty_stance, joint]
  producers:
    - {{name: rules-a, kind: rules, seed: 1}}
judge:
  endpoints:
    mock: {{base_url: "{url}", max_in_flight: 16, attempts: 12}}
  matrix:
    - {{endpoint: mock, models: [m1, m2], protocols: [standard, strict]}}
"""


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Standard output as the one JSON document it has to be."""
        return json.loads(self.out)


@pytest.fixture(scope="session")
def prefect_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The API of a real local server."""
    with prefect_api(tmp_path_factory.mktemp("prefect-home")) as url:
        yield url


@pytest.fixture
def evenhand(prefect_url: str, tmp_path: Path) -> Callable[..., Ended]:
    """Runs ``evenhand`` in a folder with a space in its name, as a process of its own."""
    folder = tmp_path / "a folder"
    folder.mkdir(exist_ok=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("EVENHAND_")}

    def run(*arguments: str, **variables: str) -> Ended:
        ended = subprocess.run(
            [sys.executable, "-m", "flows.cli", *arguments],
            cwd=folder,
            env=environment | {"PREFECT_API_URL": prefect_url, "PYTHONPATH": str(Path.cwd())} | variables,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert "Traceback" not in ended.stderr, ended.stderr
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    return run


@pytest.fixture
def mock() -> Iterator[MockServer]:
    """A model server without faults."""
    with MockServer(latency_ms=5) as server:
        yield server


def kill_at_work(process: subprocess.Popen[bytes], mock: MockServer, requests: int, seconds: float) -> int:
    """Kill a run after so many more requests, or so many seconds; returns how many calls were in flight."""
    begin, deadline = mock.stats()["requests"], time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < deadline:
        if mock.stats()["requests"] >= begin + requests:
            break
        time.sleep(0.02)
    flying = int(mock.stats()["inflight"])
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    return flying


def copy_papers(folder: Path, root: Path) -> Path:
    """The two smallest demonstration papers and their human scores."""
    papers = folder / "papers"
    for family in FAMILIES:
        shutil.copytree(root / "deployments" / "suites" / "papers" / family, papers / family)
    rows = "".join(f"{family},{score}\n" for family, score in FAMILIES.items())
    (papers / "human.csv").write_text(f"family,score\n{rows}")
    return papers


@pytest.fixture
def suite_file(tmp_path: Path, root: Path, mock: MockServer) -> Path:
    """A suite of two papers, two conditions and four configurations at the mock server."""
    copy_papers(tmp_path, root)
    path = tmp_path / "small.yaml"
    path.write_text(SUITE.format(url=mock.base_url))
    return path
