"""The whole frame at once: effects, components, noise floor, false robustness, isotonic map."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from storage.results import Estimate
from tasks.metrics import robust
from tasks.metrics.assemble import robust_results
from tasks.metrics.effects import split_label, variance_components
from tasks.metrics.grid import Grid
from tasks.metrics.stability import false_robustness, lowest_quarter, score_text, spread

LABELS = ("original", "novelty/x", "novelty/y", "scope/x", "scope/y")


def frame(configurations: dict[str, np.ndarray], labels=LABELS) -> pl.DataFrame:
    rows = [(name, f"f{i:03}", version, None if math.isnan(score) else float(score))
            for name, y in configurations.items() for i, row in enumerate(y)
            for version, score in zip(labels, row, strict=True)]
    return pl.DataFrame(rows, orient="row", schema={"configuration": pl.String, "family": pl.String,
                                                    "version": pl.String, "score": pl.Float64})


def judge(seed: int, n: int = 30, k: int = 5) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return generator.normal(5, 1.5, (n, 1)) + generator.normal(0, 0.5, (n, k))


def test_effects_by_condition_and_producer() -> None:
    y = judge(1)
    y[:, 3] += 2.0
    y[4, 3] = math.nan
    found = {(e.condition, e.producer): e.shift for e in robust_results(frame({"m": y}), draws=50).effects}
    assert set(found) == {("novelty", "x"), ("novelty", "y"), ("scope", "x"), ("scope", "y")}
    shift = found["scope", "x"]
    assert shift.value == pytest.approx(np.nanmean(y[:, 3] - y[:, 0])) and shift.n == 29 and shift.low > 1.0
    assert split_label("paraphrase") == ("paraphrase", "") and split_label("a/b/c") == ("a", "b/c")


def test_variance_components_are_recovered_and_not_clipped() -> None:
    generator = np.random.default_rng(5)
    n, c, p = 200, 12, 12
    truth = {"family": 4.0, "condition": 1.0, "producer": 0.5, "family_x_condition": 0.6, "residual": 0.3}
    sd = {name: math.sqrt(value) for name, value in truth.items()}
    cube = (generator.normal(0, sd["family"], (n, 1, 1)) + generator.normal(0, sd["condition"], (1, c, 1))
            + generator.normal(0, sd["producer"], (1, 1, p)) + generator.normal(0, sd["family_x_condition"], (n, c, 1))
            + generator.normal(0, sd["residual"], (n, c, p)))
    labels = ("original", *[f"c{i:02}/p{j:02}" for i in range(c) for j in range(p)])
    grid = Grid(tuple(map(str, range(n))), labels, np.concatenate([cube[:, 0, :1], cube.reshape(n, -1)], axis=1),
                np.full(n, math.nan))
    found = variance_components(grid)
    for name, tolerance in (("family", 0.25), ("condition", 0.6), ("producer", 0.6), ("family_x_condition", 0.1),
                            ("residual", 0.03)):
        assert found[name].value == pytest.approx(truth[name], rel=tolerance), name
    values = [found[name].value for name in truth]
    assert all(value is not None for value in values)
    alike = robust_results(frame({"m": judge(9)}), draws=20).configurations["m"].components
    assert alike["condition"].value < 0 or alike["producer"].value < 0
    one = robust_results(frame({"m": judge(9)[:, :3]}, LABELS[:3]), draws=20).configurations["m"].components
    assert one["family"].value is None and "at least two conditions" in one["family"].reason


def test_noise_floor_and_excess_are_paired_by_family() -> None:
    y = judge(2, k=4)
    labels = ("original", "novelty/x", "null_repeat", "null_paraphrase")
    y[0, 1], y[1, 2:] = math.nan, math.nan
    metrics = robust_results(frame({"m": y}, labels), draws=300).configurations["m"].metrics
    assert metrics["mad"].value == pytest.approx(np.nanmean(np.abs(y[:, 1] - y[:, 0])))
    assert metrics["noise_mad"].value == pytest.approx(np.nanmean(np.abs(y[:, 2:] - y[:, :1])))
    both = y[2:]
    wanted = np.abs(both[:, 1] - both[:, 0]).mean() - np.abs(both[:, 2:] - both[:, :1]).mean()
    excess = metrics["excess_mad"]
    assert excess.value == pytest.approx(wanted) and excess.n == 28 and excess.low < wanted < excess.high
    assert metrics["noise_icc_a1"].method == "f"
    assert "excess_mad" not in robust_results(frame({"m": judge(2)}), draws=20).configurations["m"].metrics


def test_false_robustness() -> None:
    flat = np.full((30, 5), 6.0)
    flat[0, 0] = 8.0
    results = robust_results(frame({"flat": flat, **{f"m{seed}": judge(seed) for seed in range(4)}}), draws=300)
    found = {name: numbers.false_robustness for name, numbers in results.configurations.items()}
    assert "one_value" in found["flat"] and not any(found[f"m{seed}"] for seed in range(4))
    chance = Estimate(value=0.51, low=0.49, high=0.53)
    level = spread(np.array([[1.0, 2.0, 3.0]]))
    assert false_robustness(True, chance, level) == ["stable_at_chance"]
    assert false_robustness(False, chance, level) == []
    assert false_robustness(True, Estimate(value=0.6, low=0.55, high=0.7), level) == []


def test_lowest_quarter() -> None:
    mads = {f"m{at}": Estimate(value=float(at)) for at in range(8)} | {"none": Estimate(value=None, reason="x")}
    assert lowest_quarter(mads) == {"m0", "m1"}
    assert lowest_quarter({name: mads[name] for name in ("m0", "m1", "m2")}) == set()


def test_histogram_and_entropy() -> None:
    found = spread(np.array([[6.0, 6.0, 8.5], [6.0, math.nan, 1.0]]))
    assert found.histogram == {"1": 1, "6": 3, "8.5": 1} and found.top_share == 0.6 and found.top_score == "6"
    assert found.entropy_bits == pytest.approx(-(0.6 * math.log2(0.6) + 2 * 0.2 * math.log2(0.2)))
    assert spread(np.full((2, 2), 4.0)).entropy_bits == 0.0 and spread(np.full((2, 2), math.nan)).top_share is None
    assert score_text(6.25) == "6.25" and score_text(-0.0) == "0"


def test_isotonic_map_leaves_each_family_out() -> None:
    """Two families with score 1 (human 2, 4), two with 2 (human 6, 6): each is predicted from the others."""
    first, target = np.array([1.0, 1.0, 2.0, 2.0]), np.array([2.0, 4.0, 6.0, 6.0])
    assert robust.isotonic_residuals(first, target) == pytest.approx([2.0, 2.0, 0.0, 0.0])
    falling = robust.isotonic_residuals(np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 1.0]))
    assert falling == pytest.approx([1.5, 0.0, 1.5])
    y = np.stack([first, first], axis=1)
    assert robust.human_mae_isotonic(y, target).value == 1.0
    assert robust.human_mae_isotonic(y[:2], target[:2]).value is None


def test_scores_come_back_as_they_were() -> None:
    y = judge(3, n=2)
    y[1, 2] = math.nan
    scores = robust_results(frame({"m": y}), draws=20).configurations["m"].scores
    assert scores["f001"]["novelty/y"] is None and scores["f000"]["scope/x"] == pytest.approx(y[0, 3])
