"""How a plot gets the page's colours: drawn in sentinels that become CSS variables, so one SVG serves light and dark.

Also the plain look that all plots share. What is drawn is ``charts``'s matter.
"""

from __future__ import annotations

import re
from typing import Any

import altair as alt
import vl_convert

SENTINELS: dict[str, str] = {
    "ink": "#010101",
    "muted": "#010102",
    "rule": "#010103",
    "surface": "#010104",
    "shade": "#010105",
    "blue": "#010106",
    "green": "#010107",
    "orange": "#010108",
    "grey": "#010109",
    "purple": "#01010a",
}
"""CSS variable -> the colour that stands for it while vega draws."""
LIGHT: dict[str, str] = {
    "ink": "#1d2329",
    "muted": "#5b6570",
    "rule": "#dfe3e6",
    "surface": "#ffffff",
    "shade": "#f6ece3",
    "blue": "#0072b2",
    "green": "#00795a",
    "orange": "#c24e00",
    "grey": "#737d87",
    "purple": "#9c4f7e",
}
"""What the sentinels are in a figure file, which has no page around it."""
FONT = "sans-serif"


def color(name: str) -> str:
    """The sentinel of a CSS variable."""
    return SENTINELS[name]


def look(chart: Any) -> Any:
    """The shared look: no frame, hairline grid, quiet axes."""
    return (
        chart.configure(background="transparent", font=FONT, padding=2)
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=color("muted"),
            titleColor=color("ink"),
            gridColor=color("rule"),
            domainColor=color("rule"),
            tickColor=color("rule"),
            labelFontSize=12,
            titleFontSize=12.5,
            titleFontWeight="normal",
            titlePadding=10,
            labelPadding=6,
            gridWidth=1,
        )
        .configure_header(labelColor=color("ink"), titleColor=color("ink"), labelFontSize=12.5, labelFontWeight="bold")
        .configure_legend(
            labelColor=color("ink"), titleColor=color("muted"), labelFontSize=12, titleFontSize=12, symbolSize=70
        )
    )


def drawn(chart: Any) -> str:
    """The chart as SVG text in sentinel colours."""
    svg = str(vl_convert.vegalite_to_svg(look(chart).to_dict(validate=False), vl_version=_version()))
    # The converter numbers its ids through the process; numbered anew, the same plot is the same text.
    for place, old in enumerate(dict.fromkeys(re.findall(r'\bid="([^"]+)"', svg))):
        svg = svg.replace(f'id="{old}"', f'id="part{place}"').replace(f"url(#{old})", f"url(#part{place})")
    # The converter puts an address of its own before a fragment; ours point into the page.
    return re.sub(r'href="[a-z]+://[^"#]*#', 'href="#', svg)


def _version() -> str:
    """The newest vega-lite that the converter carries and altair speaks."""
    wanted = alt.SCHEMA_VERSION.lstrip("v").rsplit(".", 1)[0]
    have = vl_convert.get_vegalite_versions()
    return wanted if wanted in have else have[-1]


def inline(svg: str, *, name: str, label: str) -> str:
    """An SVG for the page: CSS variables for sentinels, the page's font, fluid width, its own ids, a label.

    Args:
        svg: what ``drawn`` returned.
        name: a word that is unique on the page; prefixes the ids.
        label: what a screen reader says first. Plain text.
    """
    head, body = re.match(r"<svg[^>]*>", svg), svg
    if head is None:
        raise ValueError("the plot is not an SVG document")
    width, height = (float(found) for found in re.findall(r'\b(?:width|height)="([\d.]+)"', head.group())[:2])
    for variable, sentinel in SENTINELS.items():
        body = body.replace(f'"{sentinel}"', f'"var(--{variable})"')
    body = re.sub(r'\sfont-family="[^"]*"', "", body[head.end() :])
    body = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', body)
    body = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", body)
    body = body.replace("xlink:href=", "href=").replace(' target="_blank"', "")
    body = re.sub(r'\s(?:aria-roledescription|role)="[^"]*"', "", body)
    body = re.sub(r'(<path aria-label="[^"]*")', r'\1 role="img"', body)
    return (
        f'<svg class="plot" viewBox="0 0 {width:g} {height:g}" style="max-width:{width:g}px" role="group" '
        f'aria-label="{_attribute(label)}" font-family="inherit">{body}'
    )


def for_file(svg: str) -> str:
    """An SVG that stands alone: the light colours in place of the sentinels, no links into the page."""
    svg = re.sub(r"</?a\b[^>]*>", "", svg)
    for variable, sentinel in SENTINELS.items():
        svg = svg.replace(f'"{sentinel}"', f'"{LIGHT[variable]}"')
    return svg


def _attribute(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
