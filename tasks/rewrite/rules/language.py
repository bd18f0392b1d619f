"""Surface English under masks: where sentences begin, what stands in quotation marks, a/an, capital letters.

Here belongs what any rule needs to know about a piece of prose. What a rule says does not belong here.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final, NamedTuple

WORD: Final = re.compile(r"[A-Za-z]+(?:['’][a-z]+)?")
GAP: Final = r"(?:[ \t]+|[ \t]*\n[ \t]*)"
"""White space within a paragraph: an empty line ends it."""

# A word that touches one of these is part of something else: a compound, a mask, a path, a formula, a possessive.
_GLUE_BEFORE: Final = frozenset("-_/\\~⟧'’`{}$.@#&^|=<>*0123456789+")
_GLUE_AFTER: Final = frozenset("-_/\\⟦'’{}$@#&^|=<>*0123456789+(")
_ABBREVIATION: Final = re.compile(
    r"(?:^|[\s(⟧])(?:e\.g|i\.e|et al|cf|vs|resp|approx|Figs?|Eqs?|Secs?|Tab|Refs?|Thm|Prop|Alg|App|Ch|No|Dr"
    r"|Prof|Mr|Ms|St|etc|viz|ca|[A-Za-z])\.$"
)
_SENTENCE_BREAK: Final = re.compile(rf"[.!?](?:[)\"'’”]+|⟦\d+⟧)?{GAP}(?=[A-Z])")
_QUOTE_MARK: Final = re.compile(r"[`“„«‘\"]")
_QUOTATION: Final = re.compile(
    r"(?=[`“„«‘\"])(?:``.*?(?:''|\Z)|“.*?(?:”|\Z)|„.*?(?:[“”]|\Z)|«.*?(?:»|\Z)|‘[^’]*’(?![a-z])"
    r"|(?<![A-Za-z0-9])`[^`']*'(?![a-z])|(?<![\w\\])\"[^\"]*(?:\"|\Z))", re.S,
)
_LEADING_MASKS: Final = re.compile(r"(?:⟦\d+⟧\s*)*")
_CONSONANT_SOUND: Final = re.compile(r"(?:eu|ew|uni(?!m|n[aefhiost])|us(?:e|a|u)|ut(?:ili|op)|ubiq|one\b|once\b)")
_VOWEL_SOUND: Final = re.compile(r"(?:hour|honest|hono|heir)")
_ARTICLE_AT_END: Final = re.compile(rf"(?<![A-Za-z0-9⟧'’.-])([Aa])(n?)({GAP})\Z")
_ARTICLE: Final = re.compile(rf"(?<![A-Za-z0-9⟧'’.-])([Aa])(n?)({GAP})(?=([A-Za-z][a-z-]+))")


class Span(NamedTuple):
    """A stretch of a text: ``text[start:end]``."""

    start: int
    end: int


class Prose:
    """One masked text and what is known about its surface, found once and asked often."""

    def __init__(self, text: str) -> None:
        self.text = text
        quoted = [Span(*match.span()) for match in _QUOTATION.finditer(text)] if _QUOTE_MARK.search(text) else []
        self._quote_starts = [span.start for span in quoted]
        self._quote_ends = [span.end for span in quoted]

    def quoted(self, place: int) -> bool:
        """Whether the character at ``place`` stands in quotation marks."""
        if not self._quote_starts:
            return False
        index = bisect_right(self._quote_starts, place) - 1
        return index >= 0 and place < self._quote_ends[index]

    def free(self, start: int, end: int) -> bool:
        """Whether ``text[start:end]`` is words of the running prose: glued to nothing and not quoted."""
        text = self.text
        if start and text[start - 1] in _GLUE_BEFORE:
            return False
        if end < len(text):
            after = text[end]
            if after in _GLUE_AFTER or (after in ".:" and end + 1 < len(text) and text[end + 1].isalnum()):
                return False
        return not self.quoted(start)

    def opens_sentence(self, place: int) -> bool:
        """Whether a sentence begins at ``place``."""
        before = self.text[max(0, place - 40):place]
        if place <= 40 and _LEADING_MASKS.fullmatch(before):
            return True
        cut = before.rstrip()
        if cut == before or not cut or cut[-1] not in ".!?:":
            return False
        return not _ABBREVIATION.search(cut)

    def sentences(self) -> Iterator[Span]:
        """The sentences, without the white space between them and without masks before the first word."""
        text = self.text
        lead = _LEADING_MASKS.match(text)
        start = lead.end() if lead else 0
        for match in _SENTENCE_BREAK.finditer(text):
            if match.start() < start or _ABBREVIATION.search(text[max(0, match.start() - 8):match.start() + 1]):
                continue
            yield Span(start, match.start() + len(match[0].rstrip()))
            start = match.end()
        if start < len(text.rstrip()):
            yield Span(start, len(text.rstrip()))


def vowel_sound(word: str) -> bool:
    """Whether ``an`` goes before the word."""
    lower = word.lower()
    if _VOWEL_SOUND.match(lower):
        return True
    return lower[:1] in "aeiou" and not _CONSONANT_SOUND.match(lower)


def mend_articles(text: str) -> str:
    """``a``/``an`` as the following word asks, everywhere in a text that a rule wrote."""
    return _ARTICLE.sub(lambda found: found[1] + ("n" if vowel_sound(found[4]) else "") + found[3], text)


def article_before(before: str, word: str) -> str:
    """The text before a replaced word, its last article mended where it has one."""
    found = _ARTICLE_AT_END.search(before, max(0, len(before) - 40))
    if found is None:
        return before
    return before[: found.start()] + found[1] + ("n" if vowel_sound(word) else "") + found[3]


def capitalised(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def lowered(text: str) -> str:
    """The text with a small first letter."""
    return text[:1].lower() + text[1:]
