"""One table applied to one text: which matches fire, what is said, and what is set before a sentence.

The same text, table and dice give the same result on every machine. Here belongs the walk over a text; which tables
make up a condition is ``conditions.py``'s matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple
from zlib import crc32

from tasks.rewrite.rules.language import (
    WORD,
    Prose,
    Span,
    article_before,
    capitalised,
    lowered,
    mend_articles,
)
from tasks.rewrite.rules.notation import Rule
from tasks.rewrite.rules.table import Opener, Table, known_openers

_WORD_BEFORE: Final = re.compile(r"(?:^|[\s(\[“\"`])([A-Za-z]+(?:-[a-z]+)*)\s+\Z")
_SLOT: Final = re.compile(r"\{(\d+)\}")
_SPACES: Final = re.compile(r" {2,}")
_SAFE_WORDS: Final = """
The This These Those We Our It Each All Both There Such Many Several Every Any Its Their They Some No Another An
When If For In With At To On Under Across Because While By From Within Once After Without Where Here
Results Experiments Measurements Values Models Methods Users Systems Errors Training Performance Accuracy Data Samples
Tests Tasks Queries Requests Signals Parameters Layers Columns Rows Different Further Only More Other Recent
"""
_SAFE_START: Final = re.compile(rf"(?:{'|'.join(_SAFE_WORDS.split())}|Most(?! \w+ly)|A(?=\s+[a-z]{{4,}}))(?=\s)")
"""Words that lose their capital when something is set before them."""
_OWN_OPENING: Final = re.compile(r"(?:\S+\s+){0,2}\S+,")
"""A sentence that already begins with a short introduction takes no other."""
_FINITE: Final = re.compile(
    r"\b(?:is|are|was|were|has|have|had|can|cannot|could|will|would|must|should|may|might|does|do|did|shows?|uses?|gives?|makes?"
    r"|provides?|allows?|requires?|remains?|follows?|supports?|yields?|improves?|reduces?|achieves?|performs?|describes?"
    r"|defines?|presents?|introduces?|proposes?|becomes?|holds?|depends?|produces?|contains?|includes?|enables?|needs?|takes?"
    r"|keeps?|means?|[Ww]e\s+\w+)\b"
)
_SENTENCE_BEGINS: Final = re.compile(r"[.!?:)⟧]\s+(?=[A-Z])|\A(?:⟦\d+⟧\s*)*")
_THANKS: Final = re.compile(r"\b(?:thank|acknowledge|grateful|gratefully|funded|supported by)\b")
_HAS_NUMBER: Final = re.compile(r"⟦\d+⟧|\d")
_LETTERS: Final = re.compile(r"[A-Za-z]{2,}")
SHORTEST_OPENED: Final = 7
"""Words a sentence needs before something is set in front of it."""
SENTENCES_PER_OPENER: Final = 4
AMONG_SEVERAL: Final = 0.6
"""A table among several leaves more for the next round."""
LONGEST_OPENER: Final = 80
"""Characters: no opener is longer."""


class Fired(NamedTuple):
    """A rule that fired: where, what it mends, and what it says instead."""

    start: int
    end: int
    kind: str
    said: str


@dataclass(frozen=True, slots=True)
class Dice:
    """Choices that depend on the seed and on what is chosen for, and on nothing else."""

    seed: int
    salt: str

    def roll(self, *what: object) -> int:
        """A number of 32 bits."""
        return crc32(f"{self.seed}|{self.salt}|{'|'.join(map(str, what))}".encode())

    def habit(self, options: int, rule: int, roll: int) -> int:
        """Which of several alternatives: mostly the one that this producer prefers, now and then another."""
        preferred = self.roll("habit", rule) // 7 % options
        return preferred if roll // 1009 % 3 else (preferred + 1 + roll // 31 % max(1, options - 1)) % options


def _said(match: re.Match[str], alternative: str, *, opens: bool) -> str | None:
    """What stands in the place of a match, or None where it would not fit."""
    source = match[0]
    def fill(slot: re.Match[str]) -> str:
        number = int(slot[1])
        word = match[number] or ""
        return lowered(word) if number == 1 and opens else word
    new = _SPACES.sub(" ", mend_articles(_SLOT.sub(fill, alternative))).strip().replace(" ,", ",")
    if "\n" in source and "\n" not in new:
        gap = new.rfind(" ")
        if gap < 0:
            return None
        broken = re.search(r"[ \t]*\n[ \t]*", source)
        new = new[:gap] + (broken[0] if broken else " ") + new[gap + 1:]
    new = capitalised(new) if opens and source[:1].isupper() else new
    return None if new == source else new


def _word_before(text: str, start: int) -> str:
    """The word before, in small letters; ``#`` for a mask or a number, nothing after other characters."""
    found = _WORD_BEFORE.search(text, max(0, start - 40), start)
    if found:
        return found[1].lower()
    tail = text[max(0, start - 10):start].rstrip()
    return "#" if tail and (tail[-1] in "⟧%" or tail[-1].isdigit()) else ""


