"""Anyone's scores, as a frame, checked cell by cell and laid out for the metrics.

Pure: frames in, frames and arrays out. Every refusal is an ``InputError`` that names the row of the file and the
column. Reading files is ``flows.score_files``; it puts the row numbers into the column ``ROW``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from storage.errors import InputError
from storage.vocabulary import NULL_ARM, ORIGINAL
from tasks.metrics.grid import Grid

ROW = "__row__"
"""Where a frame carries the row numbers of its file; without it rows count from 1."""
DEFAULT_CONFIGURATION = "default"
NUMBER = r"^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$"
_TEXTUAL = (pl.String, pl.Categorical, pl.Enum)


def refuse(where: str, row: int, column: str, problem: str) -> InputError:
    """The one line that says which cell is wrong and what to do."""
    return InputError(f"{where}: row {row}, column '{column}': {problem}")


def columns_of(frame: pl.DataFrame, required: Sequence[str], optional: Sequence[str], where: str) -> pl.DataFrame:
    """The frame with row numbers and every optional column; unknown and missing columns are refused."""
    known = {*required, *optional, ROW}
    for name in frame.columns:
        if name not in known:
            raise refuse(where, 1, name, f"unknown column; the columns are {', '.join([*required, *optional])}")
    for name in required:
        if name not in frame.columns:
            raise refuse(where, 1, name, f"is missing; the columns are {', '.join([*required, *optional])}")
    if ROW not in frame.columns:
        frame = frame.with_row_index(ROW, offset=1)
    lacking = [name for name in optional if name not in frame.columns]
    return frame.with_columns([pl.lit(DEFAULT_CONFIGURATION).alias(name) for name in lacking])


def _first(frame: pl.DataFrame, where_bad: pl.Expr) -> dict[str, object] | None:
    """The first row for which the expression holds."""
    bad = frame.filter(where_bad).head(1)
    return bad.row(0, named=True) if bad.height else None


def labels(
    frame: pl.DataFrame, column: str, where: str, allowed: Sequence[str] | None = None, *, empty: bool = False,
) -> pl.DataFrame:
    """The column as text; padded labels are refused, and with ``allowed`` unknown ones.

    An empty label is refused too, or, with ``empty``, null.
    """
    kind = frame.schema[column]
    if not (kind.is_integer() or kind in _TEXTUAL or kind == pl.Null):
        raise refuse(where, _row(frame.row(0, named=True)) if frame.height else 1, column,
                     f"holds {kind} values; write names as text")
    frame = frame.with_columns(pl.col(column).cast(pl.String))
    blank = pl.col(column).str.strip_chars() == ""
    if empty:
        frame = frame.with_columns(pl.when(blank).then(None).otherwise(pl.col(column)).alias(column))
    else:
        nameless = _first(frame, pl.col(column).is_null() | blank)
        if nameless is not None:
            raise refuse(where, _row(nameless), column, "is empty; every row needs a name here")
    padded = _first(frame, pl.col(column) != pl.col(column).str.strip_chars())
    if padded is not None:
        raise refuse(where, _row(padded), column, f"{padded[column]!r} has blanks around it; remove them")
    if allowed is not None:
        odd = _first(frame, ~pl.col(column).is_in(list(allowed)))
        if odd is not None:
            raise refuse(where, _row(odd), column, f"{odd[column]!r} is not one of {', '.join(allowed)}")
    return frame


def _row(row: Mapping[str, object]) -> int:
    return int(str(row[ROW]))


def numbers(frame: pl.DataFrame, column: str, where: str) -> pl.DataFrame:
    """The column as floats with null for missing; text, NaN as text, booleans and infinities are refused.

    NaN of a binary file (Parquet) is a missing cell, as many writers put it there for one.
    """
    kind = frame.schema[column]
    if kind in _TEXTUAL:
        stripped = pl.col(column).cast(pl.String).str.strip_chars()
        frame = frame.with_columns(pl.when(stripped == "").then(None).otherwise(stripped).alias(column))
        bad = _first(frame, ~pl.col(column).str.contains(NUMBER))
        if bad is not None:
            raise refuse(where, _row(bad), column,
                         f"{bad[column]!r} is not a number; leave the cell empty when there is no score")
    elif not (kind.is_numeric() or kind == pl.Null):
        raise refuse(where, _row(frame.row(0, named=True)) if frame.height else 1, column,
                     f"holds {kind} values, not numbers")
    frame = frame.with_columns(pl.col(column).cast(pl.Float64).fill_nan(None))
    infinite = _first(frame, pl.col(column).is_infinite())
    if infinite is not None:
        raise refuse(where, _row(infinite), column, "is not finite; leave the cell empty when there is no score")
    return frame


def unique_cells(frame: pl.DataFrame, key: Sequence[str], column: str, where: str) -> None:
    """Refuses a second row for the same cell, whatever it holds."""
    again = frame.filter(~pl.struct(key).is_first_distinct()).head(1)
    if not again.height:
        return
    row = again.row(0, named=True)
    same = pl.all_horizontal([pl.col(name) == row[name] for name in key])
    first = frame.filter(same).row(0, named=True)
    cell = ", ".join(f"{name} {row[name]!r}" for name in key)
    raise refuse(where, _row(row), column, f"a second value for {cell} (the first is in row {first[ROW]}); keep one")


def checked(
    frame: pl.DataFrame, key: Sequence[str], value: str, optional: Sequence[str] = (), where: str = "scores",
) -> pl.DataFrame:
    """A frame whose ``key`` columns are clean labels and whose ``value`` column is a float or null.

    Args:
        frame: The columns ``key``, ``value``, perhaps ``optional`` ones, perhaps ``ROW``.
        key: Columns that together name a cell, without the optional ones.
        value: The column with the scores.
        optional: Label columns that may be absent; they then hold ``default`` and belong to the cell's name.
        where: What the messages call the input.

    Raises:
        InputError: Naming the row and the column of the first thing that is wrong.
    """
    frame = columns_of(frame, [*key, value], optional, where)
    names = [*optional, *key]
    for name in names:
        frame = labels(frame, name, where)
    frame = numbers(frame, value, where)
    unique_cells(frame, names, value, where)
    return frame.select(ROW, *names, value)


def human_scores(frame: pl.DataFrame, where: str = "human scores") -> dict[str, float]:
    """Mean human score by family; families with an empty cell are left out."""
    frame = checked(frame, ["family"], "score", where=where).drop_nulls("score")
    return dict(zip(frame["family"].to_list(), frame["score"].to_list(), strict=True))


def robust_frame(frame: pl.DataFrame, where: str = "scores") -> pl.DataFrame:
    """Checked columns configuration, family, version, score; every configuration has an ``original``.

    Raises:
        InputError: Also for a reference that is spelt otherwise, and for a configuration without any reference.
    """
    frame = checked(frame, ["family", "version"], "score", ["configuration"], where)
    version = pl.col("version")
    misspelt = _first(frame, (version.str.to_lowercase() == ORIGINAL) & (version != ORIGINAL))
    if misspelt is not None:
        raise refuse(where, _row(misspelt), "version", f"{misspelt['version']!r}: write the reference as '{ORIGINAL}'")
    if frame.height == 0:
        raise refuse(where, 1, "score", "there is no row with scores")
    without = frame.group_by("configuration", maintain_order=True).agg(
        pl.col(ROW).first(), (version == ORIGINAL).any().alias("has"))
    lost = _first(without, ~pl.col("has"))
    if lost is not None:
        raise refuse(where, _row(lost), "version",
                     f"configuration {lost['configuration']!r} has no version '{ORIGINAL}' to compare with")
    return frame


def is_null_arm(version: str) -> bool:
    """Whether a version is a repeat of the original (``null_repeat``, ``null_recompile/none`` ...)."""
    return version.split("/", 1)[0] in NULL_ARM


def grids(frame: pl.DataFrame, human: Mapping[str, float] | None = None) -> dict[str, Grid]:
    """Lays a frame from ``robust_frame`` out, one ``Grid`` a configuration, in order of appearance.

    All grids share one list of families (sorted; those with any score), so that a draw of families means the same for
    each. A setting is a column where the configuration has any score for it. So an absent row and an empty one give the
    same grid.
    """
    families = sorted(frame.drop_nulls("score")["family"].unique().to_list())
    position = {family: i for i, family in enumerate(families)}
    target = np.array([(human or {}).get(family, np.nan) for family in families], dtype=float)
    out: dict[str, Grid] = {}
    for (name,), part in frame.group_by("configuration", maintain_order=True):
        seen = part.drop_nulls("score")
        found = sorted(set(seen["version"].to_list()) - {ORIGINAL})
        columns = [ORIGINAL, *found]
        column = {version: k for k, version in enumerate(columns)}
        y = np.full((len(families), len(columns)), np.nan)
        rows = [position[family] for family in seen["family"].to_list()]
        places = [column[version] for version in seen["version"].to_list()]
        y[rows, places] = seen["score"].to_numpy()
        null = [ORIGINAL, *filter(is_null_arm, found)]
        kept = [version for version in columns if not is_null_arm(version)]
        out[str(name)] = Grid(
            families=tuple(families), versions=tuple(kept), y=y[:, [column[v] for v in kept]], human=target,
            null_versions=tuple(null[1:]), null=y[:, [column[v] for v in null]] if len(null) > 1 else None,
        )
    return out
