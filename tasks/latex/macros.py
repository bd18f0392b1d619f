"""What the authors defined: macros and their arguments, shorthands of environments, conditionals, short verbs.

Reads definitions by pattern out of all TeX files of a project. Nothing is expanded: a definition only tells the scanner
how much to protect after a name. What LaTeX itself and the packages define is in ``lexis.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tasks.latex.lexis import DECLARATIONS, FLOAT, MATH, OPAQUE, SYMBOLS, VERBATIM

BRACES = re.compile(r"\\.|%[^\r\n]*|[{}]", re.S)
_DEFINITION = re.compile(
    r"%[^\r\n]*"
    r"|\\(?P<new>(?:re)?newcommand|providecommand|DeclareRobustCommand)\s*+\*?\s*+\{?\s*+\\(?P<name>[A-Za-z@]+|.)\s*+\}?\s*+"
    r"(?:\[(?P<count>\d)\])?(?P<optional>\[[^\]]{0,200}\])?\s*+\{"
    r"|\\(?P<def>[gex]?def)\s*+\\(?P<defname>[A-Za-z@]+|.)(?P<pattern>[^{}\r\n]{0,60})\{"
    r"|\\let\s*+\\(?P<let>[A-Za-z@]+)\s*+=?\s*+\\(?P<target>[A-Za-z@]+)"
    r"|\\(?P<document>(?:New|Renew|Provide|Declare)DocumentCommand)\s*+\{?\s*+\\(?P<docname>[A-Za-z@]+)\s*+\}?\s*+"
    r"\{(?P<spec>[^{}]{0,80}(?:\{[^{}]{0,80}\}[^{}]{0,80}){0,8})\}\s*+\{"
    r"|\\(?P<env>(?:re)?newenvironment|(?:New|Renew|Declare)DocumentEnvironment)\s*+\*?\s*+\{(?P<envname>[^{}]{1,80})\}"
    r"\s*+(?:\[\d\])?(?:\[[^\]]{0,200}\])?\s*+\{"
    r"|\\(?P<maker>newtheorem|declaretheorem|spnewtheorem|newmdtheoremenv|newtcolorbox|newtcbtheorem|DeclareTColorBox|"
    r"NewTColorBox|newmdenv|newlist|includecomment|specialcomment|excludecomment|newtcblisting|lstnewenvironment|"
    r"DefineVerbatimEnvironment|RecustomVerbatimEnvironment|newfloat|DeclareFloatingEnvironment|NewEnviron|newframedtheorem|"
    r"newshadedtheorem)\s*+\*?\s*+(?:\[[^\]]{0,200}\])?\s*+\{(?P<made>[^{}]{1,80})\}"
    r"|\\(?P<minted>newminted|newmint|newmintinline)\s*+(?:\[(?P<alias>\w+)\])?\s*+\{(?P<language>[\w+]+)\}"
    r"|\\newif\s*+\\if(?P<newif>[A-Za-z@]+)"
    r"|\\(?P<short>MakeShortVerb|DefineShortVerb|lstMakeShortInline)\s*+\*?\s*+(?:\[[^\]]{0,200}\])?\s*+\{?\s*+\\?(?P<mark>[^\sA-Za-z{])"
    r"|\\(?P<set>[A-Za-z@]+?)(?P<value>true|false)(?![A-Za-z@])"
    r"|\\.",
    re.S,
)
_PAIR = re.compile(r"\\(begin|end)\s*\{([^{}]+)\}|\\([\[\]()])|(\$\$?)|\\.", re.S)
_MADE_KIND = {
    "includecomment": "prose",
    "specialcomment": "prose",
    "excludecomment": "verbatim",
    "newtcblisting": "verbatim",
    "lstnewenvironment": "verbatim",
    "DefineVerbatimEnvironment": "verbatim",
    "RecustomVerbatimEnvironment": "verbatim",
    "newfloat": "float",
    "DeclareFloatingEnvironment": "float",
    "NewEnviron": "opaque",
}
_RAW_STARTS = re.compile(r"\\(?:verbatim|lstlisting|lst@|minted|VerbatimEnvironment|comment)(?![a-z])")
_PROTECTED_STARTS = re.compile(r"\\(?:tabular|equation|align|gather|array|tikzpicture|collect@body|\[|\()(?![a-z])|\$")
_SHORTHAND_TARGET = re.compile(r"(?!document$)[A-Za-z]+\*?|[\[(]|\$\$?")
GREEDY = -1
"""Argument count of a macro whose arguments are not known: everything in braces right after it."""


def group_end(text: str, start: int, limit: int) -> int:
    """Where the group that opens at ``start`` is closed (the position after its brace), or -1.

    Linear in the distance; comments and escaped braces do not count.
    """
    depth = 0
    for found in BRACES.finditer(text, start, limit):
        mark = text[found.start()]
        if mark == "{":
            depth += 1
        elif mark == "}":
            depth -= 1
            if depth == 0:
                return found.end()
    return -1


@dataclass(frozen=True)
class Macros:
    r"""Definitions of one project.

    Attributes:
        arguments: macro -> how many braced arguments it takes (``GREEDY``: not known).
        opens: macro -> the environment (or ``[``, ``(``, ``$``, ``$$``) that its body begins and does not end.
        closes: macro -> the one it ends.
        environments: author's environment -> ``prose``, ``opaque``, ``verbatim``, ``float``.
        conditionals: name without ``\\if`` -> its value where the source settles it.
        short_verbs: characters that open and close inline verbatim.
    """

    arguments: Mapping[str, int] = field(default_factory=dict)
    opens: Mapping[str, str] = field(default_factory=dict)
    closes: Mapping[str, str] = field(default_factory=dict)
    environments: Mapping[str, str] = field(default_factory=dict)
    conditionals: Mapping[str, bool] = field(default_factory=dict)
    short_verbs: frozenset[str] = frozenset()


class _Collector:
    def __init__(self) -> None:
        self.arguments: dict[str, int] = {}
        self.opens: dict[str, str] = {}
        self.closes: dict[str, str] = {}
        self.environments: dict[str, str] = {}
        self.conditionals: dict[str, bool] = {}
        self.settings: dict[str, bool] = {}
        self.short_verbs: set[str] = set()

    def read(self, text: str) -> None:
        """Take in every definition of one file; a definition that never ends stops the reading."""
        position = 0
        while position >= 0:
            position = self._next(text, position)

    def _next(self, text: str, position: int) -> int:
        for found in _DEFINITION.finditer(text, position):
            kind = found.lastgroup
            if kind is None:
                continue
            if found["new"] or found["def"] or found["document"]:
                end = group_end(text, found.end() - 1, len(text))
                if end < 0:
                    return -1
                self._macro(found, text[found.end() : end - 1])
                return end
            if found["env"]:
                begin_end = group_end(text, found.end() - 1, len(text))
                if begin_end < 0:
                    return -1
                self.environments[found["envname"].strip()] = _environment_kind(
                    text[found.end() : begin_end - 1], self.environments
                )
                return begin_end
            self._simple(found)
        return -1

    def _simple(self, found: re.Match[str]) -> None:
        if found["let"]:
            self._alias(found["let"], "\\" + found["target"])
        elif found["maker"]:
            self.environments[found["made"].strip()] = _MADE_KIND.get(found["maker"], "prose")
        elif found["minted"]:
            alias = found["alias"] or found["language"] + ("code" if found["minted"] == "newminted" else "inline")
            self.environments[alias] = self.environments[alias + "*"] = "verbatim"
        elif found["newif"]:
            self.conditionals.setdefault(found["newif"], False)
        elif found["short"]:
            self.short_verbs.add(found["mark"])
        elif found["set"]:
            self.settings[found["set"]] = found["value"] == "true"

    def _macro(self, found: re.Match[str], body: str) -> None:
        if found["new"]:
            name, count = found["name"], int(found["count"] or 0) - bool(found["optional"])
        elif found["def"]:
            name, pattern = found["defname"], found["pattern"]
            count = pattern.count("#") if re.fullmatch(r"(?:#\d)*\s*", pattern) else GREEDY
        else:
            name = found["docname"]
            count = len(re.findall(r"[mrRv]", re.sub(r"\{[^{}]*\}", "", found["spec"])))
        self.arguments[name] = GREEDY if count <= 0 and _ends_in_command(body) else count
        self._alias(name, body)

    def _alias(self, name: str, body: str) -> None:
        bare = re.fullmatch(r"\s*\\(end)?([A-Za-z]+\*?)\s*", body)
        if bare and bare[2] in MATH and bare[2] not in ("array", "split", "cases", "math"):
            (self.closes if bare[1] else self.opens)[name] = bare[2]
            return
        opened, closed = _balance(body)
        if opened and not closed and _SHORTHAND_TARGET.fullmatch(opened[0]):
            self.opens[name] = opened[0]
            if "$" in opened[0]:
                self.closes[name] = opened[0]
        elif closed and not opened and _SHORTHAND_TARGET.fullmatch(closed[0]):
            self.closes[name] = closed[0]


def _ends_in_command(body: str) -> bool:
    last = re.search(r"\\([A-Za-z@]+)\s*$", body)
    return last is not None and last[1] not in DECLARATIONS and last[1] not in SYMBOLS


def _balance(body: str) -> tuple[list[str], list[str]]:
    """Environments that a body begins and does not end, and those it ends without beginning them."""
    opened: list[str] = []
    closed: list[str] = []
    for found in _PAIR.finditer(body):
        kind, name, bracket, dollar = found.groups()
        if dollar:
            name = dollar
            kind = "end" if dollar in opened else "begin"
        elif bracket:
            kind, name = ("begin", bracket) if bracket in "[(" else ("end", {"]": "[", ")": "("}[bracket])
        if kind == "begin":
            opened.append(name)
        elif kind == "end":
            if opened and opened[-1] == name:
                opened.pop()
            else:
                closed.append(name)
    return opened, closed


def _environment_kind(begin: str, known: Mapping[str, str]) -> str:
    opened, _ = _balance(begin)
    if _RAW_STARTS.search(begin) or any(name in VERBATIM or known.get(name) == "verbatim" for name in opened):
        return "verbatim"
    if any(name in FLOAT or known.get(name) == "float" for name in opened):
        return "float"
    protected = any(name in MATH or name in OPAQUE or name in "[($$" or known.get(name) == "opaque" for name in opened)
    return "opaque" if protected or _PROTECTED_STARTS.search(re.sub(r"\$[^$]*\$", "", begin)) else "prose"


def collect(texts: Iterable[str]) -> Macros:
    """The definitions in the TeX files of a project, in the order in which the files are given (main file last)."""
    collector = _Collector()
    for text in texts:
        collector.read(text)
    for name, value in collector.settings.items():
        if name in collector.conditionals:
            collector.conditionals[name] = value
    return Macros(
        collector.arguments,
        collector.opens,
        collector.closes,
        collector.environments,
        collector.conditionals,
        frozenset(collector.short_verbs),
    )
