"""Which differences are tested, which only described, and how many families a difference needs."""

from __future__ import annotations

from math import ceil

import numpy as np
import polars as pl
import pytest
from scipy import stats

from storage.results import Comparison, Estimate, Results
from tasks.metrics.assemble import RobustResults, best_judge, pairs_to_test, robust_results
from tasks.metrics.bootstrap import family_draws
from tasks.metrics.power import power


def _results(judges: int) -> RobustResults:
    rng = np.random.default_rng(3)
    quality = rng.normal(5, 2, 12)
    rows = [
        {"configuration": f"j{j}", "family": f"f{i}", "version": version, "score": quality[i] * (1 - j / 12) + noise}
        for j in range(judges)
        for i in range(12)
        for version, noise in zip(("original", "a/x", "b/x"), rng.normal(0, 0.3 + 0.2 * j, 3), strict=True)
    ]
    return robust_results(pl.DataFrame(rows), draws=400)


def test_the_best_judge_is_tested_against_all_and_other_pairs_are_described() -> None:
    found = _results(8)
    best = best_judge(found.configurations)
    assert best is not None
    tested = [each for each in found.comparisons if each.p_holm is not None]
    described = [each for each in found.comparisons if each.p_value is None]
    against = {each.first if each.second == best else each.second for each in tested
               if each.metric == "discriminability" and best in (each.first, each.second)}
    assert against == set(found.configurations) - {best}
    assert len(found.comparisons) == 2 * 28 == len(tested) + len(described)
    assert all(each.p_holm is None and each.difference.low is not None for each in described)
    assert len({(each.metric, frozenset((each.first, each.second))) for each in found.comparisons}) == 56


def test_holm_counts_the_tests_and_not_what_is_only_described() -> None:
    tested = [each for each in _results(8).comparisons if each.p_value is not None]
    smallest = min(tested, key=lambda each: each.p_value or 1.0)
    assert smallest.p_holm == pytest.approx(min(1.0, (smallest.p_value or 1.0) * len(tested)))


def test_no_judge_is_best_where_none_can_be_trusted() -> None:
    assert pairs_to_test({"a": 0.1, "b": 0.2}, None, ("mad",)) == [("mad", "a", "b")]
    many = dict.fromkeys("abcdefgh", 0.5)
    assert len(pairs_to_test(many, None, ("mad", "discriminability"))) == 14
    assert len(pairs_to_test(many, "a", ("mad",))) == 7


def test_power_is_that_of_a_mean_of_paired_differences() -> None:
    """For MAD with one pair a family a comparison is a plain paired mean: its power has a closed form."""
    rng = np.random.default_rng(0)
    differences = rng.normal(0.3, 1.0, 50)
    weights = family_draws(50, 4000, 1)
    error = float((weights @ differences / 50).std(ddof=1))
    one = Comparison(metric="mad", first="a", second="b", standard_error=error,
                     difference=Estimate(value=float(differences.mean()), n=50))
    (found,) = power([one])
    factor = float(stats.norm.ppf(0.975) + stats.norm.ppf(0.8))
    assert found.families == 50 and found.pairs == 1
    assert found.detectable == pytest.approx(factor * differences.std() / np.sqrt(50), rel=0.05)
    assert found.needed["0.2"] == pytest.approx(ceil((factor * differences.std() / 0.2) ** 2), rel=0.1)


def test_a_standard_error_over_fewer_families_is_brought_to_the_usual_number() -> None:
    def one(n: int, error: float) -> Comparison:
        return Comparison(metric="mad", first="a", second="b", standard_error=error, difference=Estimate(value=1, n=n))

    (found,) = power([one(100, 0.1), one(100, 0.1), one(25, 0.2)])
    assert found.detectable_low == pytest.approx(found.detectable_high)
    assert power([one(100, 0.0), Comparison(metric="mad", first="a", second="b", difference=Estimate(value=1.0))]) == []


def test_results_without_power_still_load() -> None:
    assert Results.model_fields["power"].default_factory is not None
