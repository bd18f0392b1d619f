"""A scripted endpoint inside the process, and asks at it on virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import orjson
import pytest

from storage.records import Call
from storage.store import Store, open_store
from storage.vocabulary import Outcome
from tasks.models import transports
from tasks.models.asking import Asking, Counters, Desk
from tasks.models.asks import Ask, Message, Part
from tasks.models.budget import Budget
from tasks.models.endpoints import EndpointSpec
from tasks.models.engine import take_any
from tasks.models.lines import Lines
from tasks.models.texts import Texts
from tasks.models.uploads import Uploads
from tests.fakes.clock import run_virtually

Script = Callable[[httpx2.Request, int], httpx2.Response]


def answer(text: str = '{"rating": 6}', **usage: Any) -> httpx2.Response:
    """A good Chat Completions answer."""
    body = {"id": "c", "model": "m-1", "choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
    body["usage"] = {"prompt_tokens": 100, "completion_tokens": 10, **usage}
    return httpx2.Response(200, json=body)


def error(
    status: int, code: str = "x", message: str = "x", param: str | None = None, **headers: str
) -> httpx2.Response:
    """An error in OpenAI's form."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = {"error": {"code": code, "type": code, "message": message, "param": param}}
    return httpx2.Response(status, json=body, headers=named)


class Scripted(httpx2.AsyncBaseTransport):
    """Answers by a function of the request and how many came before; remembers what it was sent, and when."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.requests: list[httpx2.Request] = []
        self.times: list[float] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await request.aread()
        self.requests.append(request)
        self.times.append(asyncio.get_running_loop().time())
        await asyncio.sleep(0.2)
        return self.script(request, len(self.requests) - 1)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The JSON bodies it was sent."""
        return [orjson.loads(r.content) for r in self.requests if r.headers["content-type"] == "application/json"]


class Bench:
    """Asks at the scripted endpoint, on virtual time."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self.store = store
        self.endpoint = EndpointSpec(base_url="http://in-process.invalid/v1")
        self.budget = Budget()
        self.counters = Counters()
        self.lines = Lines()
        self._monkeypatch = monkeypatch

    def script(self, script: Script) -> Scripted:
        """Lets ``script`` answer from now on."""
        transport = Scripted(script)
        self._monkeypatch.setitem(transports._registered, "openai", lambda: transport)
        return transport

    def question(self, text: str = "paper", pdf: str | None = None, **more: Any) -> Ask:
        """An ask with one user message."""
        parts = (Part(hash=self.store.put_text(text)),)
        if pdf is not None:
            parts = (*parts, Part(kind="pdf", hash=pdf))
        return Ask.at(self.endpoint, more.pop("model", "m"), (Message(role="user", parts=parts),), **more)

    def ask(self, *asks: Ask, accept: Callable[[Call], Outcome] = take_any) -> list[Call]:
        """Sees all asks through at once."""

        async def go() -> list[Call]:
            uploads: dict[str, Uploads] = {}

            def files(endpoint: EndpointSpec) -> Uploads:
                return uploads.setdefault(endpoint.fingerprint, Uploads(self.store, endpoint, "run"))

            desk = Desk(self.store, "run", self.budget, Texts(self.store), self.counters, files)
            line = self.lines.to(self.endpoint)
            try:
                return await asyncio.gather(*(Asking(desk, line, ask).answer(accept) for ask in asks))
            finally:
                await self.lines.close()

        return run_virtually(go())

    def rows(self) -> list[Call]:
        """Every attempt in the store."""
        return self.store.load(Call, view=False)


@pytest.fixture
def bench(tmp_path, monkeypatch) -> Iterator[Bench]:
    """A bench on an empty store."""
    store = open_store(tmp_path / "store.duckdb")
    yield Bench(store, monkeypatch)
    store.close()
