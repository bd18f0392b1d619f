"""What the store's tests share: a store in a folder of its own, and records to put in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from storage.records import Call, now
from storage.store import Store, open_store


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where the store's file lies: in a folder that is not there yet, with a space in its name."""
    return tmp_path / "a folder" / "store.duckdb"


@pytest.fixture
def store(place: Path) -> Iterator[Store]:
    opened = open_store(place)
    yield opened
    opened.close()


@pytest.fixture
def call() -> Callable[..., Call]:
    def make(key: str, outcome: str = "answered", **fields: object) -> Call:
        facts: dict = {
            "attempt": 1, "base_url": "http://127.0.0.1/v1", "api": "chat", "model": "m", "repeat": 0, "answer": "7",
            "parameters": {"temperature": 0}, "messages": [{"role": "user", "parts": []}], "started_at": now(),
            "latency_ms": 1.0,
        }
        return Call(key=key, outcome=outcome, **(facts | fields))
    return make
