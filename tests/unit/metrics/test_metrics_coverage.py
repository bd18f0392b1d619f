"""Over 200 simulated benchmarks of 60 families each, every metric's default 95 % interval covers 90 to 99 %."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.metrics import fast, robust
from tasks.metrics.bootstrap import family_draws
from tasks.metrics.calibration import Planted, gaussian_values
from tasks.metrics.intervals import DEFAULT_METHODS, icc_f_interval, interval

METRICS = ("mad", "drift_sd", "icc_a1", "spr", "discriminability", "human_mae", "human_spearman", "icc_a1_cluster")
FAMILIES, SIMULATIONS, DRAWS = 60, 200, 1_000
SHIFTS = (0.0, *(0.3 * (np.random.default_rng(7).normal(size=20) + 0.5)).tolist())
ICLR, TENS = (1.0, 3.0, 5.0, 6.0, 8.0, 10.0), tuple(float(v) for v in range(1, 11))


def limits(y: np.ndarray, human: np.ndarray, seed: int) -> dict[str, tuple[float, float]]:
    weights = family_draws(FAMILIES, DRAWS, seed)
    kernels = fast.robust_kernels(y, human)
    kernels["icc_a1_cluster"] = kernels["icc_a1"]
    found = {}
    for name in METRICS:
        method = DEFAULT_METHODS[name]
        one = icc_f_interval(robust.mean_squares(y)) if method == "f" else interval(kernels[name], weights, method)
        assert one.low is not None and one.high is not None, (name, one.reason)
        found[name] = (one.low, one.high)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("planted", [
    Planted(shifts=SHIFTS), Planted(shifts=SHIFTS, scale=ICLR),
    Planted(gain=0.5, noise_sd=1.0, shifts=SHIFTS, scale=TENS),
], ids=["real scores", "ICLR scale", "noisy, 1 to 10"])
def test_intervals_cover_the_population_value(planted: Planted) -> None:
    true = planted.simulated(families=200_000, seed=99)
    if planted.scale is None:
        true |= gaussian_values(planted)
    true["icc_a1_cluster"] = true["icc_a1"]
    generator = np.random.default_rng(2026)
    hits = dict.fromkeys(METRICS, 0)
    for at in range(SIMULATIONS):
        for name, (low, high) in limits(*planted.draw(FAMILIES, generator), seed=at).items():
            hits[name] += low <= true[name] <= high
    coverage = {name: count / SIMULATIONS for name, count in hits.items()}
    assert all(0.90 <= share <= 0.99 for share in coverage.values()), coverage


@pytest.mark.slow
def test_stratified_families_are_why_the_cluster_interval_is_there() -> None:
    """Families spread evenly: the F interval assumes normal ones and covers too much, the cluster interval does not."""
    planted = Planted(family_sd=2.0, uniform=True, shifts=SHIFTS, scale=ICLR)
    true = planted.simulated(families=200_000, seed=99)["icc_a1"]
    generator, hits, widths = np.random.default_rng(5), 0, []
    for _ in range(SIMULATIONS):
        y, _ = planted.draw(FAMILIES, generator)
        cluster = interval(fast.icc_kernel(y), family_draws(FAMILIES, 50), "jackknife_t")
        f = icc_f_interval(robust.mean_squares(y))
        assert None not in (cluster.low, cluster.high, f.low, f.high)
        hits += cluster.low <= true <= cluster.high
        widths.append((f.high - f.low) / (cluster.high - cluster.low))
    assert 0.90 <= hits / SIMULATIONS <= 0.99
    assert np.median(widths) > 1.2
