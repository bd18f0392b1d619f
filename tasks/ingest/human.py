"""Human scores of families, read from a CSV file.

``family,score`` with one row a family. 0 is a legal score; an empty cell is a missing score; everything else that is
not a finite number is an error that names the file and the row.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

from storage.errors import InputError
from storage.records import HumanScore


def read_human_scores(path: Path) -> list[HumanScore]:
    """The scores of a file, in its order.

    Raises:
        InputError: the file is missing or not UTF-8, a column is missing or unknown, a score is no number, a family
            comes twice.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            return _scores(path, csv.reader(lines, strict=True))
    except FileNotFoundError as error:
        raise InputError(
            f"{path}: there is no such file; set families.human_scores to a CSV with family,score"
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: it is not UTF-8; save it as UTF-8") from error
    except csv.Error as error:
        raise InputError(f"{path}: it is not CSV: {error}") from error


def _scores(path: Path, rows: Any) -> list[HumanScore]:
    header = [cell.strip() for cell in next(rows, [])]
    if sorted(header) != ["family", "score"]:
        raise InputError(f"{path}, row 1: the columns must be family,score, not {','.join(header) or 'none'}")
    found: list[HumanScore] = []
    seen: dict[str, int] = {}
    for row in rows:
        number = rows.line_num
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(header):
            raise InputError(f"{path}, row {number}: it has {len(row)} cells, the header has {len(header)}")
        cells = dict(zip(header, (cell.strip() for cell in row), strict=True))
        family = cells["family"]
        if not family:
            raise InputError(f"{path}, row {number}: the family is empty")
        if family in seen:
            raise InputError(f"{path}, row {number}: the family {family} is in row {seen[family]} already")
        seen[family] = number
        if cells["score"]:
            found.append(HumanScore(family=family, score=_number(path, number, cells["score"]), source=path.name))
    return found


def _number(path: Path, row: int, cell: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or "_" in cell:
        raise InputError(f"{path}, row {row}: the score {cell!r} is not a number")
    return value
