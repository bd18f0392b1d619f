"""The processes of ``evenhand serve``: a Prefect server and a worker, started in order, ended together.

Only processes and their settings belong here; what the server is told is ``setup.py``, what a person sees is
``commands/serve.py``.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from flows.catalogue import POOL
from flows.keeper import RECORDED_TOGETHER, healthy, recorded
from flows.zombies import HEARTBEAT_S
from storage.errors import EnvironmentProblem

START_TIMEOUT_S = 180.0
END_TIMEOUT_S = 20.0
OTHERS_END_S = 15.0


def server_settings(folder: Path, url: str) -> dict[str, str]:
    """The environment of the server: its folder, its UI's address, no analytics, old runs and events vacuumed."""
    return {
        "PREFECT_HOME": str(folder),
        "PREFECT_SERVER_UI_API_URL": url,
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_LOGGING_SERVER_LEVEL": "WARNING",
        "PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": "events,flow_runs",
        "PREFECT_SERVER_EVENTS_RETENTION_PERIOD": "P14D",
        **RECORDED_TOGETHER,
    }


def worker_settings(folder: Path, home: Path, url: str) -> dict[str, str]:
    """The environment of the worker and of its runs: where the API and everything remembered is."""
    return {
        "PREFECT_HOME": str(folder),
        "PREFECT_API_URL": url,
        "PREFECT_LOCAL_STORAGE_PATH": str(folder / "storage"),
        "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": str(HEARTBEAT_S),
        "PREFECT_LOGGING_EXTRA_LOGGERS": "tasks,flows,storage",
        "EVENHAND_HOME": str(home),
    }


def spawn(command: list[str], settings: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
    """A process of its own group, so that Ctrl-C reaches only the command; its words go to a file."""
    environment = {name: value for name, value in os.environ.items() if name != "PREFECT_API_URL"}
    with log.open("ab") as place:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=place,
            stderr=place,
            env=environment | settings,
            start_new_session=True,
        )


def _refuse_second(folder: Path) -> None:
    """Wait for a server that is about to end; one whose keeper is dead is ended.

    Raises:
        EnvironmentProblem: when another server of this folder runs on.
    """
    deadline = time.monotonic() + OTHERS_END_S
    while url := recorded(folder):
        facts = json.loads((folder / "server.json").read_text())
        if not psutil.pid_exists(facts.get("keeper", -1)) and psutil.pid_exists(facts["pid"]):
            end(psutil.Process(facts["pid"]))
            continue
        if time.monotonic() > deadline:
            raise EnvironmentProblem(f"a Prefect server of {folder} runs already at {url}: end that `evenhand` first")
        time.sleep(0.5)


@contextlib.contextmanager
def server(folder: Path, port: int, log: Path) -> Iterator[str]:
    """A Prefect server with UI while the body runs; ``evenhand run`` of the same home uses it too.

    Args:
        folder: for its SQLite file, unless ``PREFECT_API_DATABASE_CONNECTION_URL`` names a Postgres.
        port: where it listens.
        log: where its words go.

    Yields:
        The API's URL.

    Raises:
        EnvironmentProblem: when it does not come up.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _refuse_second(folder)
    url = f"http://127.0.0.1:{port}/api"
    if healthy(url):
        raise EnvironmentProblem(f"port {port} is taken by another Prefect server: choose another --port")
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    process = spawn(command, server_settings(folder, url), log)
    record = folder / "server.json"
    try:
        deadline = time.monotonic() + START_TIMEOUT_S
        while not healthy(url):
            if process.poll() is not None or time.monotonic() > deadline:
                raise EnvironmentProblem(f"the Prefect server did not start on port {port}; its log is {log}")
            time.sleep(0.2)
        scratch = folder / f"server.{os.getpid()}.tmp"
        scratch.write_text(json.dumps({"url": url, "pid": process.pid, "keeper": os.getpid()}))
        scratch.replace(record)
        yield url
    finally:
        record.unlink(missing_ok=True)
        end(process)


@contextlib.contextmanager
def worker(settings: dict[str, str], log: Path, name: str = "evenhand-serve") -> Iterator[subprocess.Popen[bytes]]:
    """A worker of our pool while the body runs; its runs end with it."""
    command = [sys.executable, "-m", "prefect", "worker", "start", "--pool", POOL, "--type", "process", "--name", name]
    process = spawn(command, settings, log)
    try:
        yield process
    finally:
        end(process)


def end(process: subprocess.Popen[bytes] | psutil.Process) -> None:
    """End a process and what it started: asked first, then killed."""
    with contextlib.suppress(psutil.NoSuchProcess):
        root = psutil.Process(process.pid)
        family = [*root.children(recursive=True), root]
        with contextlib.suppress(psutil.NoSuchProcess):
            root.send_signal(signal.SIGINT)
        if isinstance(process, subprocess.Popen):
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(END_TIMEOUT_S)
        _, alive = psutil.wait_procs(family, timeout=2.0)
        for left in alive:
            with contextlib.suppress(psutil.NoSuchProcess):
                left.kill()
        psutil.wait_procs(alive, timeout=5.0)
