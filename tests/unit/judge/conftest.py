"""A store with papers, and an endpoint whose answers a test scripts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from storage.records import Version
from storage.store import Store, open_store
from tasks.judge.cells import VersionRef, version_refs
from tasks.models import transports
from tasks.models.endpoints import EndpointSpec

REVIEW = {"summary": "s", "soundness": 3, "presentation": 2, "contribution": 3, "strengths": ["a"], "weaknesses": ["b"],
          "questions": [], "ethics_flag": False, "rating": 6, "confidence": 4}


def chat(content: str | None, finish: str = "stop", **more: Any) -> httpx2.Response:
    """A Chat Completions response with that content."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": finish, **more}
    return httpx2.Response(200, json={"id": "x", "model": "scripted", "choices": [choice],
                                      "usage": {"prompt_tokens": 100, "completion_tokens": 10}})


def review(rating: Any) -> httpx2.Response:
    """A whole review with that rating."""
    return chat(json.dumps(REVIEW | {"rating": rating}))


class Scripted(httpx2.AsyncBaseTransport):
    """Answers by a function that a test sets; keeps the bodies it saw."""

    def __init__(self) -> None:
        self.answer: Callable[[dict[str, Any]], httpx2.Response] = lambda body: review(6)
        self.bodies: list[dict[str, Any]] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = json.loads(await request.aread())
        self.bodies.append(body)
        return self.answer(body)


_SCRIPTED = Scripted()


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Scripted:
    """The scripted endpoint's other side: endpoints of kind local are answered by it in this test."""
    monkeypatch.setitem(transports._registered, "local", lambda: _SCRIPTED)
    _SCRIPTED.bodies.clear()
    _SCRIPTED.answer = lambda body: review(6)
    return _SCRIPTED


@pytest.fixture
def endpoint() -> EndpointSpec:
    """The scripted endpoint."""
    return EndpointSpec(name="scripted", kind="local", attempts=2, max_in_flight=4)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    opened = open_store(tmp_path / "store.duckdb")
    yield opened
    opened.close()


@pytest.fixture
def versions(store: Store) -> list[VersionRef]:
    """Two families of an original and one variant."""
    keys = []
    for family in ("one", "two"):
        for condition in ("original", "joint"):
            text = f"Title of {family}\nAbstract\nWe measure {family} in its {condition} wording, at some length.\n"
            text += "1 Introduction\n" + "word " * 50
            version = Version(key=f"{family}-{condition}", family_key=family, condition=condition,
                              text_hash=store.put_text(text))
            store.append(version)
            keys.append(version.key)
    return version_refs(store, keys)
