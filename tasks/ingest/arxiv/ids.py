"""arXiv identifiers in every form that people write, and files of them.

Here belongs reading. v1 and v2 of a paper are different papers; the subject class of an old identifier says nothing
(``math.GT/0001999`` and ``math/0001999`` are one paper), as arXiv itself holds.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from storage.errors import InputError

_PREFIX = re.compile(
    r"^(?:https?://)?(?:(?:www|export|browse)\.)?(?:arxiv\.org|ar5iv\.org|ar5iv\.labs\.arxiv\.org|alphaxiv\.org)"
    r"/(?:abs|pdf|src|e-print|format|html|ps|list|overview)/|^(?:https?://)?(?:dx\.)?doi\.org/10\.48550/arxiv\."
    r"|^10\.48550/arxiv\.|^arxiv:\s*",
    re.I,
)
_ID = re.compile(
    r"(?:(?P<new>\d{2}(?:0[1-9]|1[0-2])\.\d{4,5})|(?P<archive>[a-z]+(?:-[a-z]+)*)(?:\.[a-z]{2})?/(?P<old>\d{7}))"
    r"(?:v(?P<version>[1-9]\d{0,2}))?",
    re.I,
)
_TAIL = re.compile(r"(?:\.pdf|/)$|\s*\[[\w.-]+\]$", re.I)
COLUMNS = ("arxiv_id", "id", "arxiv")
"""Names of the column with the identifiers in a CSV file, the best first."""


@dataclass(frozen=True, order=True)
class ArxivId:
    """A paper on arXiv; without a version, the newest one when it was first asked for."""

    paper: str
    """``2401.00001`` or ``hep-th/9901999``."""
    version: int | None = None

    @property
    def text(self) -> str:
        """As arXiv writes it: ``hep-th/9901999v2``."""
        return self.paper if self.version is None else f"{self.paper}v{self.version}"

    @property
    def name(self) -> str:
        """A family's name: the same without a slash, so that it can name a folder."""
        return self.text.replace("/", "_")

    def at(self, version: int) -> ArxivId:
        """One version of the paper."""
        return ArxivId(self.paper, version)


def parse_arxiv_id(text: str) -> ArxivId:
    """An identifier from an identifier, an address, a DOI, or a reference such as ``arXiv:2401.00001v2 [cs.CL]``.

    Raises:
        InputError: it is none of them.
    """
    bare = _PREFIX.sub("", unquote(text.strip().strip("<>\"'")), count=1)
    bare = re.split(r"[?#]", bare, maxsplit=1)[0].strip()
    while (shorter := _TAIL.sub("", bare)) != bare:
        bare = shorter
    found = _ID.fullmatch(bare)
    if found is None or (found["old"] and not 1 <= int(found["old"][2:4]) <= 12):
        raise InputError(f"{text.strip()!r} is no arXiv identifier; write it like 2401.00001v2 or hep-th/9901999")
    paper = found["new"] or f"{found['archive'].lower()}/{found['old']}"
    return ArxivId(paper, int(found["version"]) if found["version"] else None)


def read_ids(path: Path) -> list[ArxivId]:
    """The identifiers of a file: one a line (``#`` begins a remark), or a CSV with a column ``arxiv_id``.

    Raises:
        InputError: the file is missing, empty or not UTF-8, a row holds no identifier, or one comes twice.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError as error:
        raise InputError(f"{path}: there is no such file; set families.path to a file of arXiv identifiers") from error
    except (UnicodeDecodeError, IsADirectoryError) as error:
        raise InputError(f"{path}: it is not a text file in UTF-8 with arXiv identifiers") from error
    found: dict[ArxivId, int] = {}
    for row, cell in _cells(path, lines):
        try:
            one = parse_arxiv_id(cell)
        except InputError as problem:
            raise InputError(f"{path}, row {row}: {problem}") from problem
        if one in found:
            raise InputError(f"{path}, row {row}: {one.text} is in row {found[one]} already")
        found[one] = row
    if not found:
        raise InputError(f"{path}: it holds no arXiv identifier")
    return list(found)


def _cells(path: Path, lines: list[str]) -> list[tuple[int, str]]:
    """Row and cell of each identifier."""
    header = [cell.strip().lower() for cell in next(csv.reader(lines[:1]), [])]
    column = next((header.index(name) for name in COLUMNS if name in header), None)
    if column is None:
        bare = ((row, re.sub(r"(^|\s)#.*", "", line).strip()) for row, line in enumerate(lines, 1))
        return [(row, cell) for row, cell in bare if cell]
    rows = csv.reader(lines)
    next(rows)
    found: list[tuple[int, str]] = []
    for cells in rows:
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(header):
            raise InputError(f"{path}, row {rows.line_num}: it has {len(cells)} cells, the header has {len(header)}")
        found.append((rows.line_num, cells[column].strip()))
    return found
