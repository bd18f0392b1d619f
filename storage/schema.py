"""What a record is in DuckDB and in Arrow: derived from the pydantic classes, never written twice.

Here belong column types, checks, comments, and the way of one row from record to plain values and back. What the tables
are is said in ``records.py``; which row of a key counts is said in ``views.py``.

A missing value is NULL: NaN never gets into a table. In a required number NaN is refused, in an optional one it becomes
NULL, in a map of numbers its entry is left out.
"""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from typing import Any, Literal, NamedTuple, TypeVar

import orjson
import pyarrow as pa

from storage.records import TABLES, TableRecord

R = TypeVar("R", bound=TableRecord)
PlainRow = dict[str, Any]
"""A row as plain values: text, numbers, booleans, lists of text, maps of numbers, JSON as text, and moments as whole
microseconds since 1970 (exact, and a hundred times faster than datetimes on their way through JSON and Arrow)."""

MOMENT = pa.timestamp("us", tz="UTC")
_INT64 = 2**63
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class NotStorable(ValueError):
    """A record holds a value that no row can hold: NaN in a required field, a number out of range, an unknown type."""


class Column(NamedTuple):
    """One field of a record as a column."""

    name: str
    kind: str
    """``text``, ``word`` (of a set), ``int``, ``float``, ``bool``, ``moment``, ``texts``, ``numbers``, ``json``."""
    nullable: bool
    words: tuple[str, ...]
    comment: str

    @property
    def sql_type(self) -> str:
        """The column's type in DuckDB."""
        return _SQL_TYPES[self.kind]

    @property
    def arrow_type(self) -> pa.DataType:
        """The column's type in Arrow."""
        return _ARROW_TYPES[self.kind]

    @property
    def ddl(self) -> str:
        """The column's line in CREATE TABLE."""
        parts = [f'"{self.name}"', self.sql_type]
        if not self.nullable:
            parts.append("NOT NULL")
        if self.words:
            parts.append(f'CHECK ("{self.name}" IN ({", ".join(map(literal, self.words))}))')
        if self.kind == "float":
            parts.append(f'CHECK (NOT isnan("{self.name}"))')
        return " ".join(parts)


_SQL_TYPES = {
    "text": "VARCHAR", "word": "VARCHAR", "json": "VARCHAR", "int": "BIGINT", "float": "DOUBLE", "bool": "BOOLEAN",
    "moment": "TIMESTAMPTZ", "texts": "VARCHAR[]", "numbers": "MAP(VARCHAR, DOUBLE)",
}
_ARROW_TYPES: dict[str, pa.DataType] = {
    "text": pa.string(), "word": pa.string(), "json": pa.string(), "int": pa.int64(), "float": pa.float64(),
    "bool": pa.bool_(), "moment": MOMENT, "texts": pa.list_(pa.string()), "numbers": pa.map_(pa.string(), pa.float64()),
}


