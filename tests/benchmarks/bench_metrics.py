"""How fast the metrics are: the RobustReview table, the style and the bias documents, each with 5,000 paired draws.

    .venv/bin/python tests/benchmarks/bench_metrics.py

Prints CPU and wall seconds and, measured in the same run, the CPU ratio to a literal loop over draws, which is timed
on a few draws and scaled up. Small matrix products do not gain from threads, so BLAS is held to one.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time
from collections.abc import Callable

import numpy as np
import polars as pl

from tasks.metrics import robust
from tasks.metrics.assemble import robust_results
from tasks.metrics.bias import VERDICTS, bias_json
from tasks.metrics.bootstrap import family_draws
from tasks.metrics.style_frame import DIMENSIONS, VARIANTS
from tasks.metrics.style_results import style_json

DRAWS = 5_000
CONFIGURATIONS, FAMILIES, VERSIONS = 30, 60, 21


def robust_scores() -> tuple[pl.DataFrame, dict[str, float], np.ndarray]:
    """Half of the configurations on a 1-10 scale, half with real scores."""
    generator = np.random.default_rng(0)
    y = generator.normal(5, 1.5, (CONFIGURATIONS, FAMILIES, 1)) + generator.normal(
        0, 0.7, (CONFIGURATIONS, FAMILIES, VERSIONS))
    y[::2] = np.clip(np.rint(y[::2]), 1, 10)
    labels = ["original", *[f"c{k // 2}/p{k % 2}" for k in range(VERSIONS - 1)]]
    c, i, k = (index.ravel() for index in np.indices(y.shape))
    frame = pl.DataFrame({"configuration": [f"m{v:02}" for v in c], "family": [f"f{v:02}" for v in i],
                          "version": [labels[v] for v in k], "score": y.ravel()})
    return frame, {f"f{v:02}": float(s) for v, s in enumerate(generator.normal(5, 1.5, FAMILIES))}, y


def literal_draw(y: np.ndarray, human: np.ndarray, picks: np.ndarray) -> None:
    """The seven metrics of one configuration and draw by their definitions, discriminability as a loop."""
    drawn, target = y[picks], human[picks]
    for function in (robust.mad, robust.drift_sd, robust.icc_a1, robust.spr):
        function(drawn)
    robust.human_mae(drawn, target)
    robust.human_spearman(drawn, target)
    n, k = drawn.shape
    for a in range(n):
        for b in range(k):
            within = np.round(np.abs(drawn[a, b] - np.delete(drawn[a], b)), 12)
            between = np.round(np.abs(drawn[a, b] - np.delete(drawn, np.flatnonzero(picks == picks[a]), axis=0)), 12)
            np.sum(within[:, None] < between.ravel()) + np.sum(within[:, None] == between.ravel()) / 2


def style_scores(judges: int, ideas: int) -> pl.DataFrame:
    """All variants and dimensions, whole scores."""
    generator = np.random.default_rng(1)
    dimensions = [*DIMENSIONS, "overall"]
    shape = (judges, ideas, len(VARIANTS), len(dimensions))
    scores = np.clip(np.rint(generator.normal(6, 1.5, shape)), 1, 10)
    j, i, v, d = (index.ravel() for index in np.indices(shape))
    return pl.DataFrame({"configuration": j, "idea": i, "variant": np.array(VARIANTS)[v],
                         "dimension": np.array(dimensions)[d], "score": scores.ravel()})


def bias_verdicts(judges: int, items: int) -> pl.DataFrame:
    """Twelve biases, one an item."""
    generator = np.random.default_rng(2)
    j, i = (index.ravel() for index in np.indices((judges, items)))
    words = np.array(VERDICTS)
    return pl.DataFrame({"configuration": j, "item": i, "bias": np.char.add("bias", (i % 12).astype(str)),
                         "original": words[generator.choice(3, j.size, p=[0.7, 0.25, 0.05])],
                         "injected": words[generator.choice(3, j.size, p=[0.5, 0.45, 0.05])]})


def seconds(function: Callable[[], object]) -> tuple[float, float]:
    """CPU and wall time of one call; CPU first, so that the least disturbed of several calls is the smallest."""
    began, cpu = time.perf_counter(), time.process_time()
    function()
    return time.process_time() - cpu, time.perf_counter() - began


def main() -> None:
    """Prints the table."""
    frame, human, y = robust_scores()
    small = frame.filter(pl.col("configuration") == "m00")
    robust_results(small, human, draws=50)
    taken = min(seconds(lambda: robust_results(frame, human, draws=DRAWS)) for _ in range(3))
    target = np.array(list(human.values()))
    picks = np.random.default_rng(3).integers(0, FAMILIES, (2, FAMILIES))
    loop, _ = seconds(lambda: [literal_draw(y[c], target, pick) for c in (0, 1) for pick in picks])
    whole = loop / 4 * DRAWS * CONFIGURATIONS
    verdicts, style = bias_verdicts(18, 4504), style_scores(6, 600)
    rows = {
        "robust: 30 x 60 x 21, all intervals": taken,
        "bias: 18 judges x 4,504 items": seconds(lambda: bias_json(verdicts, draws=DRAWS)),
        "style: 6 judges x 600 ideas x 15 variants x 6": seconds(lambda: style_json(style, draws=DRAWS)),
        "drawing 60 families": seconds(lambda: family_draws(FAMILIES, DRAWS)),
    }
    print(f"{f'{DRAWS} draws':50}{'CPU s':>10}{'wall s':>10}")
    for name, (cpu, wall) in rows.items():
        print(f"{name:50}{cpu:>10.3f}{wall:>10.3f}")
    print(f"literal loop for robust: {whole:,.0f} CPU s, {whole / taken[0]:,.0f} times as long")


if __name__ == "__main__":
    main()
