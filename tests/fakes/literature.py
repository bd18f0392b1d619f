"""Stand-ins for OpenAlex and Crossref: real HTTP on loopback, with the faults that the services are known for.

A catalogue of invented works is made from the query, so every search has its own hits. Faults come by a seeded choice
on (path, query, attempt), so a run is repeatable and a retry is another draw. What was asked is kept: URLs, times, how
many requests were open at once.
"""

from __future__ import annotations

import json
import random
import threading
import time
from dataclasses import dataclass, field
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

FAULTS = ("too_fast", "unavailable", "html", "empty", "dropped")


def _number(*parts: object) -> int:
    return int.from_bytes(blake2b("\x00".join(map(str, parts)).encode(), digest_size=8).digest(), "big")


@dataclass
class Behaviour:
    """How a fake behaves; tests change it while it runs."""

    fault_share: float = 0.0
    """Of each kind of fault, among first attempts."""
    hits: int = 120
    """Works for a query."""
    budget: int | None = None
    """Requests until the day's budget is gone; None is without end."""
    per_s: float | None = None
    """More requests a second are answered with 429."""
    at_once: int | None = None
    """More open requests are answered with 429."""
    retry_after: str = "0.05"
    short_cursor: int | None = None
    """Works after which the cursor ends although more are counted."""
    same_page: bool = False
    """Every page holds the same works."""
    latency_s: float = 0.0
    malformed: bool = True
    override: dict[str, tuple[int, dict[str, str], bytes]] = field(default_factory=dict)
    """Path -> a fixed reply."""


@dataclass
class Log:
    """What was asked."""

    urls: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    refused: int = 0
    """429 because of speed or concurrency."""
    peak: int = 0


