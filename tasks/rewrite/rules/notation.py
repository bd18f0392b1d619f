"""How a rule is written down, and what it becomes: ``pattern -> alternative / alternative``.

A pattern is tokens with spaces between. A token that is consumed has a number, from 1, and an alternative says
``{n}`` for what stood there:

    show|find        one of these words (``carried_out`` stands for two words)
    @method          the words of a list in ``tables/words.yaml``; may be mixed: ``@method|rule``
    *                one to four small words without a clause among them
    #                a mask or a number
    ?also|then       may be there or not
    word,            the comma belongs to the pattern (and not to ``{n}``)

Tokens that are only looked at: ``<a|b`` the word before is none of these (``*ly``: no adverb, ``#``: no mask or
number), ``<<a|b`` it is one of these, ``!a|b`` the word after is none of these, ``+a|b`` it is one of these (``#``,
``,`` and ``.`` may be among them), ``^.`` a sentence begins here, ``^,`` a comma stands before.

Here belongs the reading of one rule. Where rules are applied is ``engine.py``'s matter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tasks.rewrite.rules.language import GAP

Words = Mapping[str, tuple[str, ...]]

_NUMBER_OR_MASK: Final = r"(?:⟦\d+⟧|\d[\d.,]*(?<![.,]))"
_SMALL_WORDS: Final = (
    rf"(?:(?!(?:that|which|who|whose|where|when|if|is|are|was|were|be|we|and|or|but|as|than|to)\b)[a-z]+(?:-[a-z]+)*{GAP})"
    r"{0,3}?(?!(?:that|which|who|whose|where|when|if|is|are|was|were|be|we|and|or|but|as|than|to)\b)[a-z]+(?:-[a-z]+)*"
)
_END_OF_WORD: Final = r"(?![A-Za-z0-9'’-])"


class BadRule(ValueError):
    """A packaged rule is not in the notation."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule, ready to be matched at a place of a text."""

    id: int
    """Names the rule to the dice."""
    kind: str
    firsts: tuple[str, ...]
    """The words with which a match begins, in small letters."""
    pattern: re.Pattern[str]
    alternatives: tuple[str, ...]
    not_after: frozenset[str]
    only_after: frozenset[str]
    at_sentence_start: bool
    after_comma: bool


def _options(token: str, words: Words) -> list[str]:
    found: list[str] = []
    for option in token.split("|"):
        if option.startswith("@"):
            if option[1:] not in words:
                raise BadRule(f"no list of words is called {option!r}")
            found.extend(words[option[1:]])
        elif option:
            found.append(option.replace("_", " "))
    if not found:
        raise BadRule(f"the token {token!r} says nothing")
    return found


def _alternation(options: list[str]) -> str:
    # Longest first, so that "carried out" is not cut to "carried".
    ordered = sorted(options, key=len, reverse=True)
    return "|".join(re.escape(option).replace(r"\ ", GAP) for option in ordered)


def _look_ahead(token: str, words: Words) -> str:
    sign, rest = token[0], token[1:]
    if rest in {",", "."}:
        body = re.escape(rest)
    else:
        parts = [option for option in rest.split("|") if option not in {"#", ",", "."}]
        bodies = [f"{GAP}(?:{_alternation(_options('|'.join(parts), words))}){_END_OF_WORD}"] if parts else []
        bodies += [f"(?:{GAP}|~){_NUMBER_OR_MASK}"] if "#" in rest.split("|") else []
        bodies += [re.escape(option) for option in rest.split("|") if option in {",", "."}]
        body = "|".join(bodies)
    return f"(?{'=' if sign == '+' else '!'}{body})"


def _piece(token: str, words: Words, first: bool) -> str:
    comma = "," if token.endswith(",") and len(token) > 1 else ""
    core = token.removesuffix(",") if comma else token
    optional = core.startswith("?")
    core = core.removeprefix("?")
    if core == "*":
        body = f"({_SMALL_WORDS}){_END_OF_WORD}"
    elif core == "#":
        body = f"({_NUMBER_OR_MASK})"
    else:
        options = _options(core, words)
        if first:
            options = [f"[{option[0].upper()}{option[0]}]{option[1:]}" for option in options]
            joined = "|".join(option.replace(" ", GAP) for option in sorted(options, key=len, reverse=True))
        else:
            joined = _alternation(options)
        body = f"({joined}){_END_OF_WORD}"
    body += comma
    if first:
        return body
    return f"(?:{GAP}{body})?" if optional else f"{GAP}{body}"


def read_rule(line: str, words: Words, *, number: int, kind: str = "") -> Rule:
    """Read one rule.

    Args:
        line: the rule as it stands in the table.
        words: the named lists of words.
        number: what names the rule to the dice; keep it stable within a table.
        kind: what the reviewer calls what the rule mends.

    Raises:
        BadRule: when it is not in the notation.
    """
    left, arrow, right = line.partition(" -> ")
    if not arrow:
        raise BadRule(f"no arrow in {line!r}")
    pieces: list[str] = []
    firsts: tuple[str, ...] = ()
    looks: dict[str, frozenset[str]] = {"<": frozenset(), "<<": frozenset()}
    marks: set[str] = set()
    for token in left.split():
        if token in {"^.", "^,"}:
            marks.add(token)
        elif token.startswith("<"):
            sign = "<<" if token.startswith("<<") else "<"
            looks[sign] |= frozenset(_options(token.lstrip("<"), words))
        elif token[0] in "!+" and len(token) > 1:
            pieces.append(_look_ahead(token, words))
        else:
            if not firsts:
                firsts = tuple(option.split(" ")[0] for option in _options(token.rstrip(","), words))
            pieces.append(_piece(token, words, first=not pieces))
    if not firsts:
        raise BadRule(f"nothing to begin with in {line!r}")
    return Rule(number, kind, firsts, re.compile("".join(pieces)), tuple(part.strip() for part in right.split(" / ")),
                looks["<"], looks["<<"], "^." in marks, "^," in marks)
