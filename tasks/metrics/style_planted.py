"""What planted scores of idea phantoms imply for SciStyleBench's numbers: fresh noise, many times, and the mean.

Beside the recovered values these say whether the pipeline measures what is there. Only the simulation belongs here; the
numbers are those of ``style.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tasks.metrics import style
from tasks.metrics.grid import Floats
from tasks.metrics.style_frame import (
    ADVERSARIAL_PAIRS,
    DIMENSIONS,
    ENRICHED_PAIRS,
    SUBSTANCE_PAIRS,
    StyleGrid,
)

SIMULATIONS = 200
PAIRS = {"srr": SUBSTANCE_PAIRS, "awr": ADVERSARIAL_PAIRS, "awr_enriched": ENRICHED_PAIRS}


def planted(
    expected: Floats, noise_sd: float, snap: Callable[[Floats], Floats], same: Sequence[tuple[int, int, int]] = (),
    *, simulations: int = SIMULATIONS, seed: int = 42,
) -> dict[str, float | None]:
    """The means of the headline numbers over fresh noise.

    Args:
        expected: Ideas x 15 variants x 6 (the dimensions and overall) before noise and scale; NaN where not judged.
        noise_sd: SD of the noise of every score.
        snap: Numbers to the nearest legal scores.
        same: (idea, variant, other variant) whose texts are equal: one question, one answer, no noise between them.
        simulations: How often.
        seed: Of the noise.

    Returns:
        ``sbi``, ``sbi_plain``, ``sbi_net``, ``adr``, ``srr``, ``awr``, ``awr_enriched`` -> mean, None where undefined.
    """
    rng = np.random.default_rng(seed)
    found: dict[str, list[float]] = {}
    for _ in range(simulations):
        noise = rng.normal(0.0, noise_sd, size=expected.shape) if noise_sd > 0 else np.zeros_like(expected)
        for idea, one, two in same:
            noise[idea, two] = noise[idea, one]
        scores = np.where(np.isnan(expected), np.nan, snap(np.nan_to_num(expected + noise)))
        count = len(DIMENSIONS)
        ideas = tuple(map(str, range(expected.shape[0])))
        grid = StyleGrid("planted", "", ideas, scores[:, :, :count], scores[:, :, count])
        for name, function in style.HEADLINES.items():
            _note(found, name, function(grid)[0].value)
        for name, pairs in PAIRS.items():
            _note(found, name, style.win_rates(grid, pairs)["wins"][0].value)
    names = (*style.HEADLINES, *PAIRS)
    return {name: float(np.mean(found[name])) if found.get(name) else None for name in names}


def _note(found: dict[str, list[float]], name: str, value: float | None) -> None:
    if value is not None:
        found.setdefault(name, []).append(value)
