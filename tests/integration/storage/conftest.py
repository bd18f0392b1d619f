"""Processes that use a store, and are killed in the middle of it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

PRELUDE = """
import os, sys
from pathlib import Path
from storage import commit, lease, session, writer
from storage.records import Call, now
from storage.store import open_store

def call(key, answer="7"):
    return Call(key=key, attempt=1, outcome="answered", base_url="b", api="chat", model="m", messages=[], parameters={},
                repeat=0, answer=answer, started_at=now(), latency_ms=1.0)

def say(text):
    os.write(1, (text + "\\n").encode())
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "a folder" / "store.duckdb"


@pytest.fixture
def start(root: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a process that runs code after PRELUDE, with the store's place as ``sys.argv[1]``."""
    started: list[subprocess.Popen[str]] = []

    def begin(code: str, *arguments: object, **environment: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", PRELUDE + code, *map(str, arguments)], cwd=root, text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | environment)
        started.append(process)
        return process

    yield begin
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def run(start: Callable[..., subprocess.Popen[str]]) -> Callable[..., tuple[int, list[str], str]]:
    """Runs such a process to its end: exit code, lines of stdout, stderr."""
    def finish(code: str, *arguments: object, **environment: str) -> tuple[int, list[str], str]:
        process = start(code, *arguments, **environment)
        out, err = process.communicate(timeout=120)
        return process.returncode, out.split(), err
    return finish
