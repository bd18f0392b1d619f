"""Environments by name: how each is treated, and the pattern of its end.

Puts together what LaTeX defines (``lexis.py``) and what the authors define (``macros.py``); reads no text.
"""

from __future__ import annotations

import re
from functools import lru_cache

from tasks.latex.lexis import FLOAT, MATH, OPAQUE, PROSE, VERBATIM
from tasks.latex.macros import Macros

MATH_NAMES = MATH | {"[", "(", "$", "$$"}
"""Mathematics, by the environment's name or the mark that opens it."""
_KINDS = {
    name: kind
    for kind, names in (("prose", PROSE), ("float", FLOAT), ("opaque", OPAQUE), ("math", MATH), ("verbatim", VERBATIM))
    for name in names
}
_CLOSING_MARKS = {"[": r"\\\]", "(": r"\\\)", "$$": r"\$\$", "$": r"\$"}
_OTHER = r"%[^\r\n]*+|\\verb\*?(?P<mark>[^A-Za-z\s*])[^\r\n]{0,500}?(?P=mark)|\\."


def kind_of(name: str, macros: Macros) -> str:
    """``verbatim``, ``math``, ``opaque``, ``float``, ``prose`` or ``unknown``."""
    if name in MATH_NAMES:
        return "math"
    defined = macros.environments.get(name, "unknown")
    known = _KINDS.get(name, "unknown")
    # A class that redefines table or thebibliography does not make prose of it.
    if defined == "verbatim" or (known in ("unknown", "prose") and defined != "unknown"):
        return defined
    return known


def ends_of(name: str, macros: Macros) -> re.Pattern[str]:
    """A pattern whose groups ``opens`` and ``closes`` match what opens the environment again and what closes it.

    It also matches comments and escapes, so that neither is taken for one of them.
    """
    return _pattern(
        name,
        tuple(word for word, target in macros.opens.items() if target == name),
        tuple(word for word, target in macros.closes.items() if target == name),
    )


@lru_cache(maxsize=512)
def _pattern(name: str, opens: tuple[str, ...], closes: tuple[str, ...]) -> re.Pattern[str]:
    def words(names: tuple[str, ...]) -> list[str]:
        return [rf"\\{re.escape(word)}" + (r"(?![A-Za-z@])" if word[-1].isalpha() else "") for word in names]

    if name in _CLOSING_MARKS:
        # A macro that is a pair of dollars opens and closes alike, so nothing nests.
        begins, ends = ([] if "$" in name else words(opens)), [_CLOSING_MARKS[name], *words(closes)]
    else:
        quoted = rf"\s*+\{{\s*{re.escape(name)}\s*\}}"
        begins, ends = [rf"\\begin{quoted}", *words(opens)], [rf"\\end{quoted}", *words(closes)]
    opening = rf"(?P<opens>{'|'.join(begins)})|" if begins else ""
    return re.compile(rf"{opening}(?P<closes>{'|'.join(ends)})|{_OTHER}", re.S)
