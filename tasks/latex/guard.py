"""What a new wording of a segment must satisfy before it may stand in the paper.

Pure functions of a segment and a text. Which wording is better is no matter here; ``problems`` says only whether it
would change the science or break the source: masks, numbers, commands, specials, paragraph breaks, length, chatter,
language.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from tasks.latex.masks import MASK, Segment, mask_numbers

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*(?:\s?\\?%)?")
_ESCAPE = re.compile(r"\\[%&#_$]")
_COMMAND = re.compile(r"\\(?:[A-Za-z@]+|[^%&#_$]|\Z)")
_SPECIAL = re.compile(r"(?<!\\)[%&#_$]|[{}~^]")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_FENCE = re.compile(r"```|~~~")
_CHATTER = re.compile(
    r"\A\W*(?:here(?:'s| is| are)\b|sure\b[,!.]|certainly\b[,!.]|of course\b[,!.]|below is\b|rewritten "
    r"(?:text|version|paragraph|segment)|revised (?:text|version|paragraph|segment)|as an ai\b|i (?:cannot|can't|"
    r"have rewritten|am unable)\b|output:|note:)",
    re.I,
)
_LEAKED = re.compile(r"\b(?:masks?|placeholders?|keep the notation|rewritten (?:section|segment|paragraph))\b", re.I)
_OPENS_OPTION = re.compile(r"(?:\A|⟧)\s*[\[*]")
_MASK_LIKE = re.compile(r"⟦(?!\d+⟧)|(?<!\d)⟧|<\s*[mM]\d+\s*>|\[\[\d+\]\]|\[MASK")
_QUOTES = str.maketrans(
    {
        "’": "'",
        "‘": "`",
        "“": "``",
        "”": "''",
        "–": "--",
        "—": "---",
        "…": "...",
        "\u00a0": " ",
        "\u2011": "-",
        "\u2010": "-",
        "\u202f": " ",
        "\u2009": " ",
        "\u200b": "",
        "\ufeff": "",
    }
)
_SAFE = frozenset("’‘“”–—…") | frozenset(map(chr, range(0xC0, 0x17F))) - frozenset("×÷")
_COMMON = frozenset(
    re.findall(
        r"\w+", "the of and to in a is that for with as we are this on by be it our from which an at these can not or"
    )
)
CITATION_LIKE = re.compile(r"\[\d+(?:\s*[,-]\s*\d+)*\]|\(\w+ et al\.?,? \d{4}\)")


class Problem(NamedTuple):
    """One reason why a wording may not be used.

    ``word`` is the type: ``empty``, ``masks``, ``numbers``, ``new_command``, ``special``, ``new_character``,
    ``paragraph_break``, ``too_short``, ``too_long``, ``code_fence``, ``chatter``, ``other_language``, ``new_citation``.
    ``sentence`` tells a model what to mend.
    """

    word: str
    sentence: str


def tidied(new_text: str) -> str:
    """A wording without what models add around it: outer white space, a fence around all of it, typographic quotes.

    Only what loses nothing is changed; anything else is left for ``problems`` to name.
    """
    text = new_text.strip()
    fence = re.fullmatch(r"```[a-zA-Z]*[ \t]*\r?\n(.*?)\r?\n?```", text, re.S)
    text = fence[1].strip() if fence else text
    return text.replace("\r\n", "\n").translate(_QUOTES)


def numbers(text: str) -> Counter[str]:
    """The numbers of prose as a multiset: digits with their decimals, and a per cent sign where one follows."""
    found = (re.sub(r"[\s\\]", "", number) for number in _NUMBER.findall(MASK.sub(" ", text)))
    return Counter(found)


def problems(segment: Segment, new_text: str, bounds: tuple[float, float] = (0.5, 2.0)) -> list[Problem]:
    """Why ``new_text`` may not replace the segment's text; empty when it may.

    Args:
        segment: the original.
        new_text: the wording, with masks, best after ``tidied``.
        bounds: allowed ratio of lengths in words, with a slack of two words below and five above.
    """
    if new_text == segment.text:
        return []
    bare = MASK.sub(" ", new_text)
    if not re.search(r"\w", bare):
        return [Problem("empty", "The rewritten text is empty; give the whole passage in new words.")]
    found = [
        *_mask_problems(segment, new_text),
        *_markup_problems(segment, new_text, bare),
        *_number_problems(segment, new_text),
        *_shape_problems(segment, new_text, bare, bounds),
    ]
    return list(dict.fromkeys(found))


def _mask_problems(segment: Segment, new_text: str) -> list[Problem]:
    wanted, given = list(range(1, len(segment.masks) + 1)), mask_numbers(new_text)
    if given == wanted and not _MASK_LIKE.search(new_text):
        return []
    counts = Counter(given)
    lost = [f"⟦{number}⟧" for number in wanted if not counts[number]]
    twice = [f"⟦{number}⟧" for number in wanted if counts[number] > 1]
    strange = [f"⟦{number}⟧" for number in counts if number not in wanted]
    said = "; ".join(
        f"{what} {', '.join(names)}"
        for what, names in (("missing:", lost), ("more than once:", twice), ("not in the original:", strange))
        if names
    )
    return [
        Problem(
            "masks", f"Each mask must occur exactly once and in the original order ({said or 'order or form changed'})."
        )
    ]


def _markup_problems(segment: Segment, new_text: str, bare: str) -> list[Problem]:
    found: list[Problem] = []
    if _FENCE.search(new_text):
        found.append(Problem("code_fence", "Do not put the text into a code fence."))
    commands = sorted(set(_COMMAND.findall(_ESCAPE.sub("", bare))))
    if commands or (_OPENS_OPTION.search(new_text) and not _OPENS_OPTION.search(segment.text)):
        what = f" ({', '.join(commands[:5])})" if commands else ""
        found.append(Problem("new_command", f"Use no LaTeX command that is not in a mask{what}."))
    specials = sorted(set(_SPECIAL.findall(_ESCAPE.sub("", bare))))
    if specials:
        found.append(
            Problem("special", f"Write {' '.join(specials)} as words: unescaped special characters are not allowed.")
        )
    if Counter(CITATION_LIKE.findall(bare)) - Counter(CITATION_LIKE.findall(MASK.sub(" ", segment.text))):
        found.append(Problem("new_citation", "Add no citation or reference."))
    strange = sorted(
        set(new_text) - set(segment.text) - _SAFE - segment.alphabet - set(map(chr, range(32, 127))) - {"\n", "\t"}
    )
    strange += [
        mark
        for mark in sorted(set(new_text) - set(segment.text))
        if not mark.isascii() and mark in _SAFE and not _writable(mark, segment.encoding)
    ]
    if strange:
        found.append(Problem("new_character", f"These characters cannot be typeset here: {' '.join(strange[:8])}."))
    return found


def _writable(mark: str, encoding: str) -> bool:
    try:
        mark.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _number_problems(segment: Segment, new_text: str) -> list[Problem]:
    wanted, given = numbers(segment.text), numbers(new_text)
    if wanted == given:
        return []
    lost, added = sorted((wanted - given).elements()), sorted((given - wanted).elements())
    said = "; ".join(f"{what} {', '.join(names[:6])}" for what, names in (("lost:", lost), ("new:", added)) if names)
    return [Problem("numbers", f"Keep every number exactly as it is and add none ({said}).")]


def _shape_problems(segment: Segment, new_text: str, bare: str, bounds: tuple[float, float]) -> list[Problem]:
    found: list[Problem] = []
    if _BLANK_LINE.search(new_text):
        found.append(Problem("paragraph_break", "Keep the passage one paragraph: no blank line."))
    before, after = len(MASK.sub(" ", segment.text).split()), len(bare.split())
    if after < before * bounds[0] - 2:
        found.append(
            Problem("too_short", f"The original has {before} words, the rewrite only {after}: keep all of its content.")
        )
    if after > before * bounds[1] + 5:
        found.append(
            Problem("too_long", f"The original has {before} words, the rewrite {after}: stay near its length.")
        )
    original_chatter = _CHATTER.search(segment.text)
    if (_CHATTER.search(new_text) and not original_chatter) or (
        _LEAKED.search(new_text) and not _LEAKED.search(segment.text)
    ):
        found.append(Problem("chatter", "Answer with the rewritten passage alone, without any remark about it."))
    if _left_english(segment.text, bare):
        found.append(Problem("other_language", "Keep the language of the original."))
    return found


def _left_english(original: str, bare: str) -> bool:
    def share(text: str) -> float:
        words = re.findall(r"[^\W\d_]+", text.lower())
        return sum(word in _COMMON for word in words) / len(words) if len(words) >= 12 else -1.0

    before, after = share(MASK.sub(" ", original)), share(bare)
    return before >= 0.15 and 0 <= after < 0.05
