"""What an analysis gives to the report: one table, and the panels of one plot.

Records only. ``Results.sections["analyses"]`` holds their JSON.
"""

from __future__ import annotations

from pydantic import Field

from storage.records import Record
from storage.results import Estimate

Value = str | float | Estimate | None


class Row(Record):
    """One line of the table."""

    label: str
    """A configuration's name, where the row is one: published values are found by it."""
    values: list[Value]


class PlotPoint(Record):
    """A point with its interval; ``x`` is a number or a category."""

    x: float | str
    y: float
    low: float | None = None
    high: float | None = None
    tip: str = ""


class Line(Record):
    """Points of one kind."""

    name: str
    points: list[PlotPoint]
    is_joined: bool = False


class Panel(Record):
    """One frame of the plot."""

    title: str
    x_title: str
    lines: list[Line]


class Analysis(Record):
    """A named analysis, computed."""

    name: str
    kind: str
    note: str
    """What is compared, in a sentence or two, for a reader of the page."""
    columns: list[str] = Field(default_factory=list)
    """Headings of the values; names of metrics stand for themselves."""
    rows: list[Row] = Field(default_factory=list)
    panels: list[Panel] = Field(default_factory=list)
    reason: str | None = None
    """Why there is nothing to show."""


def point(x: float | str, number: Estimate, tip: str = "") -> PlotPoint | None:
    """An estimate as a point; None where it has no value."""
    if number.value is None:
        return None
    return PlotPoint(x=x, y=number.value, low=number.low, high=number.high, tip=tip)
