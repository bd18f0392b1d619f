"""The measured coverage: the stored table is complete, fits the defaults in use, and is what the page says."""

from __future__ import annotations

from tasks.metrics.intervals import DEFAULT_METHODS, LEVEL
from tasks.report.measured import AIM, cases, coverage, measured

COMPARED = {"percentile", "bca"}
STUDENTISED = {"bootstrap_t", "jackknife_t"}


def test_the_table_is_about_the_intervals_in_use() -> None:
    made = measured()
    assert made.defaults == DEFAULT_METHODS, "measure again: tests/benchmarks/bench_coverage.py --write"
    assert made.level == LEVEL and made.simulations >= 500
    assert all(made.versions[name] for name in ("python", "numpy", "scipy", "evenhand"))


def test_every_case_is_there() -> None:
    made = measured()
    kinds = {judge["kind"] for judge in made.judges.values()}
    assert kinds == {"continuous", "quantised"}
    found = {(each.judge, each.families, each.metric, each.method) for each in cases(made)}
    assert len(found) == len(made.rows)
    for judge, planted in made.judges.items():
        assert {f"{judge} / {size}" for size in (38, 60)} <= made.seeds.keys()
        for metric, default in made.defaults.items():
            # A family's own response would be in the null arm too, so excess drift is not measured for such a judge.
            if metric == "excess_mad" and planted["interaction_sd"]:
                continue
            for size in (38, 60):
                methods = {row[3] for row in found if row[:3] == (judge, size, metric)}
                assert methods >= {default} | COMPARED and methods & STUDENTISED, (judge, size, metric)


def test_the_counts_of_a_row_add_up() -> None:
    made = measured()
    for row in made.rows:
        each = dict(zip(made.columns, row, strict=True))
        assert each["simulations"] == made.simulations
        assert each["covered"] + each["too_low"] + each["too_high"] + each["without"] == made.simulations, each


def test_the_chosen_interval_is_in_the_aim_or_the_nearest_on_average() -> None:
    """The one exception is ICC(A,1), published with its F interval; the nearer one stands beside it."""
    rows = coverage().methods
    for row in rows:
        if row.is_chosen and not row.is_nearest:
            assert row.metric == "ICC(A,1)"
            other = next(each for each in rows if each.metric == "ICC(A,1), by families" and each.is_chosen)
            assert other.is_nearest
        if row.is_chosen:
            assert AIM[0] * 100 <= float(row.mean) <= AIM[1] * 100


def test_the_page_says_what_was_measured(demo_page: str) -> None:
    found = coverage()
    text = " ".join(demo_page.split())
    assert found.made.command in text and found.made.date in text
    for row in found.methods:
        assert f'<td class="metric num">{row.lowest}</td><td class="metric num">{row.mean}</td>' in text
    assert found.even[0] in text and float(found.even[0]) > 98 > float(found.even[1])
    assert "only approximation" not in text and "it is an approximation" in text and "0.007" in text
    assert found.flat and all(words in text for words in found.flat)
