"""The demonstration ideas, and a store."""

from __future__ import annotations

import itertools

import pytest

from storage.store import open_store
from tasks.ingest.ideas import ingest_ideas, read_ideas
from tasks.models.endpoints import EndpointSpec


@pytest.fixture(scope="session")
def named(root):
    return read_ideas(root / "deployments/suites/ideas/ideas.jsonl")


@pytest.fixture
def store(tmp_path):
    opened = open_store(tmp_path / "store.duckdb")
    yield opened
    opened.close()


@pytest.fixture
def families(store, named):
    return ingest_ideas(store, named)


_NUMBERS = itertools.count(1)


@pytest.fixture
def endpoint():
    """An endpoint that no other test has a line to: a line keeps the transport it was opened with."""
    return EndpointSpec(name="phantom", kind="phantom", attempts=2, timeout_s=5000 + next(_NUMBERS))
