"""A stand-in for arXiv's export host: real HTTP on loopback, with the ways of failing that the real one has shown."""

from __future__ import annotations

import re
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

RATE_PAGE = b"<!DOCTYPE html><html><title>Rate exceeded</title><body>Rate exceeded.</body></html>"


@dataclass
class Paper:
    """A paper and its versions' sources, the oldest first; None is a version without a source (withdrawn)."""

    title: str
    sources: list[bytes | None]
    authors: tuple[str, ...] = ("Ada One", "Bea Two")
    abstract: str = "An abstract."
    pdfs: list[bytes] = field(default_factory=list)
    """Of the versions, the oldest first."""


@dataclass
class Answer:
    """What is answered instead, once."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    cut_to: int | None = None
    """Bytes that are sent although more are announced."""


class FakeArxiv:
    """A running server. ``faults[path prefix]`` is a list of answers that come first; ``log`` holds what was asked."""

    def __init__(self, papers: dict[str, Paper]) -> None:
        self.papers = papers
        self.faults: dict[str, list[Answer]] = defaultdict(list)
        self.log: list[tuple[str, float, float]] = []
        """Path with query, start, end."""
        self.most_at_once = 0
        self._now = 0
        self._lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"fake": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def paths(self) -> list[str]:
        """What was asked, in order, without queries."""
        return [urlsplit(path).path for path, _, _ in self.log]

    def answer(self, target: str) -> Answer:
        """What is answered to a request."""
        path = unquote(urlsplit(target).path)
        for prefix, waiting in self.faults.items():
            if path.startswith(prefix) and waiting:
                return waiting.pop(0)
        if path == "/api/query":
            query = parse_qs(urlsplit(target).query)
            asked = query.get("id_list", [""])[0].split(",")
            if "search_query" in query:
                words = set(re.findall(r"ti:(\w+)", query["search_query"][0]))
                asked = [name for name, paper in self.papers.items() if words <= set(_words(paper.title))]
            return Answer(body=self._feed(asked), headers={"Content-Type": "application/atom+xml"})
        if path.startswith("/pdf/"):
            return self._pdf(path.removeprefix("/pdf/"))
        return self._source(path)

    def _pdf(self, which: str) -> Answer:
        name, version = _split(which)
        paper = self.papers.get(name)
        if paper is None or not 1 <= (version or 1) <= len(paper.pdfs):
            return Answer(404, b"<html>No PDF</html>", {"Content-Type": "text/html"})
        return Answer(body=paper.pdfs[(version or len(paper.pdfs)) - 1], headers={"Content-Type": "application/pdf"})

    def _source(self, path: str) -> Answer:
        name, version = _split(path.removeprefix("/e-print/"))
        paper = self.papers.get(name)
        if paper is None or not 1 <= (version or len(paper.sources)) <= len(paper.sources):
            return Answer(404, b"<html>No paper</html>", {"Content-Type": "text/html"})
        data = paper.sources[(version or len(paper.sources)) - 1]
        if data is None:
            return Answer(404, b"<html>Paper source not available</html>", {"Content-Type": "text/html"})
        return Answer(body=data, headers={"Content-Type": "application/gzip"})

    def _feed(self, asked: list[str]) -> bytes:
        entries = []
        for each in asked:
            name, version = _split(each)
            paper = self.papers.get(name)
            if paper is None or (version or 1) > len(paper.sources):
                continue
            authors = "".join(f"<author><name>{escape(author)}</name></author>" for author in paper.authors)
            entries.append(
                f"<entry><id>http://arxiv.org/abs/{name}v{version or len(paper.sources)}</id>"
                f"<updated>2024-01-02T00:00:00Z</updated><published>2024-01-01T00:00:00Z</published>"
                f"<title>{escape(paper.title)}</title><summary> {escape(paper.abstract)}\n</summary>{authors}"
                '<category term="cs.LG" scheme="http://arxiv.org/schemas/atom"/></entry>'
            )
        return (
            '<?xml version="1.0" encoding="UTF-8"?><feed xmlns="http://www.w3.org/2005/Atom">'
            f"<title>ArXiv Query</title>{''.join(entries)}</feed>"
        ).encode()

    def __enter__(self) -> FakeArxiv:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def begin(self) -> None:
        with self._lock:
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)

    def end(self, target: str, started: float) -> None:
        with self._lock:
            self._now -= 1
            self.log.append((target, started, time.monotonic()))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _split(name: str) -> tuple[str, int | None]:
    bare, mark, version = name.rpartition("v")
    return (bare, int(version)) if mark and version.isdigit() else (name, None)


class _Handler(BaseHTTPRequestHandler):
    fake: FakeArxiv

    def do_GET(self) -> None:
        started = time.monotonic()
        self.fake.begin()
        try:
            answer = self.fake.answer(self.path)
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body[: answer.cut_to])
        finally:
            self.fake.end(self.path, started)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing on the console."""
