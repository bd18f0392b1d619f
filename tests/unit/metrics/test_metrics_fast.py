"""The fast forms against the definitions written out: on the data as they are and on every resampling of families."""

from __future__ import annotations

import itertools
import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.metrics import fast, robust
from tasks.metrics.comparisons import comparison_sums

KINDS = [
    st.integers(1, 4).map(float), st.integers(10, 60).map(lambda v: v / 10), st.integers(1, 20).map(lambda v: v / 3),
    st.floats(0, 10, allow_nan=False).map(lambda v: v + 1 / 7), st.integers(-3, 3).map(lambda v: v * math.pi),
]


@st.composite
def grids(draw: st.DrawFn, missing: bool = True) -> np.ndarray:
    n, k = draw(st.integers(2, 6)), draw(st.integers(2, 5))
    kind = draw(st.sampled_from(KINDS))
    cell = st.one_of(kind, kind, kind, kind, st.just(math.nan)) if missing else kind
    return np.array(draw(st.lists(st.lists(cell, min_size=k, max_size=k), min_size=n, max_size=n)), dtype=float)


def literal_discriminability(rows: np.ndarray, origin: list[int]) -> float | None:
    """By its definition; ``origin`` says which drawn rows are copies of one family, which are not compared."""
    wins = count = 0.0
    n, k = rows.shape
    for i, j in itertools.product(range(n), repeat=2):
        if origin[i] == origin[j]:
            continue
        for a, b in itertools.permutations(range(k), 2):
            within = round(abs(rows[i, a] - rows[i, b]), 12)
            for c in range(k):
                between = round(abs(rows[i, a] - rows[j, c]), 12)
                wins += 1.0 if within < between else 0.5 if within == between else 0.0
                count += 1
    return wins / count if count else None


@settings(max_examples=150, deadline=None)
@given(grids(missing=False))
def test_comparison_sums_are_the_definition(y: np.ndarray) -> None:
    n, k = y.shape
    sums = comparison_sums(y)
    for i, j in itertools.product(range(n), repeat=2):
        wanted = 0.0
        if i != j:
            for a, b in itertools.permutations(range(k), 2):
                within = np.round(abs(y[i, a] - y[i, b]), 12)
                between = np.round(np.abs(y[i, a] - y[j]), 12)
                wanted += float(np.sum(within < between) + np.sum(within == between) / 2)
        assert sums[i, j] == wanted


@settings(max_examples=100, deadline=None)
@given(grids(), st.randoms(use_true_random=False))
def test_kernels_are_the_definitions_on_resampled_families(y: np.ndarray, random) -> None:
    n = y.shape[0]
    human = np.array([random.choice([1.0, 2.5, 4.0, math.nan]) for _ in range(n)])
    origin = [random.randrange(n) for _ in range(n)]
    weights = np.bincount(origin, minlength=n)[None, :].astype(float)
    drawn, target = y[origin], human[origin]
    wanted = {
        "mad": robust.mad(drawn).value, "drift_sd": robust.drift_sd(drawn).value, "spr": robust.spr(drawn).value,
        "icc_a1": robust.icc_a1(drawn).value, "human_mae": robust.human_mae(drawn, target).value,
        "human_spearman": robust.human_spearman(drawn, target).value,
    }
    complete = ~np.isnan(drawn).any(axis=1)
    wanted["discriminability"] = literal_discriminability(drawn[complete], list(np.array(origin)[complete]))
    for name, kernel in fast.robust_kernels(y, human).items():
        found = float(kernel.value(weights)[0])
        value = wanted[name]
        if value is None:
            assert math.isnan(found), name
        elif name == "icc_a1" and abs(value) > 1e3:
            continue  # a denominator of almost 0: both are right to many digits of a number without meaning
        else:
            assert abs(found - value) < 1e-7 * max(1.0, abs(value)), name


def test_near_ties_fall_back_to_the_rounded_distances() -> None:
    """Distances that differ by less than 1e-12 are ties, whatever binary fractions make of them."""
    y = np.array([[0.1, 0.3, math.pi], [0.3, 0.5, math.e], [1e3 / 3, 1e3 / 3 + 0.2, 1.0]])
    assert np.array_equal(comparison_sums(y), literal_sums(y))


def literal_sums(y: np.ndarray) -> np.ndarray:
    n, k = y.shape
    out = np.zeros((n, n))
    for i, j in itertools.permutations(range(n), 2):
        for a, b in itertools.permutations(range(k), 2):
            within, between = np.round(abs(y[i, a] - y[i, b]), 12), np.round(np.abs(y[i, a] - y[j]), 12)
            out[i, j] += float(np.sum(within < between) + np.sum(within == between) / 2)
    return out


def test_standard_errors_are_the_jackknifes_in_large_samples() -> None:
    generator = np.random.default_rng(3)
    y = generator.normal(5, 1.5, (600, 1)) + generator.normal(0, 0.7, (600, 6))
    ones = np.ones((1, 600))
    forward = {"log": np.log, "logit": lambda p: np.log(p / (1 - p))}
    for kernel in (fast.mad_kernel(y), fast.drift_sd_kernel(y), fast.spr_kernel(y)):
        left_out = forward[kernel.scale](kernel.value(1.0 - np.eye(600)))
        jackknife = math.sqrt(599 / 600 * float(np.sum((left_out - left_out.mean()) ** 2)))
        assert abs(float(kernel.standard_errors(ones)[0]) / jackknife - 1) < 0.02
