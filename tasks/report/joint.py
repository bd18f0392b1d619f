"""The plot that answers the question: discrimination against stability, false robustness shaded and marked.

Marks are drawn in sentinel colours (``theme``). Names of judges reach the chart as data, never as code or as part of a
formula.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import altair as alt
import numpy as np

from storage.results import Estimate
from tasks.report.labels import Spot, place
from tasks.report.links import judge_link
from tasks.report.numbers import finite, with_interval
from tasks.report.ranges import shown_range
from tasks.report.theme import color
from tasks.report.verdicts import CHANCE, HEADLINE, Standing, estimate
from tasks.report.words import VERDICTS, metric

VERDICT_COLOR = {"best": "green", "level": "green", "separates": "blue", "chance": "grey", "flat": "orange"}
VERDICT_SHAPE = {"best": "diamond", "level": "triangle-up", "separates": "circle", "chance": "square", "flat": "cross"}


class Size(NamedTuple):
    """Inner width and height of a plot, in pixels."""

    width: int
    height: int


class Frame(NamedTuple):
    """The ranges that a plot shows."""

    x: tuple[float, float]
    y: tuple[float, float]


def _rows(values: list[dict[str, Any]]) -> Any:
    return alt.Data(values=values)


def _range(estimates: list[Estimate], keep: tuple[float, ...] = ()) -> tuple[float, float]:
    low, high = shown_range(estimates, keep)
    room = (high - low) * 0.05
    return (low - room, high + room)


def joint(where: Standing, against: str, size: Size) -> Any | None:
    """Discriminability (up) against a stability metric (across); None where no judge has both values.

    Args:
        where: the judges and their verdicts.
        against: ``mad`` or ``icc_a1``.
        size: of the inner area; under 500 px wide only the leader and the flagged judges are named.
    """
    able = [
        each
        for each in where.order
        if finite(estimate(each, against).value) is not None and finite(estimate(each, HEADLINE).value) is not None
    ]
    if not able:
        return None
    frame = Frame(
        _range([estimate(each, against) for each in able], (0.0,) if against == "mad" else ()),
        _range([estimate(each, HEADLINE) for each in able], (CHANCE,)),
    )
    if against == "mad":
        frame = Frame((0.0, frame.x[1]), frame.y)
    rows = []
    for each in able:
        across, up, verdict = estimate(each, against), estimate(each, HEADLINE), where.verdicts[each.name]
        rows.append(
            {
                "name": each.name,
                "x": across.value,
                "y": up.value,
                "xl": finite(across.low),
                "xh": finite(across.high),
                "yl": finite(up.low),
                "yh": finite(up.high),
                "verdict": VERDICTS[verdict][0],
                "href": judge_link(each.name),
                "tip": f"{each.name} · {VERDICTS[verdict][0]} · Discriminability {with_interval(up)}"
                f" · {metric(against).label} {with_interval(across)}",
            }
        )
    shown = [each for each in able if size.width >= 500 or where.verdicts[each.name] in ("best", "flat")]
    layers = [
        *_shading(where, frame, against),
        *_whiskers(rows, frame),
        _points(rows, frame, against),
        *_names([each.name for each in shown], rows, frame, size),
    ]
    return alt.layer(*layers).properties(width=size.width, height=size.height)


def _scales(frame: Frame, against: str = "mad") -> tuple[Any, Any]:
    x = alt.X(
        "x:Q",
        title=f"{metric(against).label} {'(points; left is steadier)' if against == 'mad' else '(right is steadier)'}",
        scale=alt.Scale(domain=list(frame.x), nice=False, zero=False),
        axis=alt.Axis(grid=False, tickCount=6),
    )
    y = alt.Y(
        "y:Q",
        title="Discriminability (up is better)",
        scale=alt.Scale(domain=list(frame.y), nice=False, zero=False),
        axis=alt.Axis(grid=True, tickCount=6, format=".2f"),
    )
    return x, y


def _shading(where: Standing, frame: Frame, against: str) -> list[Any]:
    """The chance line, and for MAD the region where stability means nothing."""
    x, y = _scales(frame, against)
    chance = (
        alt.Chart(_rows([{"y": CHANCE}]))
        .mark_rule(color=color("ink"), strokeDash=[2, 3], strokeWidth=1, aria=False)
        .encode(y=y)
    )
    word = (
        alt.Chart(_rows([{"x": frame.x[1], "y": CHANCE, "t": "chance"}]))
        .mark_text(align="right", dy=-8, fontSize=11.5, color=color("muted"), aria=False)
        .encode(x=x, y=y, text="t:N")
    )
    if against != "mad":
        return [chance, word]
    drifts = [value for each in where.order if (value := finite(estimate(each, "mad").value)) is not None]
    reach = [
        (found.value or 0.0) - (found.low or 0.0)
        for each in where.order
        if finite((found := estimate(each, HEADLINE)).low) is not None
    ]
    edge, top = float(np.quantile(drifts, 0.25)), CHANCE + (float(np.median(reach)) if reach else 0.0)
    corner = _rows([{"x": frame.x[0], "x2": edge, "y": frame.y[0], "y2": top, "t": "false robustness"}])
    box = alt.Chart(corner).mark_rect(color=color("shade"), aria=False).encode(x=x, x2="x2:Q", y=y, y2="y2:Q")
    name = (
        alt.Chart(corner)
        .mark_text(
            align="left",
            baseline="bottom",
            dx=7,
            dy=-7,
            fontSize=11.5,
            fontStyle="italic",
            color=color("orange"),
            aria=False,
        )
        .encode(x=x, y=y, text="t:N")
    )
    return [box, chance, word, name]


def _whiskers(rows: list[dict[str, Any]], frame: Frame) -> list[Any]:
    x, y = _scales(frame)
    across = alt.Chart(
        _rows([{**row, "x": row["xl"]} for row in rows if row["xl"] is not None and row["xh"] is not None])
    )
    up = alt.Chart(
        _rows(
            [{**row, "at": row["x"], "y": row["yl"]} for row in rows if row["yl"] is not None and row["yh"] is not None]
        )
    )
    look: dict[str, Any] = {"strokeWidth": 1.2, "opacity": 0.38, "aria": False, "clip": True}
    hue = _hue()
    return [
        across.mark_rule(**look).encode(x=x, x2="xh:Q", y=y, color=hue),
        up.mark_rule(**look).encode(x=x, y=y, y2="yh:Q", color=hue),
    ]


def _hue() -> Any:
    names = [VERDICTS[verdict][0] for verdict in VERDICT_COLOR]
    return alt.Color(
        "verdict:N", scale=alt.Scale(domain=names, range=[color(each) for each in VERDICT_COLOR.values()]), legend=None
    )


def _points(rows: list[dict[str, Any]], frame: Frame, against: str) -> Any:
    x, y = _scales(frame, against)
    names = [VERDICTS[verdict][0] for verdict in VERDICT_SHAPE]
    shape = alt.Shape("verdict:N", scale=alt.Scale(domain=names, range=list(VERDICT_SHAPE.values())), legend=None)
    return (
        alt.Chart(_rows(rows))
        .mark_point(filled=True, size=90, opacity=1, stroke=color("surface"), strokeWidth=1.2)
        .encode(x=x, y=y, color=_hue(), shape=shape, href="href:N", description="tip:N")
    )


def _names(wanted: list[str], rows: list[dict[str, Any]], frame: Frame, size: Size) -> list[Any]:
    def spot(row: dict[str, Any]) -> Spot:
        across = (row["x"] - frame.x[0]) / (frame.x[1] - frame.x[0]) * size.width
        return Spot(row["name"], across, (frame.y[1] - row["y"]) / (frame.y[1] - frame.y[0]) * size.height)

    spots = {row["name"]: spot(row) for row in rows}
    line = (frame.y[1] - CHANCE) / (frame.y[1] - frame.y[0]) * size.height
    words = [(size.width - 52, line - 16, size.width, line), (0, size.height - 22, 112, size.height)]
    placed = place([spots[name] for name in wanted], list(spots.values()), size.width, size.height, words)
    layers = []
    for align in ("left", "right", "center"):
        some = [{"px": each.x, "py": each.y, "t": each.name} for each in placed if each.align == align]
        if some:
            layers.append(
                alt.Chart(_rows(some))
                .mark_text(align=align, fontSize=11.5, color=color("ink"), aria=False)
                .encode(x=alt.X("px:Q", scale=None, axis=None), y=alt.Y("py:Q", scale=None, axis=None), text="t:N")
            )
    return [alt.layer(*layers).resolve_scale(x="independent", y="independent")] if layers else []
