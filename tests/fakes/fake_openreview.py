"""A stand-in for OpenReview's API: real HTTP on loopback, as far as its client asks for notes and PDFs."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlsplit


def note(name: str, title: str, ratings: list[Any], *, abstract: str = "An abstract.", **content: Any) -> dict[str, Any]:
    """A submission with reviews, as the newer API writes it."""
    reviews = [
        {
            "id": f"{name}r{place}", "invitations": ["V/Submission1/-/Official_Review", "V/-/Edit"],
            "content": {"rating": {"value": rating}, "soundness": {"value": "3 good"}, "confidence": {"value": 4},
                        "summary": {"value": "It is a paper."}},
        }
        for place, rating in enumerate(ratings)
    ]
    comment = {"id": f"{name}c", "invitations": ["V/Submission1/-/Official_Comment"], "content": {"rating": {"value": 1}}}
    values = {"title": title, "abstract": abstract, "venueid": "V", **content}
    return {
        "id": name, "forum": name, "invitations": ["V/-/Submission"],
        "content": {key: {"value": value} for key, value in values.items()},
        "details": {"replies": [*reviews, comment]},
    }


class FakeOpenReview:
    """A running server."""

    def __init__(self, notes: list[dict[str, Any]], pdfs: dict[str, bytes] | None = None) -> None:
        self.notes = notes
        self.pdfs = pdfs or {}
        self.asked: list[str] = []
        self.status = 200
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                fake.asked.append(self.path)
                status, kind, data = fake.answer(self.path)
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:
                """Nothing on the console."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def answer(self, target: str) -> tuple[int, str, bytes]:
        """Status, media type and body for one request."""
        path, query = urlsplit(target).path, parse_qs(urlsplit(target).query)
        if self.status != 200:
            error = {"name": "ForbiddenError", "message": "You are not allowed", "status": self.status}
            return self.status, "application/json", json.dumps(error).encode()
        if path == "/pdf":
            data = self.pdfs.get(query["id"][0])
            return (404, "application/json", b'{"name": "NotFoundError"}') if data is None else (
                200, "application/pdf", data)
        found = [each for each in self.notes if query.get("invitation", [""])[0] in each["invitations"]]
        after = query.get("after", [""])[0]
        left = [each for each in sorted(found, key=lambda each: each["id"]) if each["id"] > after]
        page = left[: min(int(query.get("limit", ["1000"])[0]), 2)]
        return 200, "application/json", json.dumps({"notes": page, "count": len(found)}).encode()

    def __enter__(self) -> FakeOpenReview:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
