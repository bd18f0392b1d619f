"""The plots of the part about ideas: bias by variant and by dimension, settings compared, who leaves the Top-K.

Only drawing, in sentinel colours (``theme``). Names reach a chart as data, never as code or as part of a formula.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import altair as alt

from tasks.report.figures import Figure
from tasks.report.numbers import finite, with_interval
from tasks.report.style import estimate_of, setting
from tasks.report.theme import color, drawn

WIDE, NARROW = 640, 190
PAINTS = ("blue", "orange", "green", "purple", "grey")


def style_figures(section: Mapping[str, Any]) -> dict[str, Figure]:
    """The figures that the section allows, by name."""
    titles = section.get("titles", {})
    by_variant = list(_points(section, "variants", titles))
    by_dimension = list(_points(section, "dimensions", {}))
    by_setting = list(_settings(section))
    leaving = list(_leaving(section))
    shift = "Points against a paraphrase"
    top = "Share of the plain Top-K that leaves it under the ultimate hype, by setting; every dot is a judge"
    plans = (
        ("style-variants", "SBI by variant and setting; every dot is a judge", by_variant, shift),
        ("style-dimensions", "SBI by dimension and setting; every dot is a judge", by_dimension, shift),
        ("style-settings", "SBI by judge and setting, with intervals", by_setting, "SBI"),
        ("style-top", top, leaving, "Share of the Top-K"),
    )
    return {
        name: Figure(name, label, drawn(_dots(rows, x, WIDE)), drawn(_dots(rows, x, NARROW)))
        for name, label, rows, x in plans if rows
    }


def _each(section: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for judge, found in section["configurations"].items():
        for context, numbers in found["contexts"].items():
            yield judge, setting(context), numbers


def _point(group: str, judge: str, context: str, numbers: Mapping[str, Any] | None) -> Iterator[dict[str, Any]]:
    estimate = estimate_of(numbers)
    if finite(estimate.value) is not None:
        yield {"group": group, "setting": context, "x": estimate.value, "low": estimate.low, "high": estimate.high,
               "tip": f"{judge} · {group} · {context} · {with_interval(estimate)}"}


def _points(section: Mapping[str, Any], part: str, titles: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for judge, context, numbers in _each(section):
        for name, values in numbers[part].items():
            if part != "variants" or name not in ("A2", "A3"):
                yield from _point(f"{name} {titles.get(name, '')}".strip(), judge, context, values["sbi"])


def _settings(section: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for judge, context, numbers in _each(section):
        yield from _point(judge, judge, context, numbers["sbi"])


def _leaving(section: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for judge, context, numbers in _each(section):
        for size, values in numbers["variants"]["H4"]["top_k_change"].items():
            yield from _point(f"Top {size}", judge, context, values)


def _dots(rows: list[dict[str, Any]], title: str, width: int) -> Any:
    groups = list(dict.fromkeys(row["group"] for row in rows))
    settings = list(dict.fromkeys(row["setting"] for row in rows))
    one_each = len(rows) == len({(row["group"], row["setting"]) for row in rows})
    hue = alt.Color(
        "setting:N",
        scale=alt.Scale(domain=settings, range=[color(PAINTS[place % len(PAINTS)]) for place in range(len(settings))]),
        legend=alt.Legend(title=None, orient="top", symbolType="circle", columns=3 if width == WIDE else 1),
    )
    lane = alt.YOffset("setting:N", scale=alt.Scale(domain=settings, paddingOuter=0.4))
    y = alt.Y("group:N", sort=groups, title=None,
              axis=alt.Axis(grid=True, domain=False, ticks=False, labelColor=color("ink"), labelLimit=200))
    x = alt.X("x:Q", title=title, axis=alt.Axis(tickCount=5))
    base = alt.Chart(alt.Data(values=rows))
    dots = base.mark_point(filled=True, size=34, opacity=0.6).encode(x=x, y=y, yOffset=lane, color=hue,
                                                                     description="tip:N")
    size = alt.Step(9 if len(settings) > 2 else 12)
    if not one_each:
        return dots.properties(width=width, height=size)
    bars = base.mark_rule(aria=False, opacity=0.5).encode(x=alt.X("low:Q"), x2="high:Q", y=y, yOffset=lane, color=hue)
    return alt.layer(bars, dots).properties(width=width, height=size)