def work_of(query: str, place: int) -> dict[str, Any]:
    """One invented work: shared words with the query, the more the earlier it comes."""
    rng = random.Random(_number("work", query, place))
    words = query.split() or ["nothing"]
    shared = rng.sample(words, min(len(words), max(1, 8 - place // 12)))
    other = [f"term{rng.randrange(4000)}" for _ in range(30)]
    return {
        "title": f"{' '.join(shared[:5])} study {_number(query, place) % 10**6}", "year": 1990 + rng.randrange(35),
        "abstract": " ".join([*shared, *other]), "authors": [f"Given{rng.randrange(500)} Family{rng.randrange(900)}"],
        "doi": f"10.5555/w{_number('doi', query, place) % 10**12}", "id": f"W{_number('id', query, place) % 10**12}",
    }


def _inverted(text: str) -> dict[str, list[int]]:
    index: dict[str, list[int]] = {}
    for place, word in enumerate(text.split()):
        index.setdefault(word, []).append(place)
    return index


class FakeServer:
    """A server on a free port; use as a context manager."""

    def __init__(self, behaviour: Behaviour | None = None) -> None:
        self.behaviour = behaviour or Behaviour()
        self.log = Log()
        self._open = 0
        self._attempts: dict[str, int] = {}
        self._guard = threading.Lock()
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                fake.handle(self)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> FakeServer:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        with self._guard:
            self._open += 1
            self.log.peak = max(self.log.peak, self._open)
            self.log.urls.append(request.path)
            self.log.headers.append(dict(request.headers.items()))
            now = time.monotonic()
            recent = sum(1 for at in self.log.times if now - at < 1.0)
            self.log.times.append(now)
            attempt = self._attempts.get(request.path, 0)
            self._attempts[request.path] = attempt + 1
            behaviour = self.behaviour
            fast = (behaviour.per_s is not None and recent >= behaviour.per_s) or (
                behaviour.at_once is not None and self._open > behaviour.at_once)
            self.log.refused += fast
            gone = behaviour.budget is not None and len(self.log.urls) > behaviour.budget
        try:
            if behaviour.latency_s:
                time.sleep(behaviour.latency_s)
            self._reply(request, attempt, fast=fast, gone=gone)
        finally:
            with self._guard:
                self._open -= 1

    def _reply(self, request: BaseHTTPRequestHandler, attempt: int, *, fast: bool, gone: bool) -> None:
        behaviour = self.behaviour
        path = unquote(urlsplit(request.path).path)
        if path in behaviour.override:
            return _send(request, *behaviour.override[path])
        if gone:
            return _send(request, 429, self.budget_headers(), b'{"error": "budget", "message": "daily budget gone"}')
        if fast:
            return _send(request, 429, {"Retry-After": behaviour.retry_after}, b'{"error": "Too many requests"}')
        draw = random.Random(_number("fault", request.path, attempt)).random()
        kind = int(draw / behaviour.fault_share) if behaviour.fault_share else len(FAULTS)
        if kind < len(FAULTS):
            return self._fault(request, FAULTS[kind])
        query = {name: values[0] for name, values in parse_qs(urlsplit(request.path).query).items()}
        status, headers, body = self.answer(path, query)
        return _send(request, status, headers, body)

    def _fault(self, request: BaseHTTPRequestHandler, kind: str) -> None:
        if kind == "too_fast":
            return _send(request, 429, {"Retry-After": self.behaviour.retry_after}, b'{"error": "slow down"}')
        if kind == "unavailable":
            return _send(request, 503, {"Content-Type": "text/plain"}, b"come back later")
        if kind == "html":
            return _send(request, 200, {"Content-Type": "text/html"}, b"<html>maintenance</html>")
        if kind == "empty":
            return _send(request, 200, {"Content-Type": ""}, b"")
        request.close_connection = True
        request.connection.close()
        return None

    def budget_headers(self) -> dict[str, str]:
        return {"Retry-After": "54000", "X-RateLimit-Remaining": "0", "X-RateLimit-Credits-Required": "10"}

    def answer(self, path: str, query: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        raise NotImplementedError


def _send(request: BaseHTTPRequestHandler, status: int, headers: dict[str, str], body: bytes) -> None:
    request.send_response(status)
    headers = {"Content-Type": "application/json", **headers}
    for name, value in headers.items():
        if value or name != "Content-Type":
            request.send_header(name, value)
    request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    request.wfile.write(body)


class FakeOpenAlex(FakeServer):
    """Searches with cursors, single works with merged and missing ids."""

    def answer(self, path: str, query: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        if path.startswith("/works/"):
            return self._one(path.removeprefix("/works/"))
        if path != "/works" or int(query.get("per-page", "25")) > 100:
            return 400, {}, json.dumps({"error": "Invalid query parameters error.", "message": "per-page"}).encode()
        search, size = query.get("search", ""), int(query.get("per-page", "25"))
        start = 0 if query.get("cursor", "*") == "*" else int(query["cursor"])
        behaviour = self.behaviour
        first = 0 if behaviour.same_page else start
        end = min(first + size, behaviour.hits)
        if behaviour.short_cursor is not None:
            end = min(end, behaviour.short_cursor)
        # B58: a query that was encoded twice finds next to nothing.
        records = [self.record(search, place) for place in range(first, end if "%" not in search else 1)]
        more = end < behaviour.hits and (behaviour.short_cursor is None or end < behaviour.short_cursor)
        meta = {"count": behaviour.hits, "per_page": size, "next_cursor": str(end) if more else None}
        headers = {"X-RateLimit-Remaining": "9000", "X-RateLimit-Credits-Required": "10"}
        return 200, headers, json.dumps({"meta": meta, "results": records}).encode()

    def record(self, search: str, place: int) -> Any:
        work = work_of(search, place)
        if self.behaviour.malformed and place % 20 == 19:
            return [None, {"id": None}, "text"][place // 20 % 3]
        record: dict[str, Any] = {
            "id": f"https://openalex.org/{work['id']}", "doi": f"https://doi.org/{work['doi']}", "title": work["title"],
            "publication_year": work["year"], "type": "article",
            "authorships": [{"author": {"display_name": name}} for name in work["authors"]],
            "primary_location": {"source": {"display_name": "Journal"}},
            "abstract_inverted_index": _inverted(work["abstract"]),
        }
        if place % 9 == 8:
            record |= {"abstract_inverted_index": None, "primary_location": None, "publication_year": None, "doi": None}
        if place % 18 == 17:
            del record["abstract_inverted_index"]
        return record

    def _one(self, name: str) -> tuple[int, dict[str, str], bytes]:
        if name == "W3":
            return 301, {"Location": "https://api.openalex.org/works/W9"}, b""
        if name in ("W2", "doi:10.5555/x"):
            return 404, {"Content-Type": "text/html"}, b"<html>not found</html>"
        work = work_of(name, 0)
        return 200, {}, json.dumps({"id": f"https://openalex.org/{name}", "doi": None, "title": work["title"],
                                    "abstract_inverted_index": None, "authorships": []}).encode()


class FakeCrossref(FakeServer):
    """Searches and single works."""

    def answer(self, path: str, query: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        if path.startswith("/works/"):
            doi = path.removeprefix("/works/")
            if "doesnotexist" in doi:
                return 404, {"Content-Type": "text/plain"}, b"Resource not found."
            return 200, {}, json.dumps({"message": {"DOI": doi, "title": [f"Work {doi}"]}}).encode()
        rows = int(query.get("rows", "20"))
        items = [self.item(query.get("query", ""), place) for place in range(min(rows, self.behaviour.hits))]
        body = {"status": "ok", "message": {"items": items, "total-results": self.behaviour.hits}}
        return 200, {"X-Rate-Limit-Limit": "3", "X-Rate-Limit-Interval": "1s"}, json.dumps(body).encode()

    def item(self, search: str, place: int) -> Any:
        work = work_of(f"crossref {search}", place)
        if self.behaviour.malformed and place % 20 == 19:
            return [None, {"title": ["without a DOI"]}, {"DOI": 7}][place // 20 % 3]
        item: dict[str, Any] = {
            "DOI": work["doi"].upper(), "title": [f"<i>{work['title']}</i>"], "type": "journal-article",
            "issued": {"date-parts": [[work["year"], 5]]},
            "author": [{"given": name.split()[0], "family": name.split()[1]} for name in work["authors"]],
            "abstract": f"<jats:title>Abstract</jats:title><jats:p>{work['abstract']} &amp;lt; 5</jats:p>",
        }
        if place % 5 == 4:
            item |= {"issued": {"date-parts": [[None]]}, "posted": {"date-parts": [[2017, 9]]}}
            del item["abstract"]
        if place % 7 == 6:
            del item["issued"]
        return item

    def budget_headers(self) -> dict[str, str]:
        return {"Retry-After": "54000"}
