"""CSV cells cannot become formulas, and numbers stay numbers."""

from __future__ import annotations

import csv
import io

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.results import Results
from tasks.report.csv_cells import STARTS, safe_text, to_csv
from tasks.report.tables import tables


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "＝1", "  =1", "\ufeff=1", "|calc", "%x", "\n=1"]
)
def test_a_formula_is_disarmed(text: str) -> None:
    assert safe_text(text) == "'" + text


@given(st.text(max_size=20))
def test_no_text_cell_begins_like_a_formula(text: str) -> None:
    data = to_csv(pl.DataFrame({"cell": [text, "plain"]}, schema={"cell": pl.String}))
    cell = next(iter(csv.reader(io.StringIO(data.decode("utf-8"), newline=""))))
    rows = list(csv.reader(io.StringIO(data.decode("utf-8"), newline="")))
    assert cell == ["cell"] and len(rows) == 3
    found = rows[1][0] if rows[1] else ""
    assert not found.lstrip(" ").startswith(STARTS)
    assert found in (text, "'" + text)


def test_numbers_are_numbers_and_missing_is_empty() -> None:
    data = to_csv(pl.DataFrame({"x": [-1.5, None, float("nan")], "n": [1, None, -2]})).decode()
    assert data == "x,n\n-1.5,1\n,\n,-2\n"


def test_every_table_of_hostile_results_is_safe(hostile: Results) -> None:
    for name, frame in tables(hostile).items():
        numeric = {column for column, dtype in frame.schema.items() if dtype.is_numeric()}
        for row in csv.DictReader(io.StringIO(to_csv(frame).decode("utf-8"), newline="")):
            for column, cell in row.items():
                assert column in numeric or not (cell or "").lstrip().startswith(("=", "+", "-", "@")), (
                    name,
                    column,
                    cell,
                )