def literal(text: str) -> str:
    """A text as a SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def _sound(text: str) -> str:
    """The text without lone surrogates, which UTF-8 (and so DuckDB) cannot hold: an answer must not be lost to one."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _sound_json(value: Any) -> Any:
    if isinstance(value, str):
        return _sound(value)
    if isinstance(value, Mapping):
        return {_sound(str(name)): _sound_json(item) for name, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [_sound_json(item) for item in value]
    return value


def _json_text(value: Any) -> str:
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        return orjson.dumps(_sound_json(value)).decode()


def _whole(value: int) -> int:
    if not -_INT64 <= value < _INT64:
        raise NotStorable(f"{value} does not fit 64 bits")
    return value


def _moment(value: datetime) -> int:
    if value.tzinfo is None:
        raise NotStorable(f"{value} has no time zone")
    since = value - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _numbers(value: Mapping[str, float]) -> dict[str, float]:
    return {_sound(name): float(number) for name, number in value.items() if not math.isnan(number)}


_ENCODE: dict[str, Callable[[Any], Any]] = {
    "text": _sound, "word": str, "json": _json_text, "int": _whole, "float": _number, "bool": bool, "moment": _moment,
    "texts": lambda texts: [_sound(text) for text in texts], "numbers": _numbers,
}
_DECODE: dict[str, Callable[[Any], Any]] = {"json": orjson.loads, "numbers": dict}


class Table(NamedTuple):
    """One record class as a table."""

    name: str
    record: type[TableRecord]
    columns: tuple[Column, ...]
    comment: str

    @property
    def arrow_schema(self) -> pa.Schema:
        """The schema of a batch of rows."""
        return pa.schema([pa.field(column.name, column.arrow_type, column.nullable) for column in self.columns])

    @property
    def ddl(self) -> str:
        """CREATE TABLE and its comments, as one text of statements."""
        lines = ",\n    ".join(column.ddl for column in self.columns)
        comments = [f"COMMENT ON TABLE {self.name} IS {literal(self.comment)};"]
        comments += [f'COMMENT ON COLUMN {self.name}."{column.name}" IS {literal(column.comment)};'
                     for column in self.columns if column.comment]
        return f"CREATE TABLE {self.name} (\n    {lines}\n);\n" + "\n".join(comments)

    def encode(self, record: TableRecord) -> PlainRow:
        """A record as plain values, checked so that the row can be journalled and inserted for sure.

        Raises:
            NotStorable: naming table and field.
        """
        values = record.__dict__
        row: PlainRow = {}
        for name, kind, nullable, words, _comment in self.columns:
            value = values[name]
            if value is not None:
                try:
                    value = _ENCODE[kind](value)
                except (NotStorable, TypeError, ValueError) as error:
                    raise NotStorable(f"{self.name}.{name}: {error}") from error
            if value is None and not nullable:
                raise NotStorable(f"{self.name}.{name}: a value is required, NaN and None are none")
            if words and value is not None and value not in words:
                raise NotStorable(f"{self.name}.{name}: {value!r} is not one of {', '.join(words)}")
            row[name] = value
        return row

    def decode(self, row: PlainRow) -> TableRecord:
        """A row, as Arrow gives it, as a record."""
        return self.record.model_validate({
            column.name: _DECODE[column.kind](value) if value is not None and column.kind in _DECODE else value
            for column in self.columns for value in (row[column.name],)
        })

    def completed(self, row: PlainRow) -> PlainRow:
        """A plain row of an older version (from a journal that lay there), with defaults for the columns it lacks."""
        return {column.name: row[column.name] if column.name in row else self._default(column)
                for column in self.columns}

    def _default(self, column: Column) -> Any:
        field = self.record.model_fields[column.name]
        value = field.get_default(call_default_factory=True, validated_data={})
        if field.is_required():
            raise NotStorable(f"{self.name}.{column.name}: the row lacks it and it has no default")
        return None if value is None else _ENCODE[column.kind](value)

    def batch(self, rows: Sequence[PlainRow]) -> pa.Table:
        """Plain rows as one Arrow table."""
        arrays = []
        for column in self.columns:
            values = [row[column.name] for row in rows]
            if column.kind == "numbers":
                values = [None if value is None else list(value.items()) for value in values]
            moments = column.kind == "moment"
            array = pa.array(values, pa.int64() if moments else column.arrow_type)
            arrays.append(array.cast(MOMENT) if moments else array)
        return pa.table(arrays, schema=self.arrow_schema)


def _kind(annotation: Any, where: str) -> tuple[str, tuple[str, ...]]:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Literal:
        return "word", tuple(arguments)
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return "word", tuple(member.value for member in annotation)
    if origin is dict:
        return ("numbers" if arguments == (str, float) else "json"), ()
    if origin is list:
        return ("texts" if arguments == (str,) else "json"), ()
    simple = {str: "text", int: "int", float: "float", bool: "bool", datetime: "moment"}
    if annotation not in simple:
        raise TypeError(f"{where}: no column type for {annotation}")
    return simple[annotation], ()


def _column(record: type[TableRecord], name: str) -> Column:
    field = record.model_fields[name]
    annotation: Any = field.annotation
    nullable = False
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        rest = [argument for argument in typing.get_args(annotation) if argument is not type(None)]
        if len(rest) != 1:
            raise TypeError(f"{record.__name__}.{name}: no column type for {annotation}")
        annotation, nullable = rest[0], True
    kind, words = _kind(annotation, f"{record.__name__}.{name}")
    return Column(name, kind, nullable, words, " ".join((field.description or "").split()))


@cache
def table_of(record: type[TableRecord]) -> Table:
    """The table of a record class.

    Raises:
        TypeError: when a field has a type that no column can hold.
    """
    columns = tuple(_column(record, name) for name in record.model_fields)
    return Table(record.table, record, columns, " ".join((record.__doc__ or "").split()))


ALL_TABLES: dict[str, Table] = {record.table: table_of(record) for record in TABLES}


def ddl() -> str:
    """All tables, as SQL."""
    return "\n\n".join(table.ddl for table in ALL_TABLES.values())


def documentation() -> str:
    """All tables as Markdown, for the handbook."""
    parts = []
    for table in ALL_TABLES.values():
        lines = [f"### {table.name}", "", table.comment, "", "| column | type | missing | means |", "|---|---|---|---|"]
        for column in table.columns:
            means = column.comment + (f" One of: {', '.join(column.words)}." if column.words else "")
            kind = column.sql_type + (" (JSON)" if column.kind == "json" else "")
            lines.append(f"| {column.name} | {kind} | {'may be' if column.nullable else 'never'} | {means.strip()} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"
