"""A model that compares two versions over HTTP: what it says follows from the numbers and words of both."""

from __future__ import annotations

import json
import re

from tests.fakes.faulty_writer import FaultyWriter

_FENCED = re.compile(r"-----BEGIN (ORIGINAL|VERSION) (\w+)-----\n(.*?)\n-----END \1 \2-----", re.S)


class FakeAuditor(FaultyWriter):
    """The server. Results are ``changed`` when the numbers differ, claims when a version says ``everything``."""

    def __init__(self, first: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.first = list(first)
        """Answers that come before the good ones."""

    def _write(self, prompt: str) -> str:
        if self.first:
            return self.first.pop(0)
        texts = {label: text for label, _, text in _FENCED.findall(prompt)}
        numbers = {label: re.findall(r"\d+(?:\.\d+)?", text) for label, text in texts.items()}
        kept = dict.fromkeys(("claims", "methods", "evidence", "results", "conclusions"), "kept")
        differences = []
        if numbers["ORIGINAL"] != numbers["VERSION"]:
            kept["results"], differences = "changed", ["a number differs"]
        if "everything" in texts["VERSION"] and "everything" not in texts["ORIGINAL"]:
            kept["claims"] = "changed"
        return json.dumps({"differences": differences, **kept})
