"""A segment: one paragraph of prose in which what must not change is a numbered mask, and how it becomes LaTeX again.

Knows nothing of projects or of how segments are found (``segments.py``), nor of what a rewrite may do (``guard.py``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tasks.latex.source import unix_lines

MASK = re.compile(r"⟦(\d+)⟧")
_ENDS_IN_WORD = re.compile(r"\\[A-Za-z@]+\Z")
_ENDS_IN_LINE = re.compile(r"(?:\r\n?|\n)[ \t]*\Z")
_LEADING_LINE = re.compile(r"[ \t]*\n\s*")


@dataclass(frozen=True)
class Segment:
    """Prose of one file that may be rewritten.

    Attributes:
        id: ``file#number``; stays the same in a rewritten project as long as its structure does.
        file: path in the project.
        start: first character in the decoded file.
        end: the character after the last.
        text: the prose; protected spans are ``⟦1⟧``, ``⟦2⟧`` ... and line ends are line feeds.
        masks: the protected spans' source, ``masks[0]`` for ``⟦1⟧``.
        mask_ranges: where they lie in the decoded file.
        kind: ``paragraph``, ``abstract``, ``title``, ``heading``, ``item``, ``caption`` or ``footnote``.
        section: text of the heading it stands under, "" before the first.
        encoding: codec of the file; a rewrite must be writable in it.
        newline: line end of the file.
        alphabet: the characters beyond ASCII that the file already uses.
    """

    id: str
    file: str
    start: int
    end: int
    text: str
    masks: tuple[str, ...]
    section: str
    kind: str = "paragraph"
    mask_ranges: tuple[tuple[int, int], ...] = ()
    encoding: str = "utf-8"
    newline: str = "\n"
    alphabet: frozenset[str] = frozenset()

    @property
    def words(self) -> int:
        """How many words of prose it has."""
        return len(re.findall(r"[^\W\d_]{2,}", MASK.sub(" ", self.text)))


def mask_numbers(text: str) -> list[int]:
    """The mask numbers of a text, in order."""
    return [int(number) for number in MASK.findall(text)]


def unmask(segment: Segment, new_text: str, masks: Sequence[str] | None = None) -> str:
    """LaTeX of a new wording: each mask replaced by its source, line ends as in the file.

    Args:
        segment: where the wording goes.
        new_text: the wording, checked by ``guard.problems``.
        masks: sources to put in instead of the segment's own (a mask may hold a rewritten footnote).

    Raises:
        KeyError: for a mask that the segment does not have.
    """
    sources = segment.masks if masks is None else masks
    made: list[str] = []
    position = 0
    for found in MASK.finditer(new_text):
        _join(made, new_text[position : found.start()], segment.newline)
        number = int(found[1])
        if not 1 <= number <= len(sources):
            raise KeyError(f"{segment.id} has no mask {number}")
        made.append(sources[number - 1])
        position = found.end()
    _join(made, new_text[position:], segment.newline)
    return "".join(made)


def _join(made: list[str], text: str, newline: str) -> None:
    """Append prose after a mask, so that the two do not grow together or break the paragraph."""
    if made and text:
        if _ENDS_IN_LINE.search(made[-1]) and _LEADING_LINE.match(text):
            text = text.lstrip()
        # A control word ends before é, as TeX and the scan read it: only an ASCII letter would make it another.
        elif text[0].isascii() and text[0].isalpha() and _ENDS_IN_WORD.search(made[-1]):
            text = " " + text
    made.append(text if newline == "\n" else text.replace("\n", newline))


def masked(text: str, pieces: Sequence[tuple[int, int, bool]]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Prose with masks, from pieces ``(start, end, is_prose)`` that follow each other in ``text``."""
    parts: list[str] = []
    ranges: list[tuple[int, int]] = []
    for start, end, is_prose in pieces:
        if is_prose:
            parts.append(unix_lines(text[start:end]))
        else:
            ranges.append((start, end))
            parts.append(f"⟦{len(ranges)}⟧")
    return "".join(parts), tuple(ranges)
