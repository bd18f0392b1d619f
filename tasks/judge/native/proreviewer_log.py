"""ProReviewer's memory: claims, questions and notes of a review, and its outline, kept for the reviewer between turns.

Here belongs what an operation does to the log and what it is told about it. Operations that break a rule change nothing
and are reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

CLAIM_STATES = ("to_be_verified", "supported", "weak", "invalid")
QUESTION_STATES = ("open", "partially_answered", "resolved")
LISTS = ("strengths", "weaknesses", "questions")
_PREFIX = {"claim": "C", "question": "Q", "note": "N"}


def _listed(value: Any) -> list[str]:
    if value is None:
        return []
    return [str(each) for each in value] if isinstance(value, list) else [str(value)]


@dataclass(slots=True)
class Entry:
    """A claim, a question or a note."""

    id: str
    kind: str
    text: str
    section: str
    status: str
    more: dict[str, str] = field(default_factory=dict)

    def line(self) -> str:
        """The entry as the log shows it."""
        more = "".join(f"; {name}: {value}" for name, value in self.more.items())
        state = f" [{self.status}]" if self.status else ""
        return f"{self.id}{state} ({self.section or 'no section'}) {self.text}{more}"


@dataclass(slots=True)
class Log:
    """The review's memory."""

    entries: dict[str, Entry] = field(default_factory=dict)
    outline: dict[str, Any] = field(default_factory=dict)
    """``summary`` and ``overall_score`` are overwritten, lists grow."""
    read: list[str] = field(default_factory=list)
    searched: list[str] = field(default_factory=list)

    def apply(self, operation: Any) -> str:
        """Does one operation, and says what came of it."""
        if not isinstance(operation, Mapping):
            return "rejected: an operation is an object"
        kind = operation.get("op") or operation.get("operation")
        if kind == "log":
            return self._log(operation)
        if kind == "update":
            return self._update(operation)
        if kind == "outline":
            return self._outline(operation)
        return f"rejected: unknown operation {kind!r}"

    def _log(self, given: Mapping[str, Any]) -> str:
        kind, section = str(given.get("type")), str(given.get("section") or "")
        text = str(given.get("text") or "").strip()
        if kind not in _PREFIX or not text:
            return "rejected: log needs a type (claim, question, note) and a text"
        if section and section.casefold() not in {name.casefold() for name in self.read}:
            return f"rejected: section {section!r} was not read yet"
        number = 1 + sum(entry.kind == kind for entry in self.entries.values())
        state = {"claim": CLAIM_STATES[0], "question": QUESTION_STATES[0]}.get(kind, "")
        more = {name: ", ".join(_listed(given[name]))
                for name in ("claim_type", "question_type", "issues", "related_claims") if given.get(name)}
        entry = Entry(f"{_PREFIX[kind]}{number}", kind, text, section, state, more)
        self.entries[entry.id] = entry
        return f"logged {entry.id}"

    def _update(self, given: Mapping[str, Any]) -> str:
        entry = self.entries.get(str(given.get("entry_id")))
        if entry is None or entry.kind == "note":
            return f"rejected: there is no claim or question {given.get('entry_id')!r}"
        states = CLAIM_STATES if entry.kind == "claim" else QUESTION_STATES
        status = given.get("status")
        if status is not None and status not in states:
            return f"rejected: the status of {entry.id} is one of {', '.join(states)}"
        entry.status = str(status or entry.status)
        for name in ("reasoning", "answer", "cross_references", "answer_sections"):
            if given.get(name):
                entry.more[name] = ", ".join(_listed(given[name]))
        return f"updated {entry.id}"

    def _outline(self, given: Mapping[str, Any]) -> str:
        part, content = given.get("section"), given.get("content")
        if part in ("summary", "overall_score"):
            self.outline[str(part)] = content
            return f"outline: {part} set"
        if part not in LISTS or not str(content or "").strip():
            return f"rejected: outline needs a content, and a section of summary, {', '.join(LISTS)}, overall_score"
        tags = [tag for tag in _listed(given.get("tags")) if tag in self.entries]
        if not tags:
            return f"rejected: {part} needs at least one tag of an entry that exists"
        self.outline.setdefault(str(part), []).append(f"{content} [{', '.join(tags)}]")
        return f"outline: {part} added"

    def dump(self) -> str:
        """The whole memory as the reviewer sees it each turn."""
        lines = ["## Review log"]
        for kind in _PREFIX:
            found = [entry.line() for entry in self.entries.values() if entry.kind == kind]
            lines += [f"### {kind.title()}s", *(found or ["none"])]
        lines += ["### Outline"]
        for part in ("summary", *LISTS, "overall_score"):
            value = self.outline.get(part)
            lines.append(f"{part}: {'; '.join(value) if isinstance(value, list) else value}" if value is not None
                         else f"{part}: empty")
        lines += [f"Sections read: {', '.join(self.read) or 'none'}", f"Searches: {', '.join(self.searched) or 'none'}"]
        return "\n".join(lines)
