"""Intervals where they are degenerate, and what is decided from draws."""

from __future__ import annotations

import json
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tasks.metrics import fast
from tasks.metrics.assemble import default_pairs, robust_json, robust_results
from tasks.metrics.bootstrap import families_needed, family_draws, holm, two_sided_p
from tasks.metrics.intervals import DEFAULT_METHODS, interval, mean_t_interval, wilson

METRICS = ("mad", "drift_sd", "icc_a1", "spr", "discriminability", "human_mae", "human_spearman")


def frame_of(configurations: dict[str, np.ndarray], labels: list[str] | None = None) -> pl.DataFrame:
    rows = []
    for name, y in configurations.items():
        names = labels or [f"v{k}/p" for k in range(1, y.shape[1])]
        for i, row in enumerate(y):
            for version, score in zip(["original", *names], row, strict=True):
                rows.append((name, f"f{i:03}", version, None if math.isnan(score) else float(score)))
    return pl.DataFrame(rows, schema={"configuration": pl.String, "family": pl.String, "version": pl.String,
                                      "score": pl.Float64}, orient="row")


def judge(seed: int, n: int = 40, k: int = 7, noise: float = 0.7) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return generator.normal(5, 1.5, (n, 1)) + generator.normal(0, noise, (n, k))


@pytest.mark.parametrize(("cells", "n"), [(6.0, 20), (6.0, 1), (4.5, 2)])
def test_constant_scores_give_a_point_interval_or_a_reason(cells: float, n: int) -> None:
    """B113: never NaN, never a crash, valid JSON."""
    human = {f"f{i:03}": float(i) for i in range(n)}
    results = robust_results(frame_of({"m": np.full((n, 4), cells)}), human, draws=200)
    text = json.dumps(robust_json(results), allow_nan=False)
    for name, number in json.loads(text)["configurations"]["m"].items():
        assert set(number) == {"value", "low", "high", "n", "reason"}
        if number["value"] is None or number["low"] is None:
            assert number["reason"], name
    mad = results.configurations["m"].metrics["mad"]
    if n > 1:
        assert (mad.value, mad.low, mad.high) == (0.0, 0.0, 0.0) and "degenerate" in mad.flags
    else:
        assert mad.value == 0.0 and mad.low is None and "one family" in (mad.interval_reason or "")
    spearman = results.configurations["m"].metrics["human_spearman"]
    assert spearman.value is None and spearman.reason


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6), st.integers(1, 4), st.integers(0, 10_000))
def test_no_nan_ever_leaves(n: int, k: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    y = generator.choice([math.nan, 1.0, 3.0, 5.0], size=(n, k), p=[0.3, 0.3, 0.2, 0.2])
    human = {f"f{i:03}": float(generator.integers(0, 3)) for i in range(n) if generator.random() < 0.8}
    other = generator.choice([1.0, 3.0], size=(n, k))
    labels = ["null_repeat", *[f"v{at}/p" for at in range(k - 2)]][: k - 1]
    results = robust_results(frame_of({"m": y, "k": other}, labels), human, draws=60)
    json.dumps(robust_json(results), allow_nan=False)
    everything = [number for one in results.configurations.values() for number in (*one.metrics.values(),
                                                                                   *one.components.values())]
    everything += [effect.shift for effect in results.effects] + [c.difference for c in results.comparisons]
    for number in everything:
        json.dumps(number.model_dump(), allow_nan=False)
        assert (number.value is None) == (number.reason is not None)
        assert (number.low is None) == (number.high is None)
        if number.value is not None and number.low is None and number in everything[:2]:
            assert number.interval_reason


def test_fewer_than_five_pairs_are_no_evidence_of_rank_agreement() -> None:
    """B115."""
    y = judge(1, n=2)
    results = robust_results(frame_of({"m": y}), {"f000": 3.0, "f001": 4.0}, draws=100)
    number = results.configurations["m"].metrics["human_spearman"]
    assert number.n == 2 and "few" in number.flags and number.low is None
    assert number.interval_reason == "fewer than 5 pairs"


def test_a_constant_judge_does_not_spoil_the_others() -> None:
    """B114: four judges of ten papers, two of them constant; pairs with a constant side are null, (3, 4) is -1."""
    up = np.arange(10.0)
    columns = [np.full(10, 6.0), np.full(10, 6.0), up, up[::-1]]
    human = {f"f{i:03}": float(i) for i in range(10)}
    judges = {f"j{at}": np.stack([c, c], axis=1) for at, c in enumerate(columns)}
    results = robust_results(frame_of(judges), human, draws=100)
    values = [results.configurations[f"j{at}"].metrics["human_spearman"] for at in range(4)]
    assert [v.value for v in values] == [None, None, pytest.approx(1.0), pytest.approx(-1.0)]
    assert values[0].reason == "one side is constant"


def test_duplicating_repeats_never_narrows_an_interval() -> None:
    """Every variant twice is no more evidence: the families are what is resampled."""
    y = judge(2)
    twice = np.concatenate([y, y[:, 1:]], axis=1)
    results = robust_results(frame_of({"m": y}), draws=1000), robust_results(frame_of({"m": twice}), draws=1000)
    once, doubled = (r.configurations["m"].metrics for r in results)
    for name in ("mad", "drift_sd", "spr", "icc_a1"):
        assert [once[name].low, once[name].high] == pytest.approx([doubled[name].low, doubled[name].high], rel=1e-9)
    # These two come out as other numbers (nearer 1) with every variant twice, so their widths may move a little.
    for name in ("icc_a1_cluster", "discriminability"):
        width = [one[name].high - one[name].low for one in (once, doubled)]
        assert width[1] > 0.9 * width[0], name


def test_draws_are_shared_seeded_and_of_families() -> None:
    weights = family_draws(12, 300, seed=5)
    assert weights.shape == (300, 12) and (weights.sum(axis=1) == 12).all()
    assert np.array_equal(weights, family_draws(12, 300, seed=5))
    assert not np.array_equal(weights, family_draws(12, 300, seed=6))
    y = judge(3)
    results = robust_results(frame_of({"a": y, "b": y.copy(), "c": judge(4)}), draws=300)
    same = next(c for c in results.comparisons if (c.metric, c.first, c.second) == ("mad", "a", "b"))
    assert (same.difference.value, same.difference.low, same.difference.high) == (0.0, 0.0, 0.0)
    assert same.p_value == 1.0 and same.families_needed is None


def test_pairing_narrows_a_difference() -> None:
    y = judge(6, n=60)
    shifted = y.copy()
    shifted[:, 1:] += np.sign(y[:, 1:] - y[:, :1]) * 0.05
    (comparison,) = robust_results(frame_of({"a": shifted, "b": y}), draws=500, compared=("mad",)).comparisons
    assert comparison.difference.value == pytest.approx(0.05)
    assert comparison.difference.low > 0 and comparison.p_value == pytest.approx(2 / 501)
    assert comparison.p_holm == comparison.p_value


def test_p_values_and_holm() -> None:
    assert two_sided_p(np.array([1.0] * 99)) == pytest.approx(0.02)
    assert two_sided_p(np.array([math.nan])) is None
    assert holm([0.01, None, 0.04, 0.03]) == [pytest.approx(0.03), None, pytest.approx(0.06), pytest.approx(0.06)]
    assert holm([]) == []


def test_default_pairs() -> None:
    assert default_pairs({"a": 0.1, "b": None, "c": 0.9}) == [("a", "b"), ("a", "c"), ("b", "c")]
    many = {f"m{at}": at / 10 for at in range(7)} | {"none": None}
    pairs = default_pairs(many)
    assert pairs[0] == ("m6", "m5") and pairs[-1] == ("m0", "none") and len(pairs) == 7


def test_power_is_the_textbook_formula() -> None:
    """One-sample z: n = ((1.96 + 0.84) sd / difference)^2."""
    wanted = math.ceil(((stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) * 2.0 / 0.5) ** 2)
    assert families_needed(2.0 / math.sqrt(50), 50, 0.5) == wanted
    assert families_needed(0.0, 50, 0.5) is None and families_needed(1.0, 50, 0.0) is None


@pytest.mark.parametrize(("successes", "trials", "low", "high"), [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0),
                                                                  (3, 8, 0.1368, 0.6943)])
