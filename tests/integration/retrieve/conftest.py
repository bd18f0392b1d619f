"""Fake services, providers pointed at them, ideas and a store."""

from __future__ import annotations

import pytest

from storage.ideas import Idea
from storage.records import Family
from storage.store import open_store
from tasks.ingest.ideas import NamedIdea, idea_family
from tasks.retrieve.crossref import Crossref
from tasks.retrieve.limiter import Limiter
from tasks.retrieve.openalex import OpenAlex
from tasks.retrieve.spec import ContextSpec
from tests.fakes.literature import FakeCrossref, FakeOpenAlex


@pytest.fixture
def openalex_server():
    with FakeOpenAlex() as server:
        yield server


@pytest.fixture
def crossref_server():
    with FakeCrossref() as server:
        yield server


@pytest.fixture
def limits(tmp_path):
    return tmp_path / "limits"


@pytest.fixture
def openalex(openalex_server, limits):
    return OpenAlex(Limiter("openalex", limits, interval_s=0.0, at_once=4), base_url=openalex_server.url, api_key="k-1")


@pytest.fixture
def crossref(crossref_server, limits):
    return Crossref(Limiter("crossref", limits, interval_s=0.0, at_once=1), base_url=crossref_server.url,
                    mailto="someone@example.org")


@pytest.fixture
def store(tmp_path):
    opened = open_store(tmp_path / "store.duckdb")
    yield opened
    opened.close()


@pytest.fixture
def family_of(store):
    """Makes an idea a family of the store."""

    def make(number: int) -> Family:
        idea = Idea(title=f"Idea number {number} about thing{number}", domain="Computer Science",
                    research_question=f"Does thing{number} change other{number}?", problem="It is open.",
                    mechanism=f"A mechanism with part{number} and piece{number} moves.", contribution="A measurement.",
                    concepts=(f"thing{number}", "measurement"))
        family = idea_family(store, NamedIdea(f"idea-{number}", idea))
        store.append(family)
        return family

    return make


@pytest.fixture
def online(openalex_server, crossref_server):
    return ContextSpec(name="retrieved", provider="online", openalex_url=openalex_server.url,
                       crossref_url=crossref_server.url, openalex_per_s=50, crossref_per_s=20)
