"""The page of one cell: the request as it was sent, every attempt, the answer, what was read, what it cost.

Records in, self-contained HTML out; the page runs no script. Everything a model said is shown as text.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from markupsafe import Markup
from pydantic import Field

from storage.records import Record
from tasks.report.environment import environment, stylesheet

STYLES = ("tokens.css", "versions.css")


class Attempt(Record):
    """One attempt of one request."""

    number: int
    attempt_id: str
    outcome: str
    http_status: int | None
    error: str | None
    answer: str | None
    finish_reason: str | None
    input_tokens: int | None
    output_tokens: int | None
    usd: float | None
    latency_ms: float
    started_at: datetime
    run_id: str | None
    resolved_model: str | None


class Step(Record):
    """One request and its attempts, oldest first."""

    key: str
    base_url: str
    api: str
    model: str
    request: dict[str, Any]
    """The body, rebuilt."""
    attempts: list[Attempt]

    @property
    def usd(self) -> float | None:
        """What its attempts cost; None when a price is not known."""
        known = [each.usd for each in self.attempts if each.usd is not None]
        return sum(known) if len(known) == len([a for a in self.attempts if a.input_tokens is not None]) else None

    @property
    def turns(self) -> list[tuple[str, str]]:
        """``(role, text)`` of what was said, for reading."""
        said = self.request.get("messages", self.request.get("input"))
        if isinstance(said, str):
            return [("input", said)]
        return [(str(turn.get("role")), _shown(turn.get("content"))) for turn in said or []]

    @property
    def rest(self) -> str:
        """Everything of the body but what was said."""
        kept = {name: value for name, value in self.request.items() if name not in ("messages", "input")}
        return json.dumps(kept, indent=2, ensure_ascii=False)


class Trace(Record):
    """The trail of one cell, or of one call."""

    key: str
    protocol: str | None = None
    parser: str | None = None
    model: str | None = None
    outcome: str | None = None
    reason: str | None = None
    scores: dict[str, float] = Field(default_factory=dict)
    flags: list[str] = Field(default_factory=list)
    version_hash: str | None = None
    repeat: int | None = None
    read_from: list[str] = Field(default_factory=list)
    """Attempts whose answers the scores were read from."""
    steps: list[Step]
    unsent: list[str] = Field(default_factory=list)
    """Requests that were never sent: over budget, endpoint closed, longer than the window."""

    @property
    def usd(self) -> float | None:
        """What all attempts cost; None when a price is not known."""
        costs = [step.usd for step in self.steps]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if len(known) == len(costs) else None


def _shown(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = []
    for part in content or []:
        text = part.get("text")
        parts.append(text if isinstance(text, str) else json.dumps(part, ensure_ascii=False))
    return "".join(parts)


def trace_page(trace: Trace) -> str:
    """The page as text."""
    style = Markup(stylesheet(STYLES))  # noqa: S704 - our own files
    return environment().get_template("trace_page.html.j2").render(trace=trace, style=style)
