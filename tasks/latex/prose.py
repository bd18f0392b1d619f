"""From tokens to passages: which stretches of a TeX file are prose, and what inside them is protected.

A passage is a run of pieces (prose, content to mask, layout to leave out at its edges) between two block boundaries.
This module walks one file; projects, identifiers and masks are put together in ``segments.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from tasks.latex import lexis
from tasks.latex.arguments import Arguments
from tasks.latex.includes import Include, include_at, includes_in
from tasks.latex.macros import GREEDY, Macros
from tasks.latex.scan import Scan, Token, scan

TEXT, CONTENT, LAYOUT = "text", "content", "layout"
MAX_NESTING = 3
_DIMENSION = re.compile(
    r"\s*=?\s*[-+]?(?:\d*[.,]?\d+|\\[A-Za-z]+)\s*(?:true\s*)?(?:pt|pc|in|cm|mm|em|ex|bp|dd|sp|fil+|"
    r"\\[A-Za-z]+)?(?:\s*(?:plus|minus)\s*[-+]?\d*[.,]?\d+\s*(?:pt|in|cm|mm|em|ex|fil+))*"
)
_ASSIGNMENT = re.compile(r"\s*=\s*[-+]?(?:\d*[.,]?\d+|\\[A-Za-z]+)\s*(?:true\s*)?(?:pt|pc|in|cm|mm|em|ex|bp|dd|sp)?")
_DIMENSION_WORDS = frozenset(
    ("vskip", "hskip", "kern", "vspace", "hspace", "penalty", "raise", "lower", "moveleft", "moveright")
)
_LET = re.compile(r"\s*\\(?:[A-Za-z@]+|.)\s*=?\s*\\(?:[A-Za-z@]+|.)")
_ACCENT_MARKS = frozenset("'`^\"~=.")
_LETTERS_BEFORE = re.compile(r"[^\W\d_]+\Z")
_LETTERS_AFTER = re.compile(r"\s?[^\W\d_]+")
_ENVIRONMENT_KINDS = {
    "abstract": "abstract",
    "itemize": "item",
    "enumerate": "item",
    "description": "item",
    "compactitem": "item",
    "compactenum": "item",
    "inparaenum": "item",
}


class Piece(NamedTuple):
    """A stretch of a passage: ``text``, ``content`` (becomes a mask) or ``layout`` (a mask, dropped at the edges)."""

    start: int
    end: int
    kind: str


class Passage(NamedTuple):
    """Pieces that follow each other, what they are, and the heading they stand under."""

    pieces: tuple[Piece, ...]
    kind: str
    section: str


@dataclass
class Reading:
    """What one walk of a file found: passages in order of their starts, includes, headings, flags."""

    passages: list[Passage] = field(default_factory=list)
    includes: list[Include] = field(default_factory=list)
    headings: list[tuple[int, str, str]] = field(default_factory=list)
    flags: set[str] = field(default_factory=set)


class _Walker(Arguments):
    def __init__(self, text: str, found: Scan, macros: Macros, reading: Reading) -> None:
        super().__init__(text, found)
        self.macros, self.reading = macros, reading
        self.run: list[Piece] = []
        self.section = ""
        self.kinds: list[str] = ["paragraph"]
        self.depth = 0
        self.by_kind: dict[str, Callable[[int, Token], int]] = {
            "word": self.word,
            "symbol": self.symbol,
            "begin": self.begin,
            "end": self.end,
            "break": self.block,
            "environment": self.environment,
            "verbatim_block": self.block,
            "definition": self.layout,
            "href": self.href,
            "comment": self.layout,
            "dead": self.layout,
            "unknown": self.block,
            "[": self.plain,
            "]": self.plain,
        }

    def walk(self, first: int, last: int, start: int, end: int) -> None:
        """Read the tokens ``first..last`` (exclusive) and the text between them, from ``start`` to ``end``."""
        index, position = first, start
        while index < last:
            token = self.tokens[index]
            if token.start > position:
                self.run.append(Piece(position, token.start, TEXT))
            handler = self.by_kind.get(token.kind, self.content)
            following = handler(index, token)
            position = max(position, self.run_end, self.tokens[following - 1].end)
            index = following
        if end > position:
            self.run.append(Piece(position, end, TEXT))
        self.flush()

    # run_end is where the handled construct ended; every handler sets it.
    run_end = 0

    def take(self, start: int, end: int, kind: str) -> None:
        self.run.append(Piece(start, end, kind))
        self.run_end = end

    def flush(self) -> None:
        if any(piece.kind == TEXT for piece in self.run):
            self.reading.passages.append(Passage(tuple(self.run), self.kinds[-1], self.section))
        self.run = []

    def content(self, index: int, token: Token) -> int:
        self.take(token.start, token.end, CONTENT)
        return index + 1

    def plain(self, index: int, token: Token) -> int:
        self.take(token.start, token.end, TEXT)
        return index + 1

    def layout(self, index: int, token: Token) -> int:
        self.take(token.start, token.end, LAYOUT)
        following = self.tokens[index + 1] if index + 1 < len(self.tokens) else None
        # After a comment's line end, an empty line is a paragraph break.
        if (
            token.kind == "comment"
            and self.text[token.end : token.end + 1] in ("\r", "\n")
            and (following is None or following.start > token.end or following.kind == "break")
        ):
            self.flush()
        return index + 1

    def block(self, index: int, token: Token) -> int:
        self.flush()
        self.run_end = token.end
        return index + 1

    def environment(self, index: int, token: Token) -> int:
        self.reading.includes += includes_in(self.text, token.start, token.end, prose=False)
        return self.block(index, token)

    def symbol(self, index: int, token: Token) -> int:
        if token.name in "%&#_$" and token.name:
            return self.plain(index, token)
        if token.name in _ACCENT_MARKS and token.name:
            return self.accent(index, token)
        if token.name == "\\":
            _, end = self.arguments(index, 0)
            self.take(token.start, end, LAYOUT)
            return self.index_after(index, end)
        return self.content(index, token)

    def accent(self, index: int, token: Token) -> int:
        """An accented or special letter: the whole word is one mask."""
        after, end = index + 1, token.end
        following = self.tokens[after] if after < len(self.tokens) else None
        if (
            following
            and following.kind == "{"
            and after in self.partner
            and not self.text[end : following.start].strip()
        ):
            after = self.partner[after]
            end, after = self.tokens[after].end, after + 1
        elif (
            token.name in lexis.LETTERS
            and self.text[end : end + 1].isspace()
            and self.text[end : end + 1] not in "\r\n"
        ):
            end += 1
        elif token.name not in lexis.LETTERS and after < len(self.tokens) and following and following.start == end:
            after, end = after + 1, following.end
        limit = self.tokens[after].start if after < len(self.tokens) else len(self.text)
        letters = _LETTERS_AFTER.match(self.text, end, min(limit, end + 60))
        if letters and (token.name not in lexis.LETTERS or not letters[0][0].isspace()):
            end = letters.end()
        start = token.start
        if self.run and self.run[-1].kind == TEXT and self.run[-1].end == start:
            before = _LETTERS_BEFORE.search(self.text, max(self.run[-1].start, start - 60), start)
            if before:
                last = self.run.pop()
                start = before.start()
                if last.start < start:
                    self.run.append(Piece(last.start, start, TEXT))
        self.take(start, end, CONTENT)
        return after

    def href(self, index: int, token: Token) -> int:
        """A link: its address is protected, its text as well (it may be a citation)."""
        after, end = self.arguments(index, 1)
        self.take(token.start, end, CONTENT)
        return after

    def begin(self, index: int, token: Token) -> int:
        self.flush()
        kind = "float" if token.name in lexis.FLOAT or self.macros.environments.get(token.name) == "float" else "prose"
        after, end = self.arguments(index, GREEDY, spaced=False)
        self.run_end = end
        if kind == "float" and index in self.partner:
            closing = self.partner[index]
            self.captions(index + 1, closing)
            self.reading.includes += includes_in(self.text, token.start, self.tokens[closing].end, prose=False)
            self.run_end = self.tokens[closing].end
            return closing + 1
        name = token.name.rstrip("*")
        known = "abstract" if "abstract" in name.lower() else _ENVIRONMENT_KINDS.get(name)
        self.kinds.append(known or self.kinds[-1])
        return after

    def end(self, index: int, token: Token) -> int:
        self.flush()
        self.run_end = token.end
        if len(self.kinds) > 1:
            self.kinds.pop()
        return index + 1

    def captions(self, first: int, last: int) -> None:
        for index in range(first, last):
            token = self.tokens[index]
            if token.kind == "word" and token.name in lexis.CAPTIONS:
                self.region(index, "caption", before=1 if token.name == "captionof" else 0)

    def word(self, index: int, token: Token) -> int:
        name = token.name
        if name in lexis.WRAPPERS:
            return self.wrapper(index, token, lexis.WRAPPERS[name])
        if name in lexis.HEADINGS:
            return self.heading(index, token)
        if name in lexis.TITLES or name in lexis.ABSTRACTS or name in lexis.CAPTIONS:
            kind = "title" if name in lexis.TITLES else "abstract" if name in lexis.ABSTRACTS else "caption"
            self.flush()
            after, self.run_end = self.region(index, kind, before=1 if name == "captionof" else 0)
            return after
        if name in lexis.NOTES:
            after, end = self.region(index, "footnote")
            self.take(token.start, end, CONTENT)
            return after
        if name in lexis.INCLUDES:
            return self.include(index, token)
        if name in lexis.LETTERS or (name in lexis.ACCENTS and self.text[token.end : token.end + 1] in "{ "):
            return self.accent(index, token)
        return self.command(index, token)

    def command(self, index: int, token: Token) -> int:
        name = token.name
        count = self.macros.arguments.get(name, 0 if name in lexis.DECLARATIONS or name in lexis.SYMBOLS else GREEDY)
        if name in _DIMENSION_WORDS or name == "let":
            pattern = _LET if name == "let" else _DIMENSION
            found = pattern.match(self.text, token.end + (self.text[token.end : token.end + 1] == "*"))
            after, end = (
                self.arguments(index, GREEDY) if found is None else (self.index_after(index, found.end()), found.end())
            )
        else:
            after, end = self.arguments(index, count)
        assigned = _ASSIGNMENT.match(self.text, end) if end == token.end else None
        if assigned:
            after, end = self.index_after(index, assigned.end()), assigned.end()
        if name in lexis.BLOCKS:
            self.flush()
            self.run_end = end
        else:
            is_layout = name in lexis.LAYOUT or name in lexis.DECLARATIONS
            if is_layout and end == token.end:
                # White space after a declaration is the command's, not the sentence's.
                ahead = self.text[end : end + 80]
                end += len(ahead) - len(ahead.lstrip(" \t"))
            self.take(token.start, end, LAYOUT if is_layout else CONTENT)
        return after

    def include(self, index: int, token: Token) -> int:
        found = include_at(self.text, token.start)
        self.flush()
        if found is None:
            after, self.run_end = self.arguments(index, GREEDY)
            return after
        self.reading.includes.append(found._replace(kind=self.kinds[-1]))
        self.run_end = found.end
        return self.index_after(index, found.end)

    def wrapper(self, index: int, token: Token, protected: int) -> int:
        r"""``\\emph{`` is a mask, its text is prose, its brace is a mask."""
        after, end = self.arguments(index, protected) if protected else (index + 1, token.end)
        following = self.tokens[after] if after < len(self.tokens) else None
        if following and following.kind == "{" and not self.text[end : following.start].strip():
            self.take(token.start, following.end, CONTENT)
            return after + 1
        self.take(token.start, end, LAYOUT)
        return after

    def heading(self, index: int, token: Token) -> int:
        self.flush()
        after, end = self.region(index, "heading")
        inner = self.inner(index)
        if inner:
            self.section = re.sub(r"\s+", " ", re.sub(r"\\[A-Za-z]+\*?|[{}~$]", " ", self.text[slice(*inner)])).strip()
            self.reading.headings.append((token.start, token.name, self.section))
        self.run_end = end
        return after

    def region(self, index: int, kind: str, before: int = 0) -> tuple[int, int]:
        """Read a command's argument as a passage of its own; returns the index and position after it."""
        opening = self.opening(index, before)
        if opening is None:
            return self.arguments(index, GREEDY)
        closing = self.partner[opening]
        if self.depth < MAX_NESTING:
            kept, kept_end, kinds = self.run, self.run_end, self.kinds
            self.run, self.kinds, self.depth = [], [kind], self.depth + 1
            self.walk(opening + 1, closing, self.tokens[opening].end, self.tokens[closing].start)
            self.run, self.run_end, self.kinds, self.depth = kept, kept_end, kinds, self.depth - 1
        return closing + 1, self.tokens[closing].end


def read(
    text: str, macros: Macros, start: int = 0, end: int | None = None, *, section: str = "", kind: str = "paragraph"
) -> Reading:
    """Walk ``text[start:end]``, which must be body text, and say what is prose.

    Args:
        text: the whole file.
        macros: the project's definitions.
        start: first character to read.
        end: where to stop; None: the end of the file.
        section: the heading under which the range begins.
        kind: of its passages.
    """
    limit = len(text) if end is None else end
    found = scan(text, macros, start, limit)
    reading = Reading(flags=found.flags)
    walker = _Walker(text, found, macros, reading)
    walker.section, walker.kinds = section, [kind]
    walker.walk(0, len(found.tokens), start, limit)
    reading.passages.sort(key=lambda passage: passage.pieces[0].start)
    return reading
