"""The Prefect API that a run on one machine talks to.

Where ``PREFECT_API_URL`` is set, that server is used. Otherwise a local server (SQLite, with the UI) is kept in
``home()/prefect``: a keeper process starts it, several runs share it, and the keeper stops it a moment after the last
of them has ended, however it ended. Deployments and workers do not belong here.

    python -m flows.server HOME    # the keeper; started by ``prefect_api``
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from prefect.settings import PREFECT_API_URL, PREFECT_HOME, PREFECT_LOCAL_STORAGE_PATH, temporary_settings

from storage.errors import EnvironmentProblem

START_TIMEOUT_S = 120.0
LINGER_S = 4.0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def healthy(url: str) -> bool:
    """Whether a Prefect API answers there."""
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=2) as answer:  # noqa: S310  (a loopback address of ours)
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def recorded(folder: Path) -> str | None:
    """The URL of the server that the folder knows of, when it answers."""
    try:
        url = json.loads((folder / "server.json").read_text())["url"]
    except (OSError, ValueError, KeyError):
        return None
    return str(url) if healthy(str(url)) else None


def _spawn_keeper(folder: Path) -> subprocess.Popen[bytes]:
    with (folder / "server.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "flows.server", str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def start_local_server(folder: Path) -> str:
    """Make sure that the local server of ``folder`` runs.

    The caller must hold the shared user lock (see ``prefect_api``).

    Returns:
        The API's URL.

    Raises:
        EnvironmentProblem: when it does not come up; names the log file.
    """
    with (folder / "start.lock").open("w") as gate:
        fcntl.flock(gate, fcntl.LOCK_EX)
        if url := recorded(folder):
            return url
        (folder / "server.json").unlink(missing_ok=True)
        keeper = _spawn_keeper(folder)
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            if url := recorded(folder):
                return url
            if keeper.poll() is not None:
                break
            time.sleep(0.1)
        if keeper.poll() is None:
            keeper.terminate()
    raise EnvironmentProblem(f"the local Prefect server did not start; its log is {folder / 'server.log'}")


@contextlib.contextmanager
def prefect_api(home: Path) -> Iterator[str]:
    """Flows inside this context report to a Prefect API.

    Args:
        home: where a managed server keeps its database and log.

    Yields:
        The API's URL.
    """
    if given := os.environ.get("PREFECT_API_URL"):
        yield given
        return
    folder = home / "prefect"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "users.lock").open("w") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        url = start_local_server(folder)
        settings = {
            PREFECT_API_URL: url,
            PREFECT_HOME: folder,
            PREFECT_LOCAL_STORAGE_PATH: folder / "storage",
        }
        with temporary_settings(settings):
            yield url


def _in_use(users: Path) -> bool:
    with users.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def keep(folder: Path) -> None:
    """Run the local server until nobody has used it for a moment (the keeper's main loop)."""
    port = _free_port()
    url = f"http://127.0.0.1:{port}/api"
    environment = os.environ | {
        "PREFECT_HOME": str(folder),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_UI_API_URL": url,
        "PREFECT_LOGGING_SERVER_LEVEL": "WARNING",
    }
    environment.pop("PREFECT_API_URL", None)
    server = subprocess.Popen(
        [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)],
        stdin=subprocess.DEVNULL,
        env=environment,
    )
    record = folder / "server.json"
    scratch = folder / f"server.{os.getpid()}.tmp"
    scratch.write_text(json.dumps({"url": url, "pid": server.pid, "keeper": os.getpid()}))
    scratch.replace(record)
    idle_since: float | None = None
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        while server.poll() is None:
            time.sleep(0.5)
            idle_since = None if _in_use(folder / "users.lock") else idle_since or time.monotonic()
            if idle_since is not None and time.monotonic() - idle_since > LINGER_S:
                break
    finally:
        record.unlink(missing_ok=True)
        server.send_signal(signal.SIGINT)
        try:
            server.wait(timeout=15)
        except subprocess.TimeoutExpired:
            server.kill()


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
