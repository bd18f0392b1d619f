"""Verdicts: stability alone never makes a judge good; rivals come from corrected comparisons where there are any."""

from __future__ import annotations

from storage.results import CellCounts, Comparison, ConfigurationResult, Estimate, Results
from tasks.report.headline import cards, lead_sentence, phantom_note
from tasks.report.ranges import shown_range
from tasks.report.verdicts import standing
from tests.fixtures.report_results import make_results


def _judge(name: str, discr: Estimate, *, flat: bool = False) -> ConfigurationResult:
    return ConfigurationResult(
        name=name,
        endpoint="e",
        model=name,
        protocol="strict",
        kind="openai",
        cells=CellCounts(wanted=10, answered=10),
        metrics={"discriminability": discr, "mad": Estimate(value=0.1, low=0.05, high=0.2, n=10)},
        false_robustness=["one score in over 90 % of cells"] if flat else [],
    )


def _results(*judges: ConfigurationResult, comparisons: list[Comparison] | None = None) -> Results:
    return make_results(families=3).model_copy(
        update={"configurations": list(judges), "comparisons": comparisons or [], "effects": []}
    )


def _discr(value: float | None, low: float | None = None, high: float | None = None) -> Estimate:
    return Estimate(value=value, low=low, high=high, n=3, reason=None if value is not None else "under_3_families")


def test_a_flat_judge_never_leads_however_good_its_numbers() -> None:
    where = standing(_results(_judge("flat", _discr(0.9, 0.8, 0.95), flat=True), _judge("good", _discr(0.7, 0.6, 0.8))))
    assert where.best is not None and where.best.name == "good"
    assert where.verdicts == {"flat": "flat", "good": "best"}
    assert [each.name for each in where.order] == ["good", "flat"]


def test_rivals_come_from_corrected_comparisons() -> None:
    judges = [
        _judge("a", _discr(0.75, 0.7, 0.8)),
        _judge("b", _discr(0.72, 0.66, 0.78)),
        _judge("c", _discr(0.7, 0.6, 0.8)),
    ]
    pairs = [
        Comparison(metric="discriminability", first="b", second="a", difference=_discr(-0.03), p_value=0.2, p_holm=0.4),
        Comparison(
            metric="discriminability", first="a", second="c", difference=_discr(0.05), p_value=0.001, p_holm=0.01
        ),
    ]
    where = standing(_results(*judges, comparisons=pairs))
    assert where.peers == ["b"] and where.tested
    assert where.verdicts == {"a": "best", "b": "level", "c": "separates"}


def test_without_comparisons_overlapping_intervals_make_rivals() -> None:
    where = standing(
        _results(
            _judge("a", _discr(0.8, 0.75, 0.85)),
            _judge("b", _discr(0.74, 0.7, 0.76)),
            _judge("c", _discr(0.6, 0.55, 0.65)),
        )
    )
    assert where.peers == ["b"] and not where.tested
    assert "no paired comparisons" in cards(_results(*where.order), where)[1].text


def test_chance_and_unmeasured_are_not_above_chance() -> None:
    results = _results(_judge("coin", _discr(0.55, 0.48, 0.62)), _judge("none", _discr(None)))
    where = standing(results)
    assert where.best is None and where.verdicts == {"coin": "chance", "none": "unmeasured"}
    assert cards(results, where)[0].figure == "None shown"
    assert lead_sentence(results, where).startswith("Of 2 judges, 0 can")


def test_no_judges_at_all() -> None:
    where = standing(_results())
    assert where.order == [] and where.best is None


def test_few_papers_are_called_a_demonstration() -> None:
    results = make_results()
    assert "demonstration" in cards(results, standing(results))[1].text


def test_phantoms_are_named_as_what_they_are() -> None:
    assert phantom_note(make_results()).startswith("30 of these judges are phantoms")
    assert phantom_note(make_results(kind="openai")) == ""


def test_one_wild_interval_does_not_set_the_scale() -> None:
    low, high = shown_range([Estimate(value=0.2, low=0.1, high=9.0), Estimate(value=1.0, low=0.8, high=1.2)], [0.0])
    assert (low, high) == (0.0, 1.75)
    assert shown_range([Estimate(value=None)]) == (0.0, 1.0)
    assert shown_range([Estimate(value=0.0, low=0.0, high=0.0)]) == (0.0, 1.0)
