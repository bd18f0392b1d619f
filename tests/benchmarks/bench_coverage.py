"""How often the 95 % intervals hold the true value: simulated benchmarks with planted judges, every metric.

    .venv/bin/python tests/benchmarks/bench_coverage.py [SIMULATIONS] [DRAWS]

One row a judge and size: share of simulated benchmarks whose interval contains the population value (closed form, or a
simulation of 200,000 families). The binomial error of 200 simulations at 0.95 is 0.015.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import time

import numpy as np

from tasks.metrics import fast, robust
from tasks.metrics.bootstrap import family_draws
from tasks.metrics.calibration import Planted, gaussian_values
from tasks.metrics.intervals import DEFAULT_METHODS, Interval, icc_f_interval, interval

METRICS = ("mad", "drift_sd", "icc_a1", "icc_a1_cluster", "spr", "discriminability", "human_mae", "human_spearman")
TENS = tuple(float(v) for v in range(1, 11))
ICLR = (1.0, 3.0, 5.0, 6.0, 8.0, 10.0)


def shifts(size: float, seed: int = 7) -> tuple[float, ...]:
    """The original's 0 and twenty condition effects about size / 2."""
    return (0.0, *(size * (np.random.default_rng(seed).normal(size=20) + 0.5)).tolist())


JUDGES: dict[str, Planted] = {
    "steady": Planted(),
    "swayed": Planted(shifts=shifts(0.3)),
    "swayed, 1-10": Planted(shifts=shifts(0.3), scale=TENS),
    "swayed, ICLR": Planted(shifts=shifts(0.3), scale=ICLR),
    "noisy": Planted(gain=0.5, noise_sd=1.2, shifts=shifts(0.3)),
    "noisy, 1-10": Planted(gain=0.5, noise_sd=1.0, shifts=shifts(0.3), scale=TENS),
    "moody, 1-10": Planted(noise_sd=0.5, interaction_sd=0.6, shifts=shifts(0.3), scale=TENS),
    "much swayed": Planted(shifts=shifts(1.0)),
    "strata, ICLR": Planted(family_sd=2.0, uniform=True, shifts=shifts(0.3), scale=ICLR),
    "almost flat, ICLR": Planted(mean=6.0, family_sd=0.4, noise_sd=0.4, shifts=shifts(0.1), scale=ICLR),
}


def truth(planted: Planted) -> dict[str, float]:
    """Population values: exact where there is a closed form."""
    values = planted.simulated(families=200_000, seed=99)
    if planted.scale is None and not planted.interaction_sd and not planted.uniform:
        values |= gaussian_values(planted)
    return values | {"icc_a1_cluster": values["icc_a1"]}


def limits(y: np.ndarray, human: np.ndarray, weights: np.ndarray) -> dict[str, Interval]:
    """The default interval of every metric."""
    kernels = fast.robust_kernels(y, human)
    kernels["icc_a1_cluster"] = kernels["icc_a1"]
    return {
        name: icc_f_interval(robust.mean_squares(y)) if DEFAULT_METHODS[name] == "f"
        else interval(kernels[name], weights, DEFAULT_METHODS[name])
        for name in METRICS
    }


def coverage(planted: Planted, families: int, simulations: int, draws: int, seed: int) -> dict[str, float]:
    """Share of simulated benchmarks whose interval holds the population value."""
    true, generator = truth(planted), np.random.default_rng(seed)
    hits = dict.fromkeys(METRICS, 0)
    for at in range(simulations):
        y, human = planted.draw(families, generator)
        for name, found in limits(y, human, family_draws(families, draws, seed + at)).items():
            hits[name] += found.low is not None and found.high is not None and found.low <= true[name] <= found.high
    return {name: count / simulations for name, count in hits.items()}


def main() -> None:
    """Prints the table."""
    simulations, draws = (int(v) for v in [*sys.argv[1:3], "200", "1000"][:2]) if len(sys.argv) != 2 else (
        int(sys.argv[1]), 1000)
    print(f"{simulations} simulated benchmarks a row, {draws} draws, 21 versions; defaults: "
          + ", ".join(f"{name} {DEFAULT_METHODS[name]}" for name in METRICS))
    print(f"{'judge':20}{'families':>9}" + "".join(f"{name:>17}" for name in METRICS))
    for families in (60, 38):
        for row, (name, planted) in enumerate(JUDGES.items()):
            began = time.perf_counter()
            found = coverage(planted, families, simulations, draws, seed=1_000_000 * (1 + row) + families)
            print(f"{name:20}{families:>9}" + "".join(f"{found[metric]:>17.3f}" for metric in METRICS)
                  + f"   {time.perf_counter() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
