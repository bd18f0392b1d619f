"""The real engine on a real store, against the mock endpoint in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from storage.store import Store, open_store
from tasks.models import retries
from tests.fakes.mock_server import MockServer


@pytest.fixture(scope="module")
def mock() -> Iterator[MockServer]:
    """A mock endpoint with 20 ms of latency; tests set its faults."""
    with MockServer(latency_ms=20) as server:
        yield server


@pytest.fixture
def server(mock) -> MockServer:
    """The mock endpoint, without faults and with fresh statistics."""
    mock.faults()
    mock.reset()
    return mock


@pytest.fixture
def store(tmp_path) -> Iterator[Store]:
    """An empty store."""
    opened = open_store(tmp_path / "store.duckdb")
    yield opened
    opened.close()


@pytest.fixture
def quick(monkeypatch) -> None:
    """Waits between attempts are short."""
    monkeypatch.setattr(retries, "FIRST_WAIT_S", 0.02)
