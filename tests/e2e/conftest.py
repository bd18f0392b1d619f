"""One Prefect server with our deployments for the session, and a model server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

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
