"""The shape that the robustness metrics work on: families by settings, for one configuration.

Only the containers. Reading anyone's frame into them is ``scores.py``; the numbers are ``robust.py`` and ``fast.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Grid:
    """Scores of one configuration: ``y[i, k]`` for family i under setting k; column 0 is the original.

    A missing cell is NaN here, and only here: no NaN ever leaves ``tasks.metrics``. ``null`` holds the null arm
    (repeats of the original) with the original as its column 0, or is None when no null-arm setting was scored.
    """

    families: tuple[str, ...]
    versions: tuple[str, ...]
    y: Floats
    human: Floats
    null_versions: tuple[str, ...] = ()
    null: Floats | None = None


@dataclass(frozen=True)
class Point:
    """A point estimate: ``value`` is None exactly when ``reason`` says why; ``n`` is what it averages over."""

    value: float | None
    n: int
    reason: str | None = None
    flags: tuple[str, ...] = ()


def complete_rows(y: Floats) -> NDArray[np.bool_]:
    """Which families have a score under every setting (shape: families)."""
    return np.asarray(~np.isnan(y).any(axis=1))