def _in_opener(text: str, start: int) -> bool:
    """Whether a place lies in something that was set before a sentence: that is not reworded again."""
    begins = 0
    for found in _SENTENCE_BEGINS.finditer(text, max(0, start - LONGEST_OPENER), start):
        begins = found.end()
    opener = known_openers().match(text, begins)
    return opener is not None and opener.end() > start


def _fits(rule: Rule, prose: Prose, start: int) -> bool:
    if rule.not_after or rule.only_after:
        before = _word_before(prose.text, start)
        if before in rule.not_after or (rule.only_after and before not in rule.only_after):
            return False
        if "*ly" in rule.not_after and before.endswith("ly"):
            return False
    if rule.after_comma and not prose.text[max(0, start - 3):start].rstrip().endswith(","):
        return False
    return not rule.at_sentence_start or prose.opens_sentence(start)


def fire(table: Table, text: str, dice: Dice, *, readiness: float = 1.0) -> Iterator[Fired]:
    """The rules that fire on a text, in order and without overlap; ``readiness`` times the table's rate."""
    prose = Prose(text)
    index = table.index
    threshold = int(table.rate * readiness * 1000)
    done = 0
    occurrence = crc32(text.encode("utf-8", "surrogatepass"))
    for word in WORD.finditer(text):
        rules = index.get(word[0])
        if rules is None:
            continue
        start = word.start()
        if start < done:
            continue
        opens = word[0][0].isupper()
        if opens and not prose.opens_sentence(start):
            continue
        for rule in rules:
            match = rule.pattern.match(text, start)
            if match is None or not _fits(rule, prose, start) or not prose.free(start, match.end()):
                continue
            roll = dice.roll(rule.id, occurrence, start)
            if roll // 17 % 1000 >= threshold:
                continue
            choice = dice.habit(len(rule.alternatives), rule.id, roll)
            if _in_opener(text, start):
                break
            new = _said(match, rule.alternatives[choice], opens=opens)
            if new is not None:
                yield Fired(start, match.end(), rule.kind, new)
                done = match.end()
                break


def substitute(text: str, fired: Iterator[Fired]) -> str:
    """The text with what fired said in its places, the articles before them mended."""
    parts: list[str] = []
    at = 0
    for change in fired:
        before = text[at:change.start]
        parts.append(article_before(before, change.said) if change.said[:1].isalpha() else before)
        parts.append(change.said)
        at = change.end
    parts.append(text[at:])
    return "".join(parts)


def _openable(prose: Prose, span: Span) -> bool:
    text = prose.text
    sentence = text[span.start:span.end]
    return (
        sentence.endswith(".")
        and _SAFE_START.match(sentence) is not None
        and _OWN_OPENING.match(sentence) is None
        and known_openers().match(sentence) is None
        and len(_LETTERS.findall(sentence)) >= SHORTEST_OPENED
        and _FINITE.search(sentence) is not None
        and _THANKS.search(sentence) is None
        and not prose.quoted(span.start)
        and (span.start == 0 or text[span.start - 1].isspace())
    )


def _opener_for(table: Table, sentence: str) -> tuple[int, Opener] | None:
    for rank, opener in enumerate(table.openers):
        if opener.with_number and not _HAS_NUMBER.search(sentence):
            continue
        if opener.start is None or opener.start.match(sentence):
            return rank, opener
    return None


def open_sentences(table: Table, text: str, dice: Dice, *, readiness: float = 1.0) -> str:
    """The text with openers before a few of its sentences: the ones a table knows best first.

    Args:
        table: whose openers.
        text: the text.
        dice: for the choices.
        readiness: times the rates of the table.
    """
    if not table.openers:
        return text
    prose = Prose(text)
    spans = list(prose.sentences())
    wanted: list[tuple[int, int, Span, Opener]] = []
    readiest = max(opener.rate for opener in table.openers) * 1000 * readiness
    for span in spans:
        sentence = text[span.start:span.end]
        roll = dice.roll("open", crc32(sentence.encode("utf-8", "surrogatepass")))
        chance = roll // 13 % 1000
        if chance >= readiest or not _openable(prose, span):
            continue
        found = _opener_for(table, sentence)
        if found is not None and chance < found[1].rate * 1000 * readiness:
            wanted.append((found[0], roll, span, found[1]))
    # Sort by rank and roll only: spans and openers have no order of their own.
    chosen = sorted(wanted, key=lambda item: item[:2])[: 1 + len(spans) // SENTENCES_PER_OPENER]
    for _, roll, span, opener in sorted(chosen, key=lambda item: item[2], reverse=True):
        said = opener.say[roll // 7919 % len(opener.say)]
        text = f"{text[:span.start]}{said} {lowered(text[span.start:])}"
    return text


def apply_table(table: Table, text: str, dice: Dice, *, share: float | None = None) -> str:
    """Rewrite a text by one table.

    Args:
        table: what may fire, and what may be set before sentences.
        text: the text.
        dice: for the choices.
        share: of the sentences for this table where several follow each other; None for a table that works alone: it
            then opens twice as readily where nothing else has changed.
    """
    changed = substitute(text, fire(table, text, dice, readiness=1.0 if share is None else AMONG_SEVERAL))
    readiness = share if share is not None else 2.0 if changed == text else 1.0
    return open_sentences(table, changed, dice, readiness=readiness)
