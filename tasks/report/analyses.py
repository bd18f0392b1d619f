"""The part of the page about a suite's named analyses: tables as text, plots, published values beside ours.

Only showing. What an analysis is and how it is computed belongs to ``tasks.metrics.analyses``; here its JSON is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import altair as alt

from storage.results import Estimate, Results
from storage.vocabulary import CONDITION_NAMES
from tasks.report.figures import Figure
from tasks.report.numbers import finite, interval, no_interval, number, reason
from tasks.report.published import published_of
from tasks.report.theme import color, drawn
from tasks.report.words import METRICS, condition_title, plain

WIDE, NARROW = 620, 200
PAINTS = ("blue", "orange", "green", "purple", "grey")
_SHORT = {each.key: each.short for each in METRICS}


class Cell(NamedTuple):
    """A value as it is shown."""

    text: str
    interval: str = ""
    why: str = ""
    published: str = ""
    is_number: bool = True


class Row(NamedTuple):
    """A line of a table."""

    label: str
    cells: list[Cell]


class Part(NamedTuple):
    """One analysis on the page."""

    name: str
    note: str
    columns: list[str]
    rows: list[Row]
    reason: str
    figure: Figure | None
    has_published: bool


def _words(text: str) -> str:
    """A metric's or a condition's name in the page's words; names of judges and producers as they are."""
    if text in _SHORT:
        return _SHORT[text]
    return condition_title(text) if text in CONDITION_NAMES else text


def _is_estimate(value: Any) -> bool:
    return isinstance(value, Mapping) and "value" in value and "n" in value


def _cell(value: Any, published: float | None) -> Cell:
    beside = "" if published is None else number(published, 3)
    if value is None:
        return Cell("")
    if isinstance(value, str):
        return Cell(_words(value), is_number=False)
    if _is_estimate(value):
        estimate = Estimate.model_validate(dict(value))
        if finite(estimate.value) is None:
            return Cell(number(None), why=reason(estimate), published=beside)
        return Cell(number(estimate.value, 3), interval(estimate, 3), no_interval(estimate), beside)
    return Cell(number(float(value), 3), published=beside)


def analyses_part(results: Results) -> list[Part]:
    """Every analysis of the results, in the suite's order."""
    parts = []
    kinds = {each.name: each.kind for each in results.configurations}
    for place, given in enumerate(results.sections.get("analyses", [])):
        columns = list(given["columns"])
        rows = []
        for row in given["rows"]:
            # A phantom mirrors a judge's name, not the judge: nothing published is its.
            known = {} if kinds.get(row["label"]) == "phantom" else published_of(row["label"])
            cells = [_cell(value, known.get(column)) for column, value in zip(columns, row["values"], strict=True)]
            rows.append(Row(row["label"], cells))
        parts.append(Part(
            given["name"], given["note"], [_SHORT.get(column, plain(column)) for column in columns], rows,
            given["reason"] or "", _figure(given, place), any(cell.published for row in rows for cell in row.cells),
        ))
    return parts


def analysis_figures(parts: list[Part]) -> dict[str, Figure]:
    """The plots of the part, by name."""
    return {part.figure.name: part.figure for part in parts if part.figure is not None}


def _figure(given: Mapping[str, Any], place: int) -> Figure | None:
    panels = [panel for panel in given["panels"] if any(line["points"] for line in panel["lines"])]
    if not panels:
        return None
    name = "analysis-" + (re.sub(r"[^a-z0-9]+", "-", given["name"].lower()).strip("-") or str(place))
    label = f"{given['name']}: {', '.join(panel['title'] for panel in panels)}"
    columns = 2 if len(panels) > 1 and all(_is_numeric(panel) for panel in panels) else 1
    wide = alt.concat(*(_panel(panel, WIDE // columns - 60) for panel in panels), columns=columns, spacing=28)
    narrow = alt.concat(*(_panel(panel, NARROW) for panel in panels), columns=1, spacing=24)
    return Figure(name, label, drawn(wide), drawn(narrow))


def _is_numeric(panel: Mapping[str, Any]) -> bool:
    return all(isinstance(point["x"], int | float) for line in panel["lines"] for point in line["points"])


def _panel(panel: Mapping[str, Any], width: int) -> Any:
    rows = [
        {"x": point["x"], "y": point["y"], "low": finite(point["low"]), "high": finite(point["high"]),
         "line": line["name"], "tip": f"{point['tip'] or line['name']} · {number(point['y'], 3)}"}
        for line in panel["lines"] for point in line["points"]
    ]
    names = list(dict.fromkeys(row["line"] for row in rows))
    hue = alt.Color(
        "line:N",
        scale=alt.Scale(domain=names, range=[color(PAINTS[place % len(PAINTS)]) for place in range(len(names))]),
        legend=alt.Legend(title=None, orient="top", symbolType="circle", columns=1, labelLimit=width)
        if len(names) > 1 else None,
    )
    heading = alt.TitleParams(
        panel["title"], anchor="start", fontSize=12.5, fontWeight="bold", color=color("ink"), offset=8)
    chart = _joined(rows, hue, panel["x_title"]) if _is_numeric(panel) else _dots(rows, hue, names, width)
    return chart.properties(width=width, title=heading)


def _data(rows: list[dict[str, Any]]) -> Any:
    return alt.Data(values=rows)


def _joined(rows: list[dict[str, Any]], hue: Any, x_title: str) -> Any:
    x = alt.X("x:Q", title=x_title, axis=alt.Axis(grid=False, tickCount=5))
    y = alt.Y("y:Q", title=None, scale=alt.Scale(zero=False, nice=True), axis=alt.Axis(tickCount=4))
    limits = [{**row, "y": row["low"]} for row in rows if row["low"] is not None and row["high"] is not None]
    bars = alt.Chart(_data(limits)).mark_rule(opacity=0.4, aria=False).encode(x=x, y=y, y2="high:Q", color=hue)
    line = alt.Chart(_data(rows)).mark_line(strokeWidth=1.5, aria=False).encode(x=x, y=y, color=hue)
    dots = alt.Chart(_data(rows)).mark_point(filled=True, size=34, opacity=1).encode(
        x=x, y=y, color=hue, description="tip:N")
    return alt.layer(bars, line, dots).properties(height=170)


def _dots(rows: list[dict[str, Any]], hue: Any, names: list[str], width: int) -> Any:
    shown = [{**row, "group": _words(str(row["x"])), "lane": names.index(row["line"])} for row in rows]
    order = list(dict.fromkeys(row["group"] for row in shown))
    x = alt.X("y:Q", title=None, scale=alt.Scale(zero=False, nice=True), axis=alt.Axis(tickCount=4))
    room = 280 if width > NARROW else 120
    axis = alt.Axis(grid=False, domain=False, ticks=False, labelLimit=room, labelColor=color("ink"),
                    minExtent=min(max(map(len, order)) * 7.2, room))
    y = alt.Y("group:N", sort=order, title=None, axis=axis)
    lane = alt.YOffset("lane:O", scale=alt.Scale(paddingOuter=0.35))
    limits = [{**row, "y": row["low"]} for row in shown if row["low"] is not None and row["high"] is not None]
    bars = alt.Chart(_data(limits)).mark_rule(opacity=0.45, aria=False).encode(
        x=x, x2="high:Q", y=y, yOffset=lane, color=hue)
    dots = alt.Chart(_data(shown)).mark_point(filled=True, size=36, opacity=1).encode(
        x=x, y=y, yOffset=lane, color=hue, description="tip:N")
    return alt.layer(bars, dots).properties(height=alt.Step(20 if len(names) < 3 else 11))
