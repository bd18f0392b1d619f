"""``evenhand serve`` as a stranger uses it: one clear console, a UI, a worker that works, and nothing left after Ctrl-C."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import psutil
import pytest

from tests.fakes.stack import Stack, free_port

HELLO = 240


def _processes_of(home: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("PREFECT_HOME", "").startswith(str(home)):
                found.append(process)
        except (psutil.AccessDenied, psutil.NoSuchProcess, psutil.ZombieProcess):
            continue
    return found


@pytest.mark.slow
def test_serve_shows_where_things_are_runs_a_deployment_and_ends_all_of_it(tmp_path: Path, root: Path) -> None:
    home, port = tmp_path / "a home", free_port()
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("EVENHAND_", "PREFECT_"))}
    command = [sys.executable, "-m", "flows.cli", "serve", "--port", str(port)]
    console = tmp_path / "console.txt"
    with console.open("wb") as place:
        process = subprocess.Popen(command, cwd=root, env=environment | {"EVENHAND_HOME": str(home)}, stderr=place,
                                   stdout=place, start_new_session=True)
    try:
        deadline = time.monotonic() + HELLO
        while "Ctrl-C" not in console.read_text():
            assert process.poll() is None and time.monotonic() < deadline, console.read_text()
            time.sleep(0.5)
        url = f"http://127.0.0.1:{port}"
        with urllib.request.urlopen(f"{url}/ui-settings", timeout=10) as answer:
            assert f"{url}/api" in answer.read().decode(), "the UI would ask another address"
        stack = Stack(f"{url}/api", home / "prefect")
        ended = stack.wait(stack.start("ingest/ingest", suite="demo_bias"))
        assert ended.state_name == "Completed", ended.state
        assert (home / "store.duckdb").exists()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)
    said = console.read_text()
    assert process.returncode == 0
    assert "Traceback" not in said and said.splitlines()[-1] == "ended"
    assert [line.split()[0] for line in said.splitlines()[:5]] == ["server", "server", "deployed", "limits", "worker"]
    assert re.search(rf"http://127\.0\.0\.1:{port} ", said)
    assert _processes_of(home) == []
    assert not (home / "prefect" / "server.json").exists()
