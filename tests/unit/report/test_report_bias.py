"""The part about pairs: what it says in words, what it shows, and that hostile names stay text."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest

from storage.results import Results
from tasks.metrics.bias import bias_json
from tasks.metrics.flips import agreement_json, one_way
from tasks.report.bias import bias_part, bias_table, section_of
from tasks.report.bias_charts import bias_figures
from tasks.report.bias_findings import findings, lead
from tasks.report.exports import table_files
from tasks.report.page import render

HOSTILE = "<script>alert(1)</script>"


def _verdicts(judge: str, lost: int, won: int, unparsed: int = 0) -> list[tuple[str, ...]]:
    sides = [("correct", "wrong")] * lost + [("wrong", "correct")] * won + [("correct", "unparsed")] * unparsed
    sides += [("correct", "correct")] * (30 - lost - unparsed) + [("wrong", "wrong")] * (20 - won)
    return [(judge, f"i{at}", "length", *side) for at, side in enumerate(sides)]


def _arm(style: str, *rows: list[tuple[str, ...]]) -> dict[str, Any]:
    frame = pl.DataFrame([row for one in rows for row in one], orient="row",
                         schema=["configuration", "item", "bias", "original", "injected"])
    document = bias_json(frame, draws=100)
    for numbers in document["configurations"].values():
        numbers["one_way"] = one_way(numbers["counts"])
    return {"style": style, "writer": "rules", "title": style, **document, "corrected": {}}


@pytest.fixture(scope="module")
def section() -> dict[str, Any]:
    probe = {"value": 0.8, "low": None, "high": None, "n": 100, "reason": None}
    return {
        "pairs": 50, "injected": {"length": 100}, "protocols": {}, "exclusions": {"length": {"order_changed": 3}},
        "arms": [
            _arm("tuned", _verdicts("even", 0, 0), _verdicts("turned", 0, 18), _verdicts("drilled", 0, 0),
                 _verdicts(HOSTILE, 12, 0, unparsed=6)),
            _arm("held_out", _verdicts("even", 0, 0), _verdicts("drilled", 15, 1)),
        ],
        "position": {HOSTILE: dict.fromkeys(("p_first", "p_first_forward", "p_first_swapped", "consistency"), probe)},
        "verifiers": agreement_json([("length", ["kept", "changed"])], ["v1", "v2"]),
    }


@pytest.fixture(scope="module")
def page(section: dict[str, Any]) -> str:
    return render(_results(section))


def _results(section: dict[str, Any]) -> Results:
    return Results(suite="s", benchmark="judge_bias", title="Pairs", made_at=datetime(2026, 1, 1, tzinfo=UTC),
                   state="complete", families=[], versions=[], conditions=[], producers=[], configurations=[],
                   sections={"bias": section})


def test_the_text_says_why_a_good_bsr_is_none(section: dict[str, Any], page: str) -> None:
    (said,) = [each for each in findings(section) if each.judge == "turned"]
    why = "because BSR counts only verdicts that turn from right to wrong."
    assert said.text.startswith(f"Its BSR looks good (0\u00a0%) {why}")
    assert "turned 18 wrong verdicts right and 0 right ones wrong" in said.text
    assert "changed in 36\u00a0%" in said.text and "90\u00a0% of its wrong verdicts" in said.text
    assert said.text in page
    assert "turned only turns its bias round" in lead(section)


def test_a_judge_that_only_learnt_the_wording_is_named_and_one_that_leans(section: dict[str, Any]) -> None:
    by_judge = {each.judge: each.text for each in findings(section)}
    assert "0\u00a0% of its verdicts" in by_judge["drilled"] and "32\u00a0% under held-out ones" in by_judge["drilled"]
    texts = [each.text for each in findings(section) if each.judge == HOSTILE]
    assert any("shown first wins in 80" in text for text in texts)
    assert any("hold no verdict" in text for text in texts)
    assert "even" not in by_judge
    assert lead(section).startswith("Of 4 judges, even changes its verdict least")


def test_hostile_names_stay_text(page: str) -> None:
    assert HOSTILE not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_every_count_and_rate_is_shown_and_exported(section: dict[str, Any]) -> None:
    part = bias_part(section)
    (row,) = [row for row in part.arms[0].rows if row.name == HOSTILE]
    assert row.counts == ["12", "12", "0", "20", "0", "6"]
    assert [cell.text for cell in row.cells][:3] == ["0.60", "0.24", "0.40"]
    assert part.injected == [("Length", "100", "3 order changed")]
    frame = bias_table(section)
    assert frame.height == 2 * (4 + 2)
    assert frame.filter((pl.col("configuration") == "turned") & (pl.col("bias") == "pooled"))["reversal"][0] == 0.9
    assert "tables/bias.csv" in table_files(_results(section))


def test_plots_are_drawn_by_bias_and_by_style(section: dict[str, Any], page: str) -> None:
    figures = bias_figures(section)
    assert "bias-styles" in figures and len(figures) == 3
    assert page.count('class="plot"') == 2 * len(figures)


def test_an_undefined_rate_has_its_reason_and_an_empty_section_a_sentence() -> None:
    arm = _arm("tuned", [("j", "i1", "length", "wrong", "wrong")])
    empty = {"arms": [], "position": {}, "verifiers": None, "injected": {}, "exclusions": {}}
    part = bias_part(empty | {"arms": [arm]})
    bsr = part.arms[0].rows[0].cells[2]
    assert (bsr.text, bsr.why) == ("–", "No original answer was correct")
    assert "No judge has answered" in render(_results(empty))
    assert section_of(_results({"other": 1})) is None
