"""Nights as lines, and cards of judges that several benchmarks know; anything of another shape is not drawn."""

from __future__ import annotations

from typing import Any

import pytest

from storage.results import Results
from tasks.report.numbers import listed
from tasks.report.page import render
from tasks.report.trend import HEIGHT, WIDTH, judge_cards, trends
from tasks.report.verdicts import standing
from tests.fixtures.report_results import inferred_results


def _with(results: Results, **sections: Any) -> Results:
    return results.model_copy(update={"sections": sections})


def test_a_missing_night_breaks_the_line_and_is_not_guessed() -> None:
    found = trends(inferred_results())
    assert found is not None and found.nights == 6 and (found.first, found.latest) == ("2026-11-25", "2026-11-30")
    whole, broken = found.lines
    assert len(whole.runs) == 1 and len(whole.runs[0].split()) == 6
    assert [len(run.split()) for run in broken.runs] == [2, 3]
    assert broken.latest == "0.420" and broken.change == "+0.020" and "–" in broken.said
    for run in (*whole.runs, *broken.runs):
        for point in run.split():
            x, y = map(float, point.split(","))
            assert 0 <= x <= WIDTH and 0 <= y <= HEIGHT


@pytest.mark.parametrize("section", [None, {}, [], {"dates": [], "trends": []}, {"dates": ["a"], "trends": [{"x": 1}]}])
def test_a_trend_of_another_shape_is_not_drawn(demo: Results, section: Any) -> None:
    found = _with(demo, trend=section)
    assert trends(found) is None and 'id="trend"' not in render(found)


def test_one_night_and_equal_nights_are_drawn(demo: Results) -> None:
    line = {"configuration": "gone", "metric": "mad", "values": [0.4]}
    found = trends(_with(demo, trend={"dates": ["2026-11-30"], "trends": [line, line | {"values": [None]}]}))
    assert found is not None and found.lines[0].link is None and found.lines[0].change == "–"
    assert found.lines[1].last is None and found.lines[1].runs == []


def test_a_judge_of_several_benchmarks_has_one_card(demo: Results) -> None:
    name = standing(demo).order[0].name
    rate = {"value": 0.25, "low": 0.1, "high": 0.4, "n": 40, "reason": None}
    style = {"configurations": {name: {"sbi": rate, "srr": {"value": None, "n": 0, "reason": "no_pairs"}, "awr": rate}}}
    bias = {"arms": [{"configurations": {name: {"bsr": rate, "acc_ori": rate, "acc_inj": rate}}}]}
    found = _with(demo, style=style, bias=bias)
    (card,) = judge_cards(found, standing(found))
    assert card.name == name and [side.benchmark for side in card.sides] == ["Rhetoric", "Style", "Bias"]
    assert card.sides[1].numbers[:2] == [("SBI", "0.25 [0.10, 0.40]"), ("SRR", "– (no pairs)")]
    assert card.sides[2].numbers[2] == ("BSR", "0.25 [0.10, 0.40]")
    assert judge_cards(demo, standing(demo)) == []


def test_names_with_commas_are_listed_apart() -> None:
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(["fine, steady", "b", "c", "d"]) == "fine, steady; b; c and 1 more"
