"""How often the 95 % intervals hold the true value: simulated benchmarks with planted judges, every metric and method.

    .venv/bin/python tests/benchmarks/bench_coverage.py [--simulations N] [--draws B] [--write FILE]

One row a judge and size: share of simulated benchmarks whose interval contains the population value (closed form, or a
simulation of 200,000 families). Every metric gets its own default interval and, beside it, the percentile, the BCa and
the studentised one (bootstrap t where the kernel has standard errors, else Student limits of jackknife pseudo-values).
``--write tasks/report/data/coverage.json`` stores the whole table for the report's methods section. The binomial error
of 500 simulations at 0.95 is 0.010.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import platform
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tasks.metrics import fast, robust
from tasks.metrics.bootstrap import family_draws
from tasks.metrics.calibration import Planted, gaussian_mad, gaussian_values
from tasks.metrics.grid import Floats
from tasks.metrics.intervals import DEFAULT_METHODS, Interval, icc_f_interval, interval

METRICS = ("mad", "drift_sd", "icc_a1", "icc_a1_cluster", "spr", "discriminability", "human_mae", "human_mae_isotonic",
           "human_spearman", "excess_mad")
FAMILIES = (60, 38)
REPEATS = 3
"""Repeats of the original in the null arm, for the excess drift."""
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


class Draw(NamedTuple):
    """One simulated benchmark; ``null`` is None where a family's response would be in the null arm too."""

    y: Floats
    human: Floats
    null: Floats | None


def draw(planted: Planted, families: int, generator: np.random.Generator) -> Draw:
    """Scores, human scores, and repeats of the original with the original as first column."""
    if planted.interaction_sd:
        return Draw(*planted.draw(families, generator), None)
    size = len(planted.shifts)
    y, human = replace(planted, shifts=(*planted.shifts, *(0.0,) * REPEATS)).draw(families, generator)
    return Draw(y[:, :size], human, y[:, [0, *range(size, size + REPEATS)]])


def truth(planted: Planted) -> dict[str, float]:
    """Population values: exact where there is a closed form. ``human_mae_isotonic`` has none: see ``Case``."""
    values = planted.simulated(families=200_000, seed=99)
    if planted.scale is None and not planted.interaction_sd and not planted.uniform:
        values |= gaussian_values(planted)
        values["excess_mad"] = values["mad"] - gaussian_mad((0.0, 0.0), planted.noise_sd**2)
    elif not planted.interaction_sd:
        large = draw(planted, 200_000, np.random.default_rng(98))
        rewrites, repeats = (robust.mad(part).value for part in (large.y, large.null) if part is not None)
        values["excess_mad"] = (rewrites or 0.0) - (repeats or 0.0)
    return values | {"icc_a1_cluster": values["icc_a1"]}


def kernels(found: Draw) -> dict[str, fast.Kernel]:
    """The kernel of every metric that this draw has."""
    out = fast.robust_kernels(found.y, found.human)
    out["human_mae_isotonic"] = fast.mean_kernel(robust.human_residuals(found.y, found.human))
    out["icc_a1_cluster"] = out["icc_a1"]
    if found.null is not None:
        out["excess_mad"] = fast.excess_kernel(found.y, found.null)
    return {name: out[name] for name in METRICS if name in out}


def methods_of(metric: str, kernel: fast.Kernel) -> list[str]:
    """The default first, then what it is measured against."""
    studentised = "jackknife_t" if kernel.moments is None else "bootstrap_t"
    return list(dict.fromkeys([DEFAULT_METHODS[metric], "percentile", "bca", studentised]))


def limits(found: Draw, weights: Floats) -> Iterator[tuple[str, str, float, Interval]]:
    """Metric, method, estimate and interval of one simulated benchmark."""
    ones = np.ones((1, weights.shape[1]))
    for metric, kernel in kernels(found).items():
        drawn, point = kernel.value(weights), float(kernel.value(ones)[0])
        for method in methods_of(metric, kernel):
            if method == "f":
                yield metric, method, point, icc_f_interval(robust.mean_squares(found.y))
            else:
                yield metric, method, point, interval(kernel, weights, method, drawn)


class Case(NamedTuple):
    """A judge at a size, and the figures of a metric's method there.

    ``truth`` is the population value; of ``human_mae_isotonic``, whose map is fitted to just these families, it is the
    mean over the simulated benchmarks.
    """

    judge: str
    families: int
    metric: str
    method: str
    truth: float
    simulations: int
    covered: int
    too_low: int
    """Intervals that end below the true value."""
    too_high: int
    without: int
    """Simulated benchmarks without an interval; they count as not covered."""
    mean_width: float | None


