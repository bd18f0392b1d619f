"""How a request travels: openai's client over its aiohttp transport, untyped, and every end of it as a typed reply.

Here belongs the wire. Retrying, pacing and remembering are others' matter: a client sends one request once. The openai
client brings addresses, authentication and connection handling; its typed objects are left aside, as building them
costs more than the call.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Any

import httpx2
import orjson

from storage.lazy import LazyModule
from storage.vocabulary import Outcome
from tasks.models.answers import parse_body, read_reply
from tasks.models.embedded import serve_embedded
from tasks.models.endpoints import EndpointSpec, api_key
from tasks.models.outcomes import Reply, classify_exception, failure
from tasks.models.transports import IN_PROCESS_URL, transport_for

if TYPE_CHECKING:
    import aiohttp
    import openai
else:
    aiohttp = LazyModule("aiohttp")
    openai = LazyModule("openai")

PATHS = {"chat": "/chat/completions", "responses": "/responses", "reward": "/reward",
         "embeddings": "/embeddings"}
CONNECT_S = 30.0


class Client:
    """One endpoint's connection pool. Made and used inside the engine's loop."""

    def __init__(self, endpoint: EndpointSpec, wire: openai.AsyncOpenAI, http: httpx2.AsyncClient) -> None:
        self._endpoint = endpoint
        self._wire = wire
        self._http = http
        self._url = httpx2.URL(f"{str(wire.base_url).rstrip('/')}{PATHS[endpoint.api]}")
        self._headers = _headers_of(wire)
        self._extensions = {"timeout": http.timeout.as_dict()}

    async def send(self, body: bytes) -> Reply:
        """Sends one request and waits for its reply, whatever it is.

        Args:
            body: the JSON body, as ``bodies.body_of`` makes it.
        """
        request = httpx2.Request(
            "POST", self._url, headers=self._headers, content=body, extensions=dict(self._extensions)
        )
        response = await self._ended(self._http.send(request))
        if isinstance(response, Reply):
            return response
        return read_reply(self._endpoint.api, response.status_code, response.content, response.headers)

    async def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any] | Reply:
        """A request beside those for answers (batches): the JSON object that came, or the reply that says why none.

        Args:
            method: GET or POST.
            path: below the endpoint's address.
            body: what is posted.
        """
        response = await self._plain(method, path, body)
        if isinstance(response, Reply):
            return response
        found = parse_body(response.content)
        if response.status_code >= 300:
            return failure(response.status_code, found, response.headers)
        if isinstance(found, Mapping):
            return dict(found)
        return Reply(Outcome.provider_error, http_status=response.status_code, error="200 without a JSON object")

    async def content(self, file_id: str) -> bytes | Reply:
        """The bytes of an uploaded or made file, or the reply that says why not."""
        response = await self._plain("GET", f"/files/{file_id}/content", None)
        if isinstance(response, Reply):
            return response
        if response.status_code >= 300:
            return failure(response.status_code, parse_body(response.content), response.headers)
        return bytes(response.content)

    async def _plain(self, method: str, path: str, body: Mapping[str, Any] | None) -> httpx2.Response | Reply:
        url = httpx2.URL(f"{str(self._wire.base_url).rstrip('/')}{path}")
        request = httpx2.Request(
            method, url, headers=self._headers, content=None if body is None else orjson.dumps(body),
            extensions=dict(self._extensions),
        )
        return await self._ended(self._http.send(request))

    async def upload(
        self, name: str, data: bytes, *, purpose: str = "user_data", media_type: str = "application/pdf"
    ) -> str | Reply:
        """Uploads a file (by default a PDF for use in requests): its id, or the reply that says why not."""
        response = await self._ended(
            self._wire.post(
                "/files",
                cast_to=httpx2.Response,
                body={"purpose": purpose},
                files=[("file", (name, data, media_type))],
                options={"headers": {"Content-Type": "multipart/form-data"}},
            )
        )
        if isinstance(response, Reply):
            return response
        found = parse_body(response.content)
        if response.status_code >= 300:
            return failure(response.status_code, found, response.headers)
        file_id = found.get("id") if isinstance(found, Mapping) else None
        if isinstance(file_id, str):
            return file_id
        return Reply(Outcome.provider_error, http_status=response.status_code, error="an upload without an id")

    async def _ended(self, exchange: Awaitable[httpx2.Response]) -> httpx2.Response | Reply:
        """The response of an exchange, good or bad, or the reply that its breaking amounts to."""
        try:
            async with asyncio.timeout(self._endpoint.timeout_s):
                return await exchange
        except openai.APIStatusError as error:
            return error.response
        except TimeoutError:
            return Reply(Outcome.timed_out, error=f"no answer within timeout_s = {self._endpoint.timeout_s:g}")
        except (openai.APIConnectionError, httpx2.HTTPError, aiohttp.ClientError, OSError) as error:
            return classify_exception(error)

    async def close(self) -> None:
        """Closes the pool; the client is of no use afterwards."""
        await self._wire.close()


def _headers_of(wire: openai.AsyncOpenAI) -> httpx2.Headers:
    """What the openai client would send with a request, less what it tells about this machine."""
    named = {**wire.auth_headers, **wire.default_headers}
    kept = {k: v for k, v in named.items() if isinstance(v, str) and not k.lower().startswith("x-stainless")}
    return httpx2.Headers({**kept, "Accept-Encoding": "gzip, deflate"})


async def open_client(endpoint: EndpointSpec) -> Client:
    """The client of an endpoint; starts the embedded model's server where that is the endpoint.

    Raises:
        EnvironmentProblem: when the key's variable is not set, or the extra ``local`` is not installed.
    """
    key = api_key(endpoint)
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    # Certificates are read and modules loaded: not on the loop, where others wait for answers.
    return await asyncio.to_thread(_client, endpoint, key)


def _client(endpoint: EndpointSpec, key: str | None) -> Client:
    transport = transport_for(endpoint)
    base_url = endpoint.base_url or (serve_embedded() if endpoint.kind == "local" else IN_PROCESS_URL)
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
    return Client(endpoint, wire, http)
