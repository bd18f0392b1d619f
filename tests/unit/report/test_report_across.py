"""One judge's row over several benchmarks."""

from __future__ import annotations

from datetime import UTC, datetime

from storage.results import CellCounts, ConfigurationResult, Estimate, Results
from tasks.report.across import SECTION, across_benchmarks
from tasks.report.page import render


def _results(benchmark: str, **metrics: float) -> Results:
    rows = [
        ConfigurationResult(
            name=f"{model}/{benchmark}", endpoint="e", model=model, protocol="p", kind="openai",
            metrics={key: Estimate(value=value, low=value, high=value, n=9) for key, value in metrics.items()},
            cells=CellCounts(wanted=1, answered=1))
        for model in ("shared", f"only-{benchmark}")
    ]
    return Results(suite="s", benchmark=benchmark, title="t", made_at=datetime(2026, 1, 1, tzinfo=UTC),
                   state="complete", families=[], versions=[], conditions=[], producers=[], configurations=rows)


def test_a_judge_of_several_benchmarks_has_one_row() -> None:
    robust, bias = _results("robust_review", discriminability=0.8, mad=0.4), _results("judge_bias", bsr=0.1)
    (row,) = across_benchmarks([robust, bias])
    assert row["judge"] == "shared"
    assert row["rhetoric"].startswith("shared/robust_review: Discriminability 0.80 [0.80, 0.80], MAD 0.40")
    assert "BSR 0.10" in row["bias"]
    assert row["style"] == "not asked"
    page = render(bias.model_copy(update={"sections": {SECTION: [row], "bias": {
        "arms": [], "position": {}, "verifiers": None, "injected": {}, "exclusions": {}}}}))
    assert "Discriminability 0.80" in page


def test_a_judge_of_one_benchmark_has_none() -> None:
    assert across_benchmarks([_results("judge_bias", bsr=0.1)]) == []
