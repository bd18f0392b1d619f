"""What of a version a judge is given: the PDF, the whole text, its Markdown or LaTeX, or the abstract alone; and what
is done when it is too long.

Here belongs the choosing and cutting, as pure functions: a cell's key names the choice and the rule, not the cut text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

InputKind = Literal["pdf", "text", "abstract", "markdown", "latex"]
INPUT_RULES = 1
"""Raised by hand when what ``abstract_of``, ``cut``, ``markdown_of`` or ``latex_of`` gives changes."""
CHARS_PER_TOKEN = 4.0
"""Characters of a paper's text in one token, about; only for lengths and estimates, never for billing."""
ANSWER_TOKENS = 4096
"""Room in a context window that is kept for instructions and the answer."""
ABSTRACT_CHARS = 2400
FALLBACK_CHARS = 1800


@dataclass(frozen=True, slots=True)
class Given:
    """What one cell shows of one version."""

    kind: InputKind
    hash: str
    """Content hash of the version's text, of its PDF, or of the archive of its LaTeX project."""
    limit_chars: int | None = None
    """The text is cut after so many characters; None when it is whole."""
    context: str | None = None
    """Content hash of the literature that is shown beside it."""
    context_limit: int | None = None
    """The literature is cut to whole works within so many characters; None when it is whole."""

    def identity(self) -> dict[str, Any]:
        """What enters the judgement's key."""
        derived = self.kind in ("abstract", "markdown", "latex") or self.limit_chars is not None
        shown: dict[str, Any] = {"kind": self.kind, "hash": self.hash, "limit_chars": self.limit_chars,
                                 "rules": INPUT_RULES if derived else None}
        # Named only where there is one, so that what has no literature keeps the key it always had.
        if self.context is not None:
            shown["context"] = {"hash": self.context, "limit_chars": self.context_limit}
        return shown


_ABSTRACT = re.compile(r"(?im)^[ \t]*(?:abstract|a\s?b\s?s\s?t\s?r\s?a\s?c\s?t)\b[ \t]*[.:—–-]*")
_INTRODUCTION = re.compile(
    r"(?im)^[ \t]*(?:(?:1|I)\.?[ \t]*\n?[ \t]*)?introduction\b|^[ \t]*1[ \t]*\n[ \t]*[A-Z]"
    r"|^[ \t]*(?:keywords|index terms)\b"
)


def abstract_of(text: str) -> str:
    """The abstract of a paper's extracted text: from its heading to the introduction; without one, the beginning."""
    heading = _ABSTRACT.search(text)
    if heading is None:
        return text[:FALLBACK_CHARS].strip()
    rest = text[heading.end():]
    end = _INTRODUCTION.search(rest)
    found = rest[: end.start() if end is not None else ABSTRACT_CHARS].strip()
    return found[:ABSTRACT_CHARS] if len(found) >= 40 else text[:FALLBACK_CHARS].strip()


def cut(text: str, limit_chars: int) -> str:
    """The text up to a limit, ending with a whole word where there is one."""
    if len(text) <= limit_chars:
        return text
    kept = text[:limit_chars]
    space = max(kept.rfind(" "), kept.rfind("\n"))
    return kept[:space] if space > limit_chars // 2 else kept


def limit_for(context_tokens: int) -> int:
    """How many characters of a paper fit a context window with room for instructions and an answer."""
    room = max(context_tokens - ANSWER_TOKENS, context_tokens // 2)
    return int(room * CHARS_PER_TOKEN)
