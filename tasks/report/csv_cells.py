"""Tables as CSV that a spreadsheet opens without running anything: no text cell begins like a formula."""

from __future__ import annotations

import polars as pl

STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠", "|", "%")
"""What spreadsheet programs take for the beginning of a formula, full-width forms included."""


def safe_text(text: str) -> str:
    """The text with an apostrophe before it where it would be read as a formula, also after leading blanks."""
    return f"'{text}" if text.lstrip(" \u00a0\ufeff").startswith(STARTS) or text[:1] in ("\t", "\r", "\n") else text


def to_csv(frame: pl.DataFrame) -> bytes:
    """The frame as UTF-8 CSV with a header; missing cells are empty, numbers are plain numbers, never NaN."""
    columns = []
    for name, dtype in frame.schema.items():
        column = frame[name]
        if dtype == pl.String:
            column = pl.Series(name, [None if each is None else safe_text(each) for each in column], dtype=pl.String)
        elif dtype.is_float():
            column = column.fill_nan(None)
        columns.append(column.alias(safe_text(name)))
    return pl.DataFrame(columns).write_csv().encode("utf-8")
