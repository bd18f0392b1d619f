"""The part about named analyses: tables with intervals and reasons, plots, published values beside ours."""

from __future__ import annotations

from typing import Any

from storage.results import Results
from tasks.report.analyses import analyses_part, analysis_figures
from tasks.report.page import render
from tests.fixtures.report_results import make_results


def number(value: float | None, **more: Any) -> dict[str, Any]:
    return {"value": value, "n": 3, "low": None, "high": None, **more}


def analysis(label: str, **more: Any) -> dict[str, Any]:
    point = {"x": "joint", "y": 0.3, "low": 0.1, "high": 0.5, "tip": ""}
    rows = [{"label": label, "values": ["joint", number(0.476, low=0.4, high=0.6), number(None, reason="too_few"), 0.5]}]
    return {"name": "Mine <b>", "kind": "backbones", "note": "What it is.", "reason": None,
            "columns": ["condition", "mad", "drift_sd", "p"], "rows": rows,
            "panels": [{"title": "MAD", "x_title": "", "lines": [{"name": "a", "points": [point], "is_joined": False}]}],
            **more}


def with_analyses(*given: dict[str, Any]) -> Results:
    return make_results().model_copy(update={"sections": {"analyses": list(given)}})


def test_values_come_with_interval_reason_and_what_was_published() -> None:
    (part,) = analyses_part(with_analyses(analysis("SciCore")))
    words, mad, drift, p = part.rows[0].cells
    assert (words.text, words.is_number) == ("Joint rewrite", False)
    assert (mad.text, mad.interval, mad.published) == ("0.476", "[0.400, 0.600]", "0.476")
    assert (drift.text, drift.why, drift.published) == ("–", "Too few", "0.687")
    assert (p.text, p.published, part.has_published) == ("0.500", "", True)
    assert part.columns[1] == "MAD"


def test_nothing_published_is_put_beside_a_phantom_or_another_name() -> None:
    results = with_analyses(analysis("SciCore"), analysis("mine"))
    phantom = results.configurations[0].model_copy(update={"name": "SciCore", "kind": "phantom"})
    first, second = analyses_part(results.model_copy(update={"configurations": [phantom]}))
    assert not first.has_published and not second.has_published


def test_the_page_shows_it_escaped_with_its_plot_and_says_why_there_is_none() -> None:
    results = with_analyses(analysis("SciCore"), analysis("x", rows=[], panels=[], reason="no cell was answered"))
    figures = analysis_figures(analyses_part(results))
    assert list(figures) == ["analysis-mine-b"]
    page = render(results)
    assert 'id="analyses"' in page and "Mine &lt;b&gt;" in page and "No cell was answered." in page
    assert "published 0.476" in page and "Further parts" not in page.split("<main", 1)[1].split("Analyses", 1)[0]