def measure(name: str, families: int, simulations: int, draws: int, seed: int) -> list[Case]:
    """Every metric and method of one judge at one size."""
    planted = JUDGES[name]
    true, generator = truth(planted), np.random.default_rng(seed)
    points: dict[str, list[float]] = {}
    ends: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for at in range(simulations):
        benchmark = draw(planted, families, generator)
        seen = set()
        for metric, method, point, found in limits(benchmark, family_draws(families, draws, seed + at)):
            low, high = (np.nan if end is None else end for end in (found.low, found.high))
            ends.setdefault((metric, method), []).append((low, high))
            if metric not in seen:
                points.setdefault(metric, []).append(point)
            seen.add(metric)
    true["human_mae_isotonic"] = float(np.nanmean(points["human_mae_isotonic"]))
    return [_case(name, families, key, np.asarray(pairs), true[key[0]]) for key, pairs in ends.items()]


def _case(name: str, families: int, key: tuple[str, str], pairs: Floats, true: float) -> Case:
    low, high = pairs.T
    there = ~(np.isnan(low) | np.isnan(high))
    width = float(np.mean(high[there] - low[there])) if there.any() else None
    return Case(name, families, *key, round(true, 6), len(pairs), int(np.sum((low <= true) & (true <= high))),
                int(np.sum(high < true)), int(np.sum(low > true)), int(np.sum(~there)),
                None if width is None else round(width, 5))


def document(cases: list[Case], asked: argparse.Namespace, seconds: float) -> dict[str, Any]:
    """What is stored: how it was made, the judges, one row a case."""
    simulations, draws = asked.simulations, asked.draws
    return {
        "schema_version": 1,
        "command": f"python tests/benchmarks/bench_coverage.py --simulations {simulations} --draws {draws} "
                   f"--write {asked.write}",
        "date": datetime.now(UTC).date().isoformat(),
        "simulations": simulations, "draws": draws, "level": 0.95, "settings": len(Planted().shifts),
        "null_repeats": REPEATS, "seconds": round(seconds),
        "seeds": {f"{name} / {families}": seed_of(name, families) for families in FAMILIES for name in JUDGES},
        "versions": {"python": platform.python_version(), "evenhand": version("evenhand"), "numpy": version("numpy"),
                     "scipy": version("scipy")},
        "defaults": {metric: DEFAULT_METHODS[metric] for metric in METRICS},
        "judges": {name: {**asdict(planted), "kind": "continuous" if planted.scale is None else "quantised"}
                   for name, planted in JUDGES.items()},
        "columns": list(Case._fields),
        "rows": [list(case) for case in cases],
    }


def as_text(made: dict[str, Any]) -> str:
    """JSON with one line a row, so that a new measurement is a readable difference."""
    head = json.dumps({key: value for key, value in made.items() if key != "rows"}, indent=1)
    rows = ",\n".join("  " + json.dumps(row) for row in made["rows"])
    return f'{head.removesuffix("}").rstrip()},\n "rows": [\n{rows}\n ]\n}}\n'


def seed_of(name: str, families: int) -> int:
    """The seed of a case's scores; its n-th benchmark takes family draws from this seed plus n."""
    return 1_000_000 * (1 + list(JUDGES).index(name)) + families


def main() -> None:
    """Prints the table; writes it when asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--write", type=Path)
    asked = parser.parse_args()
    print(f"{asked.simulations} simulated benchmarks a row, {asked.draws} draws, 21 versions; defaults: "
          + ", ".join(f"{name} {DEFAULT_METHODS[name]}" for name in METRICS))
    print(f"{'judge':20}{'families':>9}" + "".join(f"{name:>19}" for name in METRICS))
    cases, began = [], time.perf_counter()
    for families in FAMILIES:
        for name in JUDGES:
            since = time.perf_counter()
            found = measure(name, families, asked.simulations, asked.draws, seed_of(name, families))
            chosen = {case.metric: case.covered / case.simulations for case in found
                      if case.method == DEFAULT_METHODS[case.metric]}
            figures = "".join(f"{chosen[metric]:>19.3f}" if metric in chosen else f"{'-':>19}" for metric in METRICS)
            print(f"{name:20}{families:>9}{figures}   {time.perf_counter() - since:.0f} s", flush=True)
            cases += found
    if asked.write:
        made = document(cases, asked, time.perf_counter() - began)
        asked.write.write_text(as_text(made), encoding="utf-8")


if __name__ == "__main__":
    main()
