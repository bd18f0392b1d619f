"""The plots of the part about pairs: flips by bias, and held-out styles beside the common ones.

Only drawing, in sentinel colours (``theme``). Names reach a chart as data, never as code or as part of a formula.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt

from tasks.report.bias import STYLE_NAMES, TITLES
from tasks.report.bias_findings import found
from tasks.report.figures import Figure
from tasks.report.numbers import finite, with_interval
from tasks.report.theme import color, drawn

RATES = (("bsr", "BSR: right to wrong", "blue"), ("symmetric_flip_rate", "Flips both ways", "orange"))
WIDE, NARROW = 640, 190


def bias_figures(section: Mapping[str, Any]) -> dict[str, Figure]:
    """The figures that the section allows, by name."""
    made: dict[str, Figure] = {}
    for arm in section["arms"]:
        rows = _by_bias(arm)
        if rows:
            style = STYLE_NAMES.get(arm["style"], arm["style"])
            name = f"bias-{arm['style']}" if arm["writer"] == "-" else f"bias-{arm['style']}-{len(made)}"
            label = f"BSR and flips both ways by bias, {style}; every dot is a judge"
            made[name] = Figure(name, label, drawn(_bias_chart(rows, WIDE)), drawn(_bias_chart(rows, NARROW)))
    pairs = _by_style(section)
    if pairs:
        label = "Flips both ways by judge, common and held-out injections"
        made["bias-styles"] = Figure(
            "bias-styles", label, drawn(_style_chart(pairs, WIDE)), drawn(_style_chart(pairs, NARROW))
        )
    return made


def _by_bias(arm: Mapping[str, Any]) -> list[dict[str, Any]]:
    rows = []
    for judge, numbers in arm["configurations"].items():
        for bias, part in numbers["biases"].items():
            for lane, (key, words, _) in enumerate(RATES):
                estimate = found(part[key])
                if finite(estimate.value) is not None:
                    title = TITLES.get(bias, bias)
                    tip = f"{judge} · {title} · {words} · {with_interval(estimate)}"
                    rows.append({"bias": title, "rate": words, "x": estimate.value, "lane": lane, "tip": tip})
    return rows


def _bias_chart(rows: list[dict[str, Any]], width: int) -> Any:
    order = [title for title in TITLES.values() if any(row["bias"] == title for row in rows)]
    names = [words for _, words, _ in RATES]
    hue = alt.Color(
        "rate:N",
        scale=alt.Scale(domain=names, range=[color(paint) for _, _, paint in RATES]),
        legend=alt.Legend(title=None, orient="top", symbolType="circle", columns=2 if width == WIDE else 1),
    )
    y = alt.Y(
        "bias:N", sort=order, title=None, axis=alt.Axis(grid=True, domain=False, ticks=False, labelColor=color("ink"))
    )
    x = alt.X("x:Q", title="Share of pairs", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(tickCount=5))
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_point(filled=True, size=34, opacity=0.55)
        .encode(
            x=x, y=y, yOffset=alt.YOffset("lane:O", scale=alt.Scale(paddingOuter=0.4)), color=hue, description="tip:N"
        )
        .properties(width=width, height=alt.Step(11))
    )


def _by_style(section: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each judge's pooled rate in the first arm and in the held-out one; empty without both."""
    arms = section["arms"]
    other = next((arm for arm in arms if arm["style"] == "held_out"), None)
    if other is None or not arms or arms[0]["style"] == "held_out":
        return []
    rows = []
    for judge, numbers in arms[0]["configurations"].items():
        for arm, part in ((arms[0], numbers), (other, other["configurations"].get(judge))):
            estimate = found(None if part is None else part["symmetric_flip_rate"])
            if finite(estimate.value) is not None:
                style = STYLE_NAMES.get(arm["style"], arm["style"]).removeprefix("the ")
                rows.append(
                    {
                        "judge": judge,
                        "style": style,
                        "x": estimate.value,
                        "low": estimate.low,
                        "high": estimate.high,
                        "tip": f"{judge} · {style} · {with_interval(estimate)}",
                    }
                )
    return rows


def _style_chart(rows: list[dict[str, Any]], width: int) -> Any:
    styles = list(dict.fromkeys(row["style"] for row in rows))
    judges = list(dict.fromkeys(row["judge"] for row in rows))
    y = alt.Y(
        "judge:N",
        sort=judges,
        title=None,
        axis=alt.Axis(grid=False, domain=False, ticks=False, labelColor=color("ink"), labelLimit=180),
    )
    x = alt.X(
        "x:Q", title="Verdicts that changed, share of pairs", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(tickCount=5)
    )
    hue = alt.Color(
        "style:N",
        scale=alt.Scale(domain=styles, range=[color("blue"), color("orange")][: len(styles)]),
        legend=alt.Legend(title=None, orient="top", symbolType="circle", columns=2 if width == WIDE else 1),
    )
    lane = alt.YOffset("style:N", scale=alt.Scale(domain=styles, paddingOuter=0.4))
    base = alt.Chart(alt.Data(values=rows))
    bars = base.mark_rule(aria=False, opacity=0.5).encode(x=alt.X("low:Q"), x2="high:Q", y=y, yOffset=lane, color=hue)
    dots = base.mark_point(filled=True, size=40, opacity=1).encode(
        x=x, y=y, yOffset=lane, color=hue, description="tip:N"
    )
    return alt.layer(bars, dots).properties(width=width, height=alt.Step(13))
