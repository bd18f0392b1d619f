"""The keeper of the local Prefect server: a process that runs it as long as somebody uses it.

Imports nothing of Prefect, so that the server can begin to start while a command is still loading. Users hold a shared
lock on ``users.lock``; the keeper stops the server a moment after the last of them has ended, however it ended.

    python -m flows.keeper FOLDER
"""

from __future__ import annotations

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
from pathlib import Path
from typing import IO

LINGER_S = 4.0
TRIES = 25
"""How often its clients come again; ``local_api`` bids them do so soon."""
RECORDED_TOGETHER = {
    # One transaction an event is Prefect's default; on SQLite it holds up everything else that writes.
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_READ_BATCH_SIZE": "64",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "64",
    # Whole seconds: the recorder cuts off what is behind the point, and with 0 it never rests.
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
}
"""How a server of ours writes down what task runs report."""


def free_port() -> int:
    """A port that nobody listens on."""
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


def use(folder: Path) -> IO[str]:
    """Join the users of a folder's server; closing the file (or dying) leaves them."""
    folder.mkdir(parents=True, exist_ok=True)
    users = (folder / "users.lock").open("w")
    fcntl.flock(users, fcntl.LOCK_SH)
    return users


def ensure(folder: Path) -> subprocess.Popen[bytes] | None:
    """Start a keeper unless a keeper is alive; the caller must be a user. Does not wait for the server.

    Returns:
        The keeper started here; None where there was one.
    """
    with (folder / "start.lock").open("w") as gate:
        fcntl.flock(gate, fcntl.LOCK_EX)
        if _is_kept(folder):
            return None
        (folder / "server.json").unlink(missing_ok=True)
        with (folder / "server.log").open("ab") as log:
            keeper = subprocess.Popen(
                [sys.executable, "-m", "flows.keeper", str(folder)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + 20
        while not _is_kept(folder) and keeper.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        return keeper


def _is_kept(folder: Path) -> bool:
    """A living keeper holds its lock; the system lets go of it when the keeper dies."""
    with (folder / "keeper.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def _taken(lock: IO[str]) -> bool:
    """Whether the keeper's lock could be had; those who only look at it hold it for an instant."""
    for _ in range(40):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.05)
        else:
            return True
    return False


def _in_use(folder: Path) -> bool:
    with (folder / "users.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def _serve(folder: Path) -> subprocess.Popen[bytes]:
    port = free_port()
    url = f"http://127.0.0.1:{port}/api"
    environment = os.environ | {
        "PREFECT_HOME": str(folder),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_API_HOST": "127.0.0.1",
        "PREFECT_SERVER_API_PORT": str(port),
        "PREFECT_SERVER_UI_API_URL": url,
        "PREFECT_LOGGING_SERVER_LEVEL": "WARNING",
        **RECORDED_TOGETHER,
    }
    environment.pop("PREFECT_API_URL", None)
    # What `prefect server start` starts, without waiting for its command line to load (see local_api.py).
    command = [sys.executable, "-m", "uvicorn", "--factory", "flows.local_api:create_app"]
    server = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", str(port), "--timeout-keep-alive", "5", "--log-level", "warning"],
        stdin=subprocess.DEVNULL,
        env=environment,
    )
    scratch = folder / f"server.{os.getpid()}.tmp"
    scratch.write_text(json.dumps({"url": url, "pid": server.pid, "keeper": os.getpid()}))
    scratch.replace(folder / "server.json")
    return server


def keep(folder: Path) -> None:
    """Run the local server until nobody has used it for a moment (the keeper's main loop)."""
    lock = (folder / "keeper.lock").open("a")
    if not _taken(lock):
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    server = _serve(folder)
    idle_since: float | None = None
    try:
        while server.poll() is None:
            time.sleep(0.5)
            idle_since = None if _in_use(folder) else idle_since or time.monotonic()
            if idle_since is not None and time.monotonic() - idle_since > LINGER_S:
                break
    finally:
        (folder / "server.json").unlink(missing_ok=True)
        server.send_signal(signal.SIGINT)
        try:
            server.wait(timeout=15)
        except subprocess.TimeoutExpired:
            server.kill()


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