def test_wilson(successes: int, trials: int, low: float, high: float) -> None:
    found = wilson(successes, trials)
    reference = stats.binomtest(successes, trials).proportion_ci(method="wilson")
    assert [found.low, found.high] == pytest.approx([low, high], abs=1e-4)
    assert [found.low, found.high] == pytest.approx([reference.low, reference.high], abs=1e-9)
    assert wilson(0, 0).low is None


def test_t_interval_is_scipys() -> None:
    values = np.array([0.5, -0.25, 1.0, 0.75])
    reference = stats.ttest_1samp(values, 0).confidence_interval()
    found = mean_t_interval(values)
    assert [found.low, found.high] == pytest.approx([reference.low, reference.high], abs=1e-12)
    assert "degenerate" in mean_t_interval(np.full(5, 0.3)).flags and mean_t_interval(values[:1]).low is None


def test_bca_is_scipys() -> None:
    values = np.random.default_rng(0).exponential(size=50)
    kernel = fast.mean_kernel(values)
    found = interval(kernel, family_draws(50, 40_000, 1), "bca")
    reference = stats.bootstrap((values,), np.mean, n_resamples=40_000, method="BCa", rng=1).confidence_interval
    assert [found.low, found.high] == pytest.approx([reference.low, reference.high], abs=0.01)
    percentile = interval(kernel, family_draws(50, 40_000, 1), "percentile")
    assert found.low > percentile.low and found.high > percentile.high


def test_few_families_with_any_shift_fall_back_to_bca() -> None:
    y = np.full((60, 4), 5.0)
    y[:2, 1] = 6.0
    number = robust_results(frame_of({"m": y}), draws=2000).configurations["m"].metrics["mad"]
    assert number.method == "bca" and "bca_instead" in number.flags and number.low < number.value < number.high


def test_every_metric_has_a_default_method() -> None:
    assert set(METRICS) <= set(DEFAULT_METHODS)
    with pytest.raises(ValueError, match="unknown interval method"):
        interval(fast.mean_kernel(np.arange(9.0)), family_draws(9, 50), "magic")
