"""Files of anyone's scores: CSV, TSV, Parquet or JSON lines into frames with row numbers, and the documents of them.

Reading only; what makes a cell wrong is ``tasks.metrics``. Rows are numbered as a person sees them: in a CSV file the
header is row 1, in JSON lines the row is the line, in Parquet the first record is row 1.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import polars as pl

from storage.errors import InputError
from tasks.metrics.assemble import robust_json, robust_results
from tasks.metrics.bias import bias_json
from tasks.metrics.scores import ROW, human_scores
from tasks.metrics.style_results import style_json

_JSON_LINES = (".jsonl", ".ndjson", ".json")


def read_scores(path: Path | str) -> pl.DataFrame:
    """The file as a frame; CSV and JSON lines give text columns, and ``ROW`` holds the row numbers of the file.

    Raises:
        InputError: The file is not there, not readable as what its name says, or a row has the wrong shape.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: there is no such file")
    readers: dict[str, Callable[[Path], pl.DataFrame]] = {
        ".csv": _read_csv,
        ".tsv": _read_tsv,
        ".parquet": _read_parquet,
        **dict.fromkeys(_JSON_LINES, _read_json_lines),
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise InputError(f"{path}: unknown kind of file {path.suffix!r}; give .csv, .tsv, .parquet or .jsonl")
    try:
        return reader(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error


def _read_parquet(path: Path) -> pl.DataFrame:
    try:
        frame = pl.read_parquet(path)
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{path}: is not a readable Parquet file: {_line(error)}") from error
    return frame.with_row_index(ROW, offset=1)


def _line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


def _read_csv(path: Path) -> pl.DataFrame:
    return _read_delimited(path, ",")


def _read_tsv(path: Path) -> pl.DataFrame:
    return _read_delimited(path, "\t")


def _read_delimited(path: Path, delimiter: str) -> pl.DataFrame:
    rows = _delimited_rows(path, delimiter)
    _, header = next(rows, (1, []))
    header = [name.strip() for name in header]
    if not any(header):
        raise InputError(f"{path}: row 1: there is no header with column names")
    twice = next((name for at, name in enumerate(header) if name in header[:at]), None)
    if twice is not None:
        raise InputError(f"{path}: row 1, column '{twice}': is there twice")
    numbers: list[int] = []
    columns: list[list[str | None]] = [[] for _ in header]
    for number, row in rows:
        if len(row) != len(header):
            raise InputError(f"{path}: row {number}: has {len(row)} cells where the header has {len(header)}")
        numbers.append(number)
        for column, cell in zip(columns, row, strict=True):
            column.append(cell or None)
    data: dict[str, Any] = dict(zip(header, columns, strict=True))
    return pl.DataFrame({ROW: numbers, **data}, schema={ROW: pl.Int64, **dict.fromkeys(header, pl.String)})


def _delimited_rows(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Records with their numbers, the header being 1; wholly blank lines count but hold nothing."""
    number = 0
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            for number, row in enumerate(csv.reader(file, delimiter=delimiter, strict=True), start=1):
                if row or number == 1:
                    yield number, row
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: after row {number}: is not UTF-8 text; save it as UTF-8") from error
    except csv.Error as error:
        raise InputError(f"{path}: row {number + 1}: {error}") from error


def _read_json_lines(path: Path) -> pl.DataFrame:
    numbers: list[int] = []
    columns: dict[str, list[str | None]] = {}
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, start=1):
                if not line.strip():
                    continue
                record = _json_record(line, f"{path}: row {number}")
                for name in record.keys() - columns.keys():
                    columns[name] = [None] * len(numbers)
                for name, column in columns.items():
                    column.append(record.get(name))
                numbers.append(number)
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text; save it as UTF-8") from error
    return pl.DataFrame({ROW: numbers, **columns}, schema={ROW: pl.Int64, **dict.fromkeys(columns, pl.String)})


def _json_record(line: str, where: str) -> dict[str, str | None]:
    """One object as text cells: the checks of the metrics then see what the file says, not what JSON makes of it."""

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        for at, (name, _) in enumerate(found):
            if name in {other for other, _ in found[:at]}:
                raise InputError(f"{where}, column '{name}': is there twice")
        return dict(found)

    def constant(name: str) -> NoReturn:
        raise InputError(f"{where}: {name} is not a number; write null when there is no score")

    try:
        record = json.loads(line, object_pairs_hook=pairs, parse_constant=constant)
    except json.JSONDecodeError as error:
        raise InputError(f"{where}: is not a JSON object: {error.msg}") from error
    if not isinstance(record, dict):
        raise InputError(f"{where}: is not a JSON object; write one object a line")
    return {name: _cell(value, where, name) for name, value in record.items()}


def _cell(value: Any, where: str, name: str) -> str | None:
    if isinstance(value, dict | list):
        raise InputError(f"{where}, column '{name}': holds a nested value, not one cell")
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if value is None or isinstance(value, str) else repr(value)


def robust_document(path: Path | str, human_path: Path | str | None = None) -> dict[str, Any]:
    """The document of ``evenhand metrics robust FILE [--human FILE]``.

    Raises:
        InputError: Naming the file, the row and the column; also when the two files have no family in common.
    """
    human = human_scores(read_scores(human_path), str(human_path)) if human_path is not None else None
    results = robust_results(read_scores(path), human, where=str(path))
    if human is not None and not set(human) & set(results.families):
        raise InputError(f"{human_path}: column 'family': none of its families is in {path}")
    return robust_json(results)


def style_document(path: Path | str) -> dict[str, Any]:
    """The document of ``evenhand metrics style FILE``.

    Raises:
        InputError: Naming the file, the row and the column.
    """
    return style_json(read_scores(path), where=str(path))


def bias_document(path: Path | str) -> dict[str, Any]:
    """The document of ``evenhand metrics bias FILE``.

    Raises:
        InputError: Naming the file, the row and the column.
    """
    return bias_json(read_scores(path), where=str(path))
