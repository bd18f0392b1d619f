"""A Prefect server with our deployments, and workers that are started and killed at will: what operations tests need.

One server serves a test session (``stack``); each test has its own home, store and workers.
"""

from __future__ import annotations

import atexit
import contextlib
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import polars as pl
import psutil
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.objects import FlowRun
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.states import Scheduled

from flows.servant import server, spawn, worker_settings
from flows.setup import prepare
from flows.zombies import sweep
from storage.store import open_store

ROOT = Path(__file__).resolve().parent.parent.parent
PAPERS = ROOT / "deployments" / "suites" / "papers"
FAMILIES = {"overlap-reranking": 2.0, "quiet-frames": 3.33}
SUITE = """
name: {name}
benchmark: robust_review
draws: 200
families: {{source: folder, path: papers, human_scores: papers/human.csv}}
rewrite:
  conditions: [{conditions}]
  producers:
    - {{name: rules-a, kind: rules, seed: 1}}
judge:
  repeats: {repeats}
  endpoints:
    mock: {{base_url: "{url}", {endpoint}}}
  matrix:
    - {{endpoint: mock, models: [{models}], protocols: [{protocols}]}}
"""


def free_port() -> int:
    """A port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def write_suite(
    folder: Path,
    url: str,
    name: str = "small",
    *,
    models: str = "m1, m2",
    protocols: str = "standard, strict",
    conditions: str = "novelty_stance, joint",
    endpoint: str = "max_in_flight: 8, attempts: 12",
    repeats: int = 1,
) -> Path:
    """A suite of the two smallest demonstration papers at a mock server."""
    papers = folder / "papers"
    for family in FAMILIES:
        shutil.copytree(PAPERS / family, papers / family, dirs_exist_ok=True)
    (papers / "human.csv").write_text("family,score\n" + "".join(f"{f},{s}\n" for f, s in FAMILIES.items()))
    path = folder / f"{name}.yaml"
    path.write_text(
        SUITE.format(name=name, url=url, models=models, protocols=protocols, conditions=conditions, endpoint=endpoint,
                     repeats=repeats)
    )
    return path


def tables(store_url: Path | str) -> dict[str, pl.DataFrame]:
    """What of a store must be equal after any history: judgements, versions, families."""
    store = open_store(store_url)
    found = {
        "judgements": store.query("SELECT key, outcome, scores, protocol, model FROM judgements_best ORDER BY key"),
        "versions": store.query("SELECT key, condition, text_hash FROM versions_best ORDER BY key"),
        "families": store.query("SELECT key, family, text_hash FROM families_best ORDER BY key"),
    }
    store.close()
    return found


class Stack:
    """A running server with the deployments of prefect.yaml."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.folder = folder

    @contextlib.contextmanager
    def api(self) -> Iterator[None]:
        """Everything inside talks to this server."""
        with temporary_settings({PREFECT_API_URL: self.url}):
            yield

    @contextlib.contextmanager
    def client(self) -> Iterator[SyncPrefectClient]:
        """A client of this server."""
        with self.api(), get_client(sync_client=True) as client:
            yield client

    @contextlib.contextmanager
    def worker(self, home: Path, name: str = "tests", **variables: str) -> Iterator[subprocess.Popen[bytes]]:
        """A worker with a home of its own; killed with its runs when the body ends."""
        home.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "prefect", "worker", "start", "--pool", "evenhand", "--type", "process",
                   "--name", name]
        settings = worker_settings(self.folder, home, self.url) | {"PREFECT_WORKER_QUERY_SECONDS": "1"} | variables
        process = spawn(command, settings, home / "worker.log")
        try:
            yield process
        finally:
            kill(process)

    def start(self, deployment: str, **parameters: Any) -> UUID:
        """Start a run of a deployment, as the UI's Run button does."""
        with self.client() as client:
            found = client.read_deployment_by_name(deployment)
            return client.create_flow_run_from_deployment(found.id, parameters=parameters).id

    def read(self, run: UUID) -> FlowRun:
        """The run as the server sees it."""
        with self.client() as client:
            return client.read_flow_run(run)

    def wait(self, run: UUID, timeout_s: float = 180) -> FlowRun:
        """The run when it has ended."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            found = self.read(run)
            if found.state is not None and found.state.is_final():
                return found
            time.sleep(0.5)
        raise TimeoutError(f"the run did not end: {found.state}\n{self.logs(run)}")

    def retry(self, run: UUID) -> None:
        """What the UI's Retry button does."""
        with self.client() as client:
            client.set_flow_run_state(run, Scheduled(name="AwaitingRetry", message="Retry from the UI"), force=True)

    def sweep(self) -> list[str]:
        """What ``evenhand serve`` does about runs that an earlier worker left behind."""
        with self.client() as client:
            return sweep(client, timedelta(0))

    def logs(self, run: UUID) -> str:
        """Everything that was logged for a run."""
        with self.client() as client:
            body = {"logs": {"flow_run_id": {"any_": [str(run)]}}, "limit": 200}
            found = client.request("POST", "/logs/filter", json=body).json()
        return "\n".join(entry["message"] for entry in found)


def kill(process: subprocess.Popen[bytes]) -> None:
    """kill -9 of a process and everything it started."""
    with contextlib.suppress(psutil.NoSuchProcess):
        family = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGKILL)
        for child in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
    process.wait(20)


@contextlib.contextmanager
def running_stack(folder: Path) -> Iterator[Stack]:
    """A server on a free port, set up."""
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(server(folder / "prefect", free_port(), folder / "server.log"))
        made = Stack(url, folder / "prefect")
        with made.api():
            prepare()
        yield made


_SHARED: list[Stack] = []
_KEPT = contextlib.ExitStack()
atexit.register(_KEPT.close)


def shared_stack(folder: Path) -> Stack:
    """The one stack of this test session; ended with the process."""
    if not _SHARED:
        _SHARED.append(_KEPT.enter_context(running_stack(folder)))
    return _SHARED[0]
