"""The API of the local Prefect server, with one word more: a busy database asks the client to come again at once.

Two writers of one SQLite file meet often, for milliseconds. The server then answers 503 without saying when to come
again, and Prefect's client waits two seconds by default: in a run with nothing to do these were a third of the time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from prefect.server.api import server

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

AGAIN_S = 0.2


def soon_again(app: App) -> App:
    """Wraps an ASGI application: its answers of 503 carry ``Retry-After``, unless they have one."""

    async def wrapped(scope: Message, receive: Receive, send: Send) -> None:
        async def said(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 503:
                headers = list(message.get("headers", []))
                if not any(name.lower() == b"retry-after" for name, _ in headers):
                    message["headers"] = [*headers, (b"retry-after", str(AGAIN_S).encode())]
            await send(message)

        await app(scope, receive, said)

    return wrapped


def create_app() -> App:
    """Prefect's server, wrapped (for uvicorn's ``--factory``)."""
    return soon_again(server.create_app())
