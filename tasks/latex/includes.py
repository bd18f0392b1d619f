"""Inclusion of files: the commands that do it and the files that their names mean.

Reads single commands and names; the graph of a project is in ``graph.py``.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Container
from typing import NamedTuple

_GROUP = r"\s*+\{\s*+([^{}\r\n]{1,300}?)\s*+\}"
_INCLUDE = re.compile(
    rf"\\(?P<two>import|subimport|inputfrom|includefrom|subinputfrom|subincludefrom)\*?{_GROUP}{_GROUP}"
    rf"|\\(?P<one>@?input|include|subfile|subfileinclude|InputIfFileExists|loadexternal){_GROUP}"
    r"|\\(?P<bare>input)\s++(?:\"([^\"\r\n]{1,300})\"|([^\s{}\\%\"]{1,300}))"
)
_ANY = re.compile(r"%[^\r\n]*+|\\[A-Za-z@]++|\\.", re.S)
_WORDS = frozenset(
    "\\" + word
    for word in (
        *("import", "subimport", "inputfrom", "includefrom", "subinputfrom", "subincludefrom", "input", "@input"),
        *("include", "subfile", "subfileinclude", "InputIfFileExists", "loadexternal"),
    )
)


class Include(NamedTuple):
    """One inclusion: the command's span, its name, the folder of the two-part forms, the name as written.

    ``prose`` is false where what is included stands inside protected content; ``kind`` is that of the passages around
    it.
    """

    start: int
    end: int
    command: str
    folder: str
    name: str
    prose: bool = True
    kind: str = "paragraph"


def include_at(text: str, start: int, *, prose: bool = True) -> Include | None:
    """The inclusion whose command begins at ``start``, or None when its name is not a plain one."""
    found = _INCLUDE.match(text, start)
    if found is None:
        return None
    if found["two"]:
        folder, name = found.group(2), found.group(3)
        command = found["two"]
    elif found["one"]:
        folder, name, command = "", found.group(5), found["one"]
    else:
        folder, name, command = "", found.group(7) or found.group(8), "input"
    if "\\" in name or "#" in name:
        return None
    return Include(start, found.end(), command, folder.strip(), name.strip().strip('"'), prose)


def includes_in(text: str, start: int, end: int, *, prose: bool = True) -> list[Include]:
    """All inclusions in ``text[start:end]`` outside of comments."""
    if not any(
        text.find(word, start, end) >= 0
        for word in ("\\input", "\\include", "\\sub", "\\import", "\\Input", "\\@input")
    ):
        return []
    found = (
        include_at(text, match.start(), prose=prose) for match in _ANY.finditer(text, start, end) if match[0] in _WORDS
    )
    return [include for include in found if include is not None]


def resolve(include: Include, root: str, including: str, files: Container[str]) -> str | None:
    r"""The project file that an inclusion means: the literal name first, then with ``.tex``.

    Args:
        include: the inclusion.
        root: folder of the main file, from which TeX resolves names.
        including: the file that includes: its folder counts for ``\\subimport`` and, where the first fails, for all
            forms.
        files: names of the project's files.
    """
    here = posixpath.dirname(including)
    bases = [here, root] if include.command.startswith("sub") else [root, here]
    for base in bases:
        path = posixpath.normpath(posixpath.join(base, include.folder, include.name))
        names = (path + ".tex", path) if include.command == "include" else (path, path + ".tex")
        for name in names:
            if name in files:
                return name
    return None
