"""The page: records in, one self-contained HTML file out. Puts the parts together; each part is made in its own module.

Nothing here draws, formats or judges. The page makes no request: styles, script, plots and downloads are inside it, and
its content security policy lets nothing else run.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
from markupsafe import Markup

from storage.results import Results
from tasks.report import calibration, coverage, headline, leaderboard, numbers, words
from tasks.report.bias import CELLS, RATES, bias_part, section_of
from tasks.report.drawings import Drawings, drawings
from tasks.report.effects import CELL_STEPS, heat_table, legend
from tasks.report.exports import figure_files, table_files
from tasks.report.figures import Figure
from tasks.report.inference import inference
from tasks.report.links import versions_link
from tasks.report.measured import coverage as measured_coverage
from tasks.report.payload import embed, payload
from tasks.report.sections import flat, node
from tasks.report.shifts import pages_beside
from tasks.report.style import style_section, style_words
from tasks.report.trend import judge_cards, trends
from tasks.report.verdicts import Standing, standing

STYLES = ("tokens.css", "layout.css", "tables.css", "parts.css", "print.css")
SCRIPTS = ("page.js", "tables.js", "drawing.js", "judge.js", "routes.js")
TEMPLATES = {"judge_bias": "bias_page.html.j2", "sci_style": "style_page.html.j2"}
"""Benchmarks that are not about papers have pages of their own."""
SHOWN_ELSEWHERE = ("analyses", "reviews", "version_pages", "certified", "trend")
"""Sections that have a place of their own on the page."""
PLAIN_SCRIPTS = ("page.js", "tables.js", "plain.js")
"""Of a page without a leaderboard of scores."""
_MEDIA = {
    "json": "application/json",
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "tex": "application/x-tex",
    "svg": "image/svg+xml",
}


class Download(NamedTuple):
    """A file that the page carries, packed."""

    name: str
    media_type: str
    size: str
    packed: str


def write_report(
    results: Results, out: Path, *, has_version_pages: bool = False, drawn: Drawings | None = None
) -> Path:
    """Writes the report's page.

    Args:
        results: what ``aggregate`` made.
        out: the folder; made where it is missing.
        has_version_pages: whether ``versions/index.html`` lies beside it, to be linked.
        drawn: its figures, where they are drawn already.

    Returns:
        The page, ``index.html`` in ``out``; replaced in one step, so a reader never sees half of it.
    """
    out.mkdir(parents=True, exist_ok=True)
    page, part = out / "index.html", out / ".index.html.part"
    pages = pages_beside(results, out) if has_version_pages else {}
    text = render(results, has_version_pages=has_version_pages, pages=pages, drawn=drawn)
    part.write_text(text, encoding="utf-8")
    part.replace(page)
    return page


def render(
    results: Results,
    *,
    has_version_pages: bool = False,
    pages: Mapping[str, Mapping[str, str]] | None = None,
    drawn: Drawings | None = None,
) -> str:
    """The page as text; see ``write_report``. ``pages`` are those of versions: family -> label -> path."""
    where = standing(results)
    template = TEMPLATES.get(results.benchmark, "page.html.j2")
    ideas = style_section(results)
    section = section_of(results)
    drawn = drawn or drawings(results)
    style, script = _asset("css", STYLES), _asset("js", PLAIN_SCRIPTS if template in TEMPLATES.values() else SCRIPTS)
    return (
        _environment()
        .get_template(template)
        .render(
            results=results,
            where=where,
            lead=headline.lead_sentence(results, where),
            phantom_note=headline.phantom_note(results),
            cards=headline.cards(results, where),
            rows=leaderboard.rows(where),
            histograms=leaderboard.histograms(where),
            heat=heat_table(results, where),
            cell_legend=legend(CELL_STEPS),
            calibration=calibration.calibration(where),
            published=calibration.published_rows(results),
            missing=coverage.missing(where),
            exclusion_counts=coverage.exclusion_counts(results),
            versions=coverage.version_rows(results),
            version_pages=versions_link() if has_version_pages else "",
            costs=coverage.cost_rows(where),
            sections=[
                (words.plain(name), node(value))
                for name, value in results.sections.items()
                if value is not section and value is not ideas and name not in SHOWN_ELSEWHERE
            ],
            analyses=drawn.analyses,
            bias=bias_part(section) if section else None,
            bias_figures=drawn.pairs,
            bias_words={"rates": RATES, "cells": CELLS},
            **style_words(ideas, drawn.ideas),
            provenance=flat(results.provenance),
            **_statistics(results, where),
            figures=drawn.main,
            metrics=words.METRICS,
            verdicts=words.VERDICTS,
            downloads=_downloads(results, drawn.files),
            style=Markup(style),  # noqa: S704 - our own files, as is the script
            script=Markup(script),  # noqa: S704
            script_hash=_hash(script),
            data=Markup(embed(payload(results, where, pages or {}))),  # noqa: S704 - embed escapes it
        )
    )


def _statistics(results: Results, where: Standing) -> dict[str, Any]:
    """How sure the numbers are, and what that was measured to be worth."""
    tests = sum(each.p_holm is not None for each in results.comparisons)
    return {
        "inference": inference(results, where),
        "measured": measured_coverage(),
        "tests": tests,
        "trends": trends(results),
        "judge_cards": judge_cards(results, where),
    }


def _environment() -> jinja2.Environment:
    """Everything is escaped, whatever a template is called; an unknown name is an error."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tasks.report", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    filters: dict[str, Any] = {
        "number": numbers.number,
        "count": numbers.count,
        "money": numbers.money,
        "duration": numbers.duration,
        "plain": words.plain,
        "condition": words.condition_title,
        "figure": _figure,
    }
    environment.filters.update(filters)
    environment.globals["state_words"] = words.STATES
    return environment


def _figure(figure: Figure, which: str) -> Markup:
    return Markup(figure.on_page(which))  # noqa: S704 - vega escapes the texts of a plot


def _asset(folder: str, names: tuple[str, ...]) -> str:
    place = resources.files("tasks.report").joinpath("templates", folder)
    return "\n" + "\n".join(place.joinpath(name).read_text(encoding="utf-8") for name in names)


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")


def _downloads(results: Results, drawn: dict[str, Figure]) -> list[Download]:
    files = table_files(results) | figure_files(drawn)
    return [
        Download(
            name,
            _MEDIA[name.rsplit(".", 1)[1]],
            _size(len(data)),
            base64.b64encode(gzip.compress(data, 9, mtime=0)).decode("ascii"),
        )
        for name, data in files.items()
    ]


def _size(data: int) -> str:
    return f"{data / 1e6:.1f} MB" if data >= 1e6 else f"{max(1, round(data / 1e3)):,} KB"
