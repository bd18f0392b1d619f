"""A model that rewrites passages over HTTP, well or with the faults that real ones have.

Speaks enough of Chat Completions for the rewriting stage. A faulty wording carries the word ``FAULTY`` so that a test
can look for it in what was compiled.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_MASK = re.compile(r"⟦\d+⟧")
_PASSAGES = re.compile(r"-----BEGIN PASSAGES (\w+)-----\n(.*?)\n-----END PASSAGES \1-----", re.S)


def good(text: str) -> str:
    """A harmless rewording: one word more, masks and numbers kept."""
    for word in (" is ", " are ", " we ", " the ", " of ", " a ", " and "):
        if word in text:
            return text.replace(word, word + "indeed ", 1) if word in (" is ", " are ", " we ") else text.replace(
                word, " indeed" + word, 1)
    return text


def _lost_mask(text: str) -> str:
    return _MASK.sub("FAULTY", text, count=1)


def _doubled_mask(text: str) -> str:
    found = _MASK.search(text)
    return text + f" FAULTY {found[0]}." if found else text + " FAULTY ⟦1⟧."


def _changed_number(text: str) -> str:
    return re.sub(r"(?<![⟦\d])\d+(?![⟧\d])", "4711", text, count=1) + " FAULTY" if re.search(
        r"(?<![⟦\d])\d+(?![⟧\d])", text) else text + " FAULTY by 12."


def _guessed_mask(text: str) -> str:
    return (_MASK.sub("<M1>", text, count=1) if _MASK.search(text) else f"{text} <M1>") + " FAULTY"


FAULTS: dict[str, Callable[[str], str]] = {
    "lost_mask": _lost_mask,
    "doubled_mask": _doubled_mask,
    "changed_number": _changed_number,
    "raw_percent": lambda text: f"FAULTY gains are 100% here. {text}",
    "raw_ampersand": lambda text: f"FAULTY work & more. {text}",
    "code_fence": lambda text: f"Here is the rewritten text:\n```latex\nFAULTY {text}\n```",
    "new_cite": lambda text: rf"{text} FAULTY \cite{{knuth}}.",
    "new_figure": lambda text: rf"As FAULTY Figure~\ref{{fig:wins}} shows, {text}",
    "empty": lambda text: "",
    "three_times": lambda text: " ".join([_MASK.sub("FAULTY", text)] * 2 + [text]),
    "other_language": lambda text: " ".join(
        ["FAULTY wir zeigen hier dass unser neues Verfahren bei allen Aufgaben besser abschneidet als andere",
         *_MASK.findall(text), *re.findall(r"(?<![⟦\d])\d[\d.]*(?![⟧\d])", text)]),
    "guessed_mask": _guessed_mask,
    "leaked_prompt": lambda text: f"Keep the masks unchanged. FAULTY {text}",
}


class FaultyWriter:
    """The server. ``fault_of(number)`` names the fault of the n-th passage that is written, or None."""

    def __init__(self, fault_of: Callable[[int], str | None] = lambda _: None) -> None:
        self.fault_of = fault_of
        self.requests: list[dict[str, Any]] = []
        self.given: Counter[str] = Counter()
        self.broken: Counter[str] = Counter()
        """``{"status": n}``: how many of the next requests end with that status."""
        self._lock = threading.Lock()
        self._number = 0
        writer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, answer = writer.answer(body)
                data = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def base_url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> FaultyWriter:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Status and body for one request."""
        prompt = "\n".join(_text(message["content"]) for message in body["messages"])
        with self._lock:
            self.requests.append(body)
            status = next(iter(self.broken), None)
            if status is not None:
                self.broken[status] -= 1
                self.broken += Counter()
                return int(status), {"error": {"message": "out of order", "type": "server_error"}}
            said = self._review() if "BEGIN DRAFT" in prompt else self._write(prompt)
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}
        usage = {"prompt_tokens": 10, "completion_tokens": 10}
        return 200, {"id": "x", "model": body["model"], "usage": usage, "choices": [choice]}

    def _review(self) -> str:
        return json.dumps({"weaknesses": [{"where": "abstract", "weakness": "timid", "advice": "say it clearly"}]})

    def _write(self, prompt: str) -> str:
        found = _PASSAGES.search(prompt)
        assert found, prompt[-500:]
        written = []
        for passage in json.loads(found[2]):
            fault = self.fault_of(self._number)
            self._number += 1
            text = passage.get("text") or passage["original"]
            self.given[fault or "good"] += 1
            written.append({"id": passage["id"], "text": FAULTS[fault](text) if fault else good(text)})
        return json.dumps({"segments": written}, ensure_ascii=False)


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
