"""The arguments of a command among tokens: where they begin and end.

Navigation only; what an argument is to a rewriter is ``prose.py``'s matter.
"""

from __future__ import annotations

import re

from tasks.latex.scan import Scan

_GAP = re.compile(r"[ \t]*(?:\r\n?|\n)?[ \t]*\Z")


class Arguments:
    """A text with its tokens and their partners."""

    def __init__(self, text: str, found: Scan) -> None:
        self.text, self.tokens, self.partner = text, found.tokens, found.partner

    def inner(self, index: int, before: int = 0) -> tuple[int, int] | None:
        """The text range of a command's last braced argument, after ``before`` others."""
        opening = self.opening(index, before)
        if opening is None:
            return None
        return self.tokens[opening].end, self.tokens[self.partner[opening]].start

    def opening(self, index: int, before: int) -> int | None:
        """The index of the brace that opens a command's argument after ``before`` others; None when there is none."""
        after, end = self.arguments(index, before)
        following = self.tokens[after] if after < len(self.tokens) else None
        if (
            following is None
            or following.kind != "{"
            or after not in self.partner
            or self.text[end : following.start].strip()
        ):
            return None
        return after

    def index_after(self, index: int, position: int) -> int:
        """The first token from ``index`` on that begins at or after a position."""
        while index < len(self.tokens) and self.tokens[index].start < position:
            index += 1
        return index

    def arguments(self, index: int, count: int, *, spaced: bool = True) -> tuple[int, int]:
        """Skip a command's star, bracketed and braced arguments (``count`` braced ones; ``GREEDY``: all there are)."""
        end, index, taken = self.tokens[index].end, index + 1, 0
        end += self.text[end : end + 1] == "*"
        while index < len(self.tokens):
            token = self.tokens[index]
            if token.kind == "[" and token.start == end and index in self.partner:
                closing = self.partner[index]
            elif (
                token.kind == "{"
                and taken != count
                and index in self.partner
                and (token.start == end or (spaced and _GAP.match(self.text, end, token.start)))
            ):
                closing, taken = self.partner[index], taken + 1
            else:
                break
            end, index = self.tokens[closing].end, closing + 1
        return index, end
