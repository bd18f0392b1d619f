"""ICC(A,1) against pingouin, and the cases where an agreement is undefined or looks odd (B117, B118, B120)."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pingouin
import pytest

from tasks.metrics import robust
from tasks.metrics.intervals import icc_f_interval

ROW = "ICC(A,1)"


def reference(y: np.ndarray) -> tuple[float, np.ndarray]:
    n, k = y.shape
    long = pd.DataFrame({"t": np.repeat(np.arange(n), k), "r": np.tile(np.arange(k), n), "s": y.ravel()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = pingouin.intraclass_corr(long, targets="t", raters="r", ratings="s")
    rows = table[table["Type"] == ROW]
    assert len(rows) == 1, f"pingouin has no row {ROW}: {list(table['Type'])}"
    return float(rows["ICC"].iloc[0]), np.asarray(rows["CI95"].iloc[0], dtype=float)


@pytest.mark.parametrize("seed", range(12))
def test_value_and_f_interval_are_pingouins(seed: int) -> None:
    generator = np.random.default_rng(seed)
    n, k = int(generator.integers(3, 40)), int(generator.integers(2, 22))
    y = generator.normal(5, generator.uniform(0, 2), (n, 1)) + generator.normal(0, 1, (n, k))
    y += generator.normal(0, 0.5, k)
    if seed % 2:
        y = np.rint(y)
    value, limits = reference(y)
    found = robust.icc_a1(y)
    assert found.value == pytest.approx(value, abs=1e-9)
    interval = icc_f_interval(robust.mean_squares(y))
    # pingouin rounds its limits to two decimals.
    assert [interval.low, interval.high] == pytest.approx(limits, abs=5.1e-3)
    assert interval.method == "f"


def test_published_example() -> None:
    """Shrout & Fleiss (1979), six targets and four judges: ICC(2,1) = 0.29, interval 0.019 to 0.761."""
    y = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float)
    assert robust.icc_a1(y).value == pytest.approx(0.2897638, abs=1e-6)
    interval = icc_f_interval(robust.mean_squares(y))
    assert interval.low == pytest.approx(0.0188, abs=1e-3) and interval.high == pytest.approx(0.7611, abs=1e-3)


def test_absolute_agreement_not_consistency() -> None:
    value = robust.icc_a1(np.array([[1, 3], [4, 6], [7, 9], [2, 4]], dtype=float)).value
    assert value is not None and 0 < value < 1


@pytest.mark.parametrize(("cells", "value", "why"), [
    ([[6, 6]] * 3, None, "no variance"),
    ([[1, 1], [2, 2], [3, 3]], 1.0, "no residual variance"),
    ([[0.1, 0.1], [0.2, 0.2], [0.7, 0.7]], 1.0, "no residual variance"),
    ([[5, 7]] * 3, 0.0, "no residual variance"),
    ([[1, 9], [9, 1], [5, 5]], -3.0, "no family variance"),
])
def test_perfect_and_total_agreement(cells: list[list[float]], value: float | None, why: str) -> None:
    y = np.array(cells, dtype=float)
    found = robust.icc_a1(y)
    interval = icc_f_interval(robust.mean_squares(y))
    assert found.value == (None if value is None else pytest.approx(value, abs=1e-12))
    assert interval.low is None and interval.high is None
    assert why in (found.reason or interval.reason or "")
