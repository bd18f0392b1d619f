"""One Prefect server with our deployments for the session, a model server, and the system's Chromium."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.fakes.mock_server import MockServer
from tests.fakes.stack import Stack, shared_stack


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Stack:
    """The server."""
    return shared_stack(tmp_path_factory.mktemp("stack"))


@pytest.fixture
def mock() -> Iterator[MockServer]:
    """A model server without faults."""
    with MockServer(latency_ms=5) as server:
        yield server


ARGS = [
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A headless Chromium that asks for nothing of its own."""
    place = shutil.which("chromium")
    if place is None:
        pytest.fail("no chromium on the PATH: install the system's package (Debian: chromium)")
    with sync_playwright() as player:
        started = player.chromium.launch(executable_path=place, args=ARGS)
        yield started
        started.close()
