"""A TeX text as tokens: what can be told from left to right without knowing what the prose is.

Formulas, verbatim, protected environments, dead branches and definitions come out as one token each, found by jumping
to their ends; braces and brackets are matched on the way. What lies between two tokens is plain text, so tokens and
gaps joined are the source. Every jump that fails is remembered or counted, so that no input costs more than linear
time.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from tasks.latex.environments import MATH_NAMES, ends_of, kind_of
from tasks.latex.lexis import CONDITIONALS, DEFINITIONS, RAW_ARGUMENT, SHORT_VERBS
from tasks.latex.macros import Macros, group_end

NEWLINE = r"(?>\r\n?|\n)"
_TOKEN = re.compile(
    rf"%[^\r\n]*+{NEWLINE}?+[ \t]*+"
    r"|\\([A-Za-z]++)"
    rf"|\\(?:{NEWLINE}|.|\Z)"
    rf"|{NEWLINE}[ \t]*+(?:{NEWLINE}[ \t]*+)++"
    r"|[{}\[\]$&#^_~⟦⟧]",
    re.S,
)
_MATH_STOP = re.compile(rf"\\.|%[^\r\n]*+|[{{}}$]|{NEWLINE}[ \t]*+{NEWLINE}", re.S)
_NAME = re.compile(r"\s*+\{([^{}\\%\r\n]{1,80})\}")
_BRANCH = re.compile(r"\\(?:([A-Za-z@]+)|.)|%[^\r\n]*", re.S)
_SECTIONS = re.compile(r"\\(?:section|chapter|subsection)\s*\*?\s*[\[{]|\\begin\s*\{abstract\}")
_SIGNATURE = re.compile(r"\s*+\*?\s*+")
_ARGUMENT_START = re.compile(r"\s*+[\[{]")
FAILURES_LIMIT = 25
VERB_LIMIT = 1000


class Token(NamedTuple):
    """A span with a kind: one character for marks, a word for the rest; ``name`` of commands and environments."""

    start: int
    end: int
    kind: str
    name: str


@dataclass
class Scan:
    """Tokens of a text range, with the partners of braces, brackets and transparent environments.

    Attributes:
        tokens: in order, without overlap.
        partner: index of an opening token -> index of the closing one.
        flags: what was odd: ``unclosed``, ``catcodes`` (nothing of the range may then be rewritten).
    """

    tokens: list[Token] = field(default_factory=list)
    partner: dict[int, int] = field(default_factory=dict)
    flags: set[str] = field(default_factory=set)


class _Unclosed(Exception):
    """Too many constructs of this text never end: it is not LaTeX as we know it."""


class _Scanner:
    def __init__(self, text: str, limit: int, macros: Macros) -> None:
        self.text, self.limit, self.macros = text, limit, macros
        self.scan = Scan()
        self.braces: list[int] = []
        self.brackets: list[tuple[int, int]] = []
        self.environments: list[int] = []
        self.open_names: dict[str, int] = {}
        self.conditions: list[bool] = []
        self.failures = 0
        self.no_math_before = -1
        self.never: set[str] = set()
        self.words: dict[str, Callable[[re.Match[str], str], int]] = {"begin": self._begin, "end": self._end}
        self.words |= dict.fromkeys(DEFINITIONS, self._definition) | dict.fromkeys(RAW_ARGUMENT, self._raw_argument)
        self.words |= dict.fromkeys(SHORT_VERBS, self._verb) | dict.fromkeys(("else", "fi", "or"), self._branch)
        self.words |= dict.fromkeys(CONDITIONALS | {"iffalse", "iftrue"}, self._condition)
        self.words |= dict.fromkeys(("if" + name for name in macros.conditionals), self._condition)
        self.words |= dict.fromkeys(macros.opens, self._shorthand)
        for name, kind in macros.environments.items():
            if kind == "verbatim" and name.endswith("inline"):
                self.words[name] = self._verb

    def add(self, start: int, end: int, kind: str, name: str = "") -> int:
        self.scan.tokens.append(Token(start, end, kind, name))
        return end

    def run(self, position: int) -> Scan:
        while position < self.limit:
            position = self._until_jump(position)
        return self.scan

    def _until_jump(self, position: int) -> int:
        """Take tokens in until one ends elsewhere than its pattern does; returns where to go on."""
        text, append, words = self.text, self.scan.tokens.append, self.words
        short_verbs = self.macros.short_verbs
        if short_verbs:
            return self._with_short_verbs(position)
        for found in _TOKEN.finditer(text, position, self.limit):
            start, end = found.span()
            first = text[start]
            if first == "\\":
                name = found[1]
                if name is not None:
                    handler = words.get(name)
                    if handler is None:
                        append(Token(start, end, "word", name))
                        continue
                    after = handler(found, name)
                else:
                    after = self._symbol(start, end)
            else:
                after = self._mark(first, start, end)
            if after != end:
                return after
        return self.limit

    def _with_short_verbs(self, position: int) -> int:
        """As ``_until_jump`` for one token, where some characters open inline verbatim."""
        marks = "".join(re.escape(mark) for mark in self.macros.short_verbs)
        opening = re.compile(rf"[{marks}]")
        found, short = _TOKEN.search(self.text, position, self.limit), opening.search(self.text, position, self.limit)
        if short is not None and (found is None or short.start() < found.start()):
            close = self._on_line(short[0], short.end())
            return self.add(short.start(), close + 1 if close >= 0 else short.end(), "verbatim")
        if found is None:
            return self.limit
        start, end = found.span()
        if self.text[start] != "\\":
            return self._mark(self.text[start], start, end)
        if found[1] is None:
            return self._symbol(start, end)
        handler = self.words.get(found[1])
        return handler(found, found[1]) if handler else self.add(start, end, "word", found[1])

    def _mark(self, first: str, start: int, end: int) -> int:
        if first == "%":
            return self.add(start, end, "comment")
        if first in "\r\n":
            self.brackets.clear()
            return self.add(start, end, "break")
        if first == "$":
            return self._dollar(start)
        index = len(self.scan.tokens)
        if first == "{":
            self.braces.append(index)
        elif first == "}":
            if self.braces:
                self.scan.partner[self.braces.pop()] = index
            while self.brackets and self.brackets[-1][1] > len(self.braces):
                self.brackets.pop()
        elif first == "[":
            self.brackets.append((index, len(self.braces)))
        elif first == "]" and self.brackets and self.brackets[-1][1] == len(self.braces):
            self.scan.partner[self.brackets.pop()[0]] = index
        return self.add(start, end, first if first in "{}[]" else "special")

    def _symbol(self, start: int, end: int) -> int:
        mark = self.text[start + 1 : end]
        if mark in ("[", "("):
            return self._to_close(start, end, mark)
        if mark in self.macros.opens:
            return self._to_close(start, end, self.macros.opens[mark])
        return self.add(start, end, "symbol", mark)

    def _fail(self, start: int, end: int, kind: str = "special") -> int:
        """A construct that never ends: only its mark is protected."""
        self.scan.flags.add("unclosed")
        self.failures += 1
        if self.failures > FAILURES_LIMIT:
            raise _Unclosed
        return self.add(start, end, kind)

    def _dollar(self, start: int) -> int:
        text = self.text
        if text.startswith("$$", start):
            return self._to_close(start, start + 2, "$$")
        if start < self.no_math_before:
            return self.add(start, start + 1, "special")
        depth = 0
        for found in _MATH_STOP.finditer(text, start + 1, self.limit):
            mark = text[found.start()]
            if mark == "$" and depth == 0:
                return self.add(start, found.end(), "math")
            if mark == "{":
                depth += 1
            elif mark == "}":
                depth -= 1
            if depth < 0 or mark in "\r\n":
                self.no_math_before = found.start()
                break
        else:
            self.no_math_before = self.limit
        self.scan.flags.add("unclosed")
        return self.add(start, start + 1, "special")

    def _to_close(self, start: int, end: int, name: str) -> int:
        """A display formula or protected environment that opened at ``start``: one token to its end."""
        if name in self.never:
            return self.add(start, end, "special")
        depth = 1
        for found in ends_of(name, self.macros).finditer(self.text, end, self.limit):
            if found.lastgroup == "opens":
                depth += 1
            elif found.lastgroup == "closes":
                depth -= 1
                if depth == 0:
                    return self.add(start, found.end(), "math" if name in MATH_NAMES else "environment", name)
        self.never.add(name)
        return self._fail(start, end)

    def _shorthand(self, found: re.Match[str], name: str) -> int:
        environment = self.macros.opens[name]
        if kind_of(environment, self.macros) in ("math", "opaque"):
            return self._to_close(found.start(), found.end(), environment)
        return self.add(found.start(), found.end(), "begin", environment)

    def _begin(self, found: re.Match[str], _: str) -> int:
        named = _NAME.match(self.text, found.end(), self.limit)
        if named is None:
            return self.add(found.start(), found.end(), "word", "begin")
        name = named[1].strip()
        kind = kind_of(name, self.macros)
        if kind == "verbatim":
            close = -1 if name in self.never else self.text.find(f"\\end{{{name}}}", named.end(), self.limit)
            if close < 0:
                self.never.add(name)
                return self._fail(found.start(), named.end())
            return self.add(found.start(), close + len(name) + 6, "verbatim_block", name)
        if kind in ("math", "opaque"):
            return self._to_close(found.start(), named.end(), name)
        if kind == "unknown" and name not in self.never:
            after = self._to_close(found.start(), named.end(), name)
            if after == named.end() or not _SECTIONS.search(self.text, named.end(), after):
                return after
            self.scan.tokens.pop()
        self.environments.append(len(self.scan.tokens))
        self.open_names[name] = self.open_names.get(name, 0) + 1
        return self.add(found.start(), named.end(), "begin", name)

    def _end(self, found: re.Match[str], _: str) -> int:
        named = _NAME.match(self.text, found.end(), self.limit)
        if named is None:
            return self.add(found.start(), found.end(), "word", "end")
        name = named[1].strip()
        while self.open_names.get(name):
            index = self.environments.pop()
            opened = self.scan.tokens[index].name
            self.open_names[opened] -= 1
            if opened == name:
                self.scan.partner[index] = len(self.scan.tokens)
                break
        return self.add(found.start(), named.end(), "end", name)

    def _definition(self, found: re.Match[str], name: str) -> int:
        """From a definition's command to the end of its last argument."""
        text, end = self.text, found.end()
        if name in ("def", "gdef", "edef", "xdef"):
            brace = text.find("{", end, min(end + 200, self.limit))
            close = group_end(text, brace, self.limit) if brace >= 0 else end
            return self._fail(found.start(), end) if close < 0 else self.add(found.start(), close, "definition")
        signature = re.compile(r"\s*+\*?\s*+\\(?:[A-Za-z@]+|.)", re.S).match(text, end, self.limit)
        end = signature.end() if signature else end
        while True:
            star = _SIGNATURE.match(text, end, self.limit)
            opening = _ARGUMENT_START.match(text, star.end() if star else end, self.limit)
            if opening is None:
                return self.add(found.start(), end, "definition")
            if text[opening.end() - 1] == "{":
                close = group_end(text, opening.end() - 1, self.limit)
            else:
                close = text.find("]", opening.end(), min(opening.end() + 400, self.limit)) + 1
            if close <= 0:
                return self._fail(found.start(), opening.end())
            end = close

    def _raw_argument(self, found: re.Match[str], name: str) -> int:
        """A URL: per cent signs and hashes in it are characters."""
        opening = re.compile(r"\s*+([{|!])").match(self.text, found.end(), self.limit)
        if opening is None or name in ("urlstyle", "hyperref"):
            return self.add(found.start(), found.end(), "word", name)
        if opening[1] != "{":
            return self._verb(found, name)
        depth = 0
        for mark in re.compile(r"\\.|[{}]|[\r\n][ \t]*[\r\n]", re.S).finditer(self.text, opening.end() - 1, self.limit):
            depth += {"{": 1, "}": -1}.get(mark[0], 0)
            if depth == 0 or mark[0][0] in "\r\n":
                if depth == 0:
                    return self.add(found.start(), mark.end(), "href" if name == "href" else "verbatim", name)
                break
        return self._fail(found.start(), found.end())

    def _verb(self, found: re.Match[str], name: str) -> int:
        """Inline verbatim with a delimiter of its own, or in braces."""
        options = re.compile(r"\*?(?:\[[^\]\r\n]{0,200}\])?").match(self.text, found.end(), self.limit)
        end = options.end() if options else found.end()
        if name in ("mintinline", "mint", "pygment") and self.text.startswith("{", end):
            end = max(group_end(self.text, end, min(end + 100, self.limit)), end)
        mark = self.text[end : end + 1]
        if not mark or mark.isspace():
            return self.add(found.start(), found.end(), "word", name)
        if mark == "{" and name != "verb":
            close = group_end(self.text, end, min(end + 2000, self.limit))
        else:
            close = self._on_line(mark, end + 1) + 1
        if close <= 0:
            return self._fail(found.start(), found.end())
        return self.add(found.start(), close, "verbatim", name)

    def _on_line(self, mark: str, start: int) -> int:
        """Where a delimiter stands on the same line, within a length that inline verbatim has; -1 when it does not."""
        ahead = self.text[start : min(start + VERB_LIMIT, self.limit)]
        close = ahead.find(mark)
        return start + close if close >= 0 and not re.search(r"[\r\n]", ahead[:close]) else -1

    def _condition(self, found: re.Match[str], name: str) -> int:
        value = {"iftrue": True, "iffalse": False}.get(name, self.macros.conditionals.get(name[2:]))
        if value is True:
            self.conditions.append(True)
            return self.add(found.start(), found.end(), "dead")
        end, word = self._branch_end(found.end(), stop_at_else=value is False)
        if word == "":
            if value is False:
                self.scan.flags.add("unclosed")
                return self.add(found.start(), self.limit, "dead")
            return self._fail(found.start(), found.end())
        if word == "else":
            self.conditions.append(True)
        return self.add(found.start(), end, "dead")

    def _branch(self, found: re.Match[str], name: str) -> int:
        r"""``\\else`` and ``\\fi`` of a condition whose live branch was read."""
        if not self.conditions:
            return self.add(found.start(), found.end(), "dead")
        self.conditions.pop()
        if name == "fi":
            return self.add(found.start(), found.end(), "dead")
        end, word = self._branch_end(found.end(), stop_at_else=False)
        return self.add(found.start(), end if word else self.limit, "dead")

    def _branch_end(self, position: int, *, stop_at_else: bool) -> tuple[int, str]:
        """Where the branch that begins at ``position`` ends, and by which word; ("", -1) when it never does."""
        depth = 0
        for found in _BRANCH.finditer(self.text, position, self.limit):
            word = found[1]
            if word is None or word[0] not in "efi":
                continue
            if word == "fi":
                if depth == 0:
                    return found.end(), "fi"
                depth -= 1
            elif word == "else" and depth == 0 and stop_at_else:
                return found.end(), "else"
            elif self._opens_condition(word):
                depth += 1
        return -1, ""

    def _opens_condition(self, word: str) -> bool:
        return word.startswith("if") and (
            word in CONDITIONALS
            or word in ("iftrue", "iffalse")
            or word.startswith("if@")
            or word[2:] in self.macros.conditionals
        )


def scan(text: str, macros: Macros, start: int = 0, end: int | None = None) -> Scan:
    """Tokens of ``text[start:end]``.

    A text in which too many constructs never end comes back as one token ``unknown`` with the flag ``unclosed``.
    """
    limit = len(text) if end is None else end
    scanner = _Scanner(text, limit, macros)
    try:
        return scanner.run(start)
    except _Unclosed:
        return Scan([Token(start, limit, "unknown", "")] if start < limit else [], {}, {"unclosed", "given_up"})
