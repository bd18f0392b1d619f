"""The other plots: drift by condition, planted against recovered.

Marks are drawn in sentinel colours (``theme``). Names reach a chart as data, never as code or as part of a formula.
"""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from storage.results import Estimate, Results
from tasks.report.effects import effect_conditions
from tasks.report.links import judge_link
from tasks.report.numbers import finite, with_interval
from tasks.report.ranges import shown_range
from tasks.report.theme import color
from tasks.report.verdicts import estimate
from tasks.report.words import condition_title, metric

PRODUCER_COLOR = ("blue", "orange", "purple", "green")
CALIBRATED = ("discriminability", "icc_a1", "spr", "mad")


def _rows(values: list[dict[str, Any]]) -> Any:
    return alt.Data(values=values)


def drift_by_condition(results: Results, width: int) -> Any | None:
    """Mean shift by condition: a dot is a judge, a bar the middle judge, a colour a producer; None without effects."""
    producers = list(dict.fromkeys(each.producer for each in results.effects))
    rows = [
        {
            "condition": condition_title(each.condition),
            "producer": each.producer,
            "x": each.shift.value,
            "lane": producers.index(each.producer),
            "tip": f"{each.configuration} · {condition_title(each.condition)} · {each.producer}"
            f" · {with_interval(each.shift, signed=True)}",
        }
        for each in results.effects
        if finite(each.shift.value) is not None
    ]
    if not rows:
        return None
    order = [condition_title(name) for name in effect_conditions(results)]
    middles = []
    for name in order:
        for producer in producers:
            found: list[Any] = [row["x"] for row in rows if row["condition"] == name and row["producer"] == producer]
            if found:
                middles.append(
                    {
                        "condition": name,
                        "producer": producer,
                        "x": float(np.median(found)),
                        "lane": producers.index(producer),
                    }
                )
    hue = alt.Color(
        "producer:N",
        scale=alt.Scale(domain=producers, range=[color(PRODUCER_COLOR[i % 4]) for i in range(len(producers))]),
        legend=alt.Legend(title=None, orient="top", symbolType="circle") if len(producers) > 1 else None,
    )
    x = alt.X(
        "x:Q",
        title="Mean shift against the original, in points" if width > 400 else "Mean shift (points)",
        axis=alt.Axis(tickCount=6 if width > 400 else 3),
    )
    y = alt.Y(
        "condition:N",
        sort=order,
        title=None,
        axis=alt.Axis(
            grid=False,
            domain=False,
            ticks=False,
            labelLimit=200,
            labelFontSize=12 if width > 400 else 11,
            labelColor=color("ink"),
            minExtent=max(map(len, order)) * (7.0 if width > 400 else 6.4),
        ),
    )
    lane = alt.YOffset("lane:O", scale=alt.Scale(paddingOuter=0.35))
    zero = alt.Chart(_rows([{"x": 0}])).mark_rule(color=color("ink"), strokeWidth=1, aria=False).encode(x="x:Q")
    dots = (
        alt.Chart(_rows(rows))
        .mark_point(filled=True, size=30, opacity=0.42)
        .encode(x=x, y=y, yOffset=lane, color=hue, description="tip:N")
    )
    bars = (
        alt.Chart(_rows(middles))
        .mark_tick(thickness=2.5, size=13, opacity=1, aria=False)
        .encode(x=x, y=y, yOffset=lane, color=hue)
    )
    return alt.layer(zero, dots, bars).properties(width=width, height=alt.Step(17 if len(producers) < 3 else 13))


def planted_against_recovered(results: Results, side: int, columns: int) -> Any | None:
    """Recovered over planted value of every phantom, a panel a metric; None without phantoms."""
    panels = []
    for key in CALIBRATED:
        rows = []
        for each in results.configurations:
            planted, found = finite((each.planted or {}).get(key)), estimate(each, key)
            if planted is not None and finite(found.value) is not None:
                rows.append(
                    {
                        "x": planted,
                        "y": found.value,
                        "yl": finite(found.low),
                        "yh": finite(found.high),
                        "href": judge_link(each.name),
                        "tip": f"{each.name} · planted {planted:.2f} · recovered {with_interval(found)}",
                    }
                )
        if rows:
            panels.append(_panel(rows, metric(key).label, side))
    return alt.concat(*panels, columns=columns, spacing=26) if panels else None


def _panel(rows: list[dict[str, Any]], title: str, side: int) -> Any:
    found = [Estimate(value=row["y"], low=row["yl"], high=row["yh"]) for row in rows]
    low, high = shown_range(found, [row["x"] for row in rows])
    room = (high - low) * 0.06
    scale = alt.Scale(domain=[low - room, high + room], nice=False, zero=False)
    x = alt.X("x:Q", title="planted", scale=scale, axis=alt.Axis(grid=False, tickCount=4))
    y = alt.Y("y:Q", title="recovered", scale=scale, axis=alt.Axis(grid=True, tickCount=4))
    line = (
        alt.Chart(_rows([{"x": low - room, "y": low - room}, {"x": high + room, "y": high + room}]))
        .mark_line(color=color("muted"), strokeDash=[2, 3], strokeWidth=1, aria=False)
        .encode(x=x, y=y)
    )
    bars = (
        alt.Chart(_rows([{**row, "y": row["yl"]} for row in rows if row["yl"] is not None]))
        .mark_rule(color=color("blue"), opacity=0.4, aria=False, clip=True)
        .encode(x=x, y=y, y2="yh:Q")
    )
    dots = (
        alt.Chart(_rows(rows))
        .mark_point(filled=True, size=42, color=color("blue"), opacity=0.9)
        .encode(x=x, y=y, href="href:N", description="tip:N")
    )
    heading = alt.TitleParams(title, anchor="start", fontSize=12.5, fontWeight="bold", color=color("ink"), offset=8)
    return alt.layer(line, bars, dots).properties(width=side, height=side, title=heading)
