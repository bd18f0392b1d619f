"""How a request travels: openai's client over its aiohttp transport, untyped, and every end of it as a typed reply.

Here belongs the wire. Retrying, pacing and remembering are others' matter: a client sends one request once. The openai
client brings addresses, authentication and connection handling; its typed objects are left aside, as building them
costs more than the call.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

import httpx2
import openai

from storage.vocabulary import Outcome
from tasks.models.answers import parse_body, read_reply
from tasks.models.embedded import serve_embedded
from tasks.models.endpoints import EndpointSpec, api_key
from tasks.models.outcomes import Reply, classify_exception
from tasks.models.transports import IN_PROCESS_URL, transport_for

PATHS = {"chat": "/chat/completions", "responses": "/responses"}
CONNECT_S = 30.0


class Client:
    """One endpoint's connection pool. Made and used inside the engine's loop."""

    def __init__(self, endpoint: EndpointSpec, wire: openai.AsyncOpenAI) -> None:
        self._endpoint = endpoint
        self._wire = wire
        self._path = PATHS[endpoint.api]

    async def send(self, body: bytes) -> Reply:
        """Sends one request and waits for its reply, whatever it is.

        Args:
            body: the JSON body, as ``bodies.body_of`` makes it.
        """
        return await self._exchange(self._path, {"content": body})

    async def upload(self, name: str, data: bytes) -> str | Reply:
        """Uploads a PDF for use in requests: its id, or the reply that says why not."""
        files = [("file", (name, data, "application/pdf"))]
        options = {"headers": {"Content-Type": "multipart/form-data"}}
        reply = await self._exchange(
            "/files", {"body": {"purpose": "user_data"}, "files": files, "options": options}, raw=True
        )
        found = parse_body(reply.answer.encode()) if reply.outcome is Outcome.answered and reply.answer else None
        file_id = found.get("id") if isinstance(found, Mapping) else None
        return file_id if isinstance(file_id, str) else reply

    async def _exchange(self, path: str, what: dict[str, Any], *, raw: bool = False) -> Reply:
        try:
            async with asyncio.timeout(self._endpoint.timeout_s):
                response = await self._wire.post(path, cast_to=httpx2.Response, **what)
        except openai.APIStatusError as error:
            response = error.response
        except TimeoutError:
            return Reply(Outcome.timed_out, error=f"no answer within timeout_s = {self._endpoint.timeout_s:g}")
        except (openai.APIConnectionError, httpx2.HTTPError, OSError) as error:
            return classify_exception(error)
        if raw and response.status_code < 300:
            return Reply(Outcome.answered, answer=response.text, http_status=response.status_code)
        return read_reply(self._endpoint.api, response.status_code, response.content, response.headers)

    async def close(self) -> None:
        """Closes the pool; the client is of no use afterwards."""
        await self._wire.close()


async def open_client(endpoint: EndpointSpec) -> Client:
    """The client of an endpoint; starts the embedded model's server where that is the endpoint.

    Raises:
        EnvironmentProblem: when the key's variable is not set, or the extra ``local`` is not installed.
    """
    key = api_key(endpoint)
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    transport = transport_for(endpoint)
    base_url = endpoint.base_url
    if transport is not None:
        base_url = base_url or IN_PROCESS_URL
    elif endpoint.kind == "local":
        base_url = await asyncio.to_thread(serve_embedded)
    timeout = httpx2.Timeout(endpoint.timeout_s, connect=min(CONNECT_S, endpoint.timeout_s), pool=None)
    limits = httpx2.Limits(max_connections=endpoint.max_in_flight, max_keepalive_connections=endpoint.max_in_flight)
    http = (
        httpx2.AsyncClient(transport=transport, timeout=timeout)
        if transport is not None
        else openai.DefaultAioHttpClient(limits=limits, timeout=timeout)
    )
    # Without a key of its own an endpoint must not be sent the one that OPENAI_API_KEY holds for another.
    wire = openai.AsyncOpenAI(
        api_key=key or "none",
        base_url=base_url,
        max_retries=0,
        timeout=timeout,
        default_headers=dict(endpoint.headers),
        http_client=http,
    )
    return Client(endpoint, wire)
