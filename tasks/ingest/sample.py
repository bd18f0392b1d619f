"""Stratified sampling of families by their human scores.

Which families are drawn depends on the seed, the names and the scores alone: not on their order, the platform, or
what other families there are in other strata.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from storage.errors import InputError


@dataclass(frozen=True)
class Stratum:
    """One stratum: its edges, how many were wanted and are there, and who was drawn."""

    low: float
    high: float
    wanted: int
    available: int
    drawn: tuple[str, ...]

    @property
    def shortfall(self) -> int:
        """How many are lacking."""
        return max(self.wanted - self.available, 0)


@dataclass(frozen=True)
class Sampled:
    """A sample: the drawn families sorted by name, its strata, and who could not be drawn."""

    families: tuple[str, ...]
    strata: tuple[Stratum, ...]
    outside: tuple[str, ...] = field(default=())
    """Families whose score lies in no stratum."""
    unscored: tuple[str, ...] = field(default=())


def sample(
    families: Sequence[str],
    scores: Mapping[str, float],
    *,
    strata: Sequence[float],
    per_stratum: int,
    seed: int,
) -> Sampled:
    """Draw families from each stratum.

    Args:
        families: names that can be drawn.
        scores: mean human score by name.
        strata: edges; ``[a, b)`` each, the last one closed.
        per_stratum: how many from each; where there are fewer, all are taken and the shortfall is in the result.
        seed: of the draw.

    Raises:
        InputError: edges that do not rise.
    """
    edges = list(strata)
    if len(edges) < 2 or any(low >= high for low, high in itertools.pairwise(edges)):
        raise InputError(f"sample.strata: the edges {edges} must rise, and be two at least")
    names = sorted(set(families))
    made: list[Stratum] = []
    for place, (low, high) in enumerate(itertools.pairwise(edges)):
        is_last = place == len(edges) - 2
        inside = [
            name
            for name in names
            if name in scores and (low <= scores[name] < high or (is_last and scores[name] == high))
        ]
        drawn = sorted(inside, key=lambda name: lot(seed, name))[:per_stratum]
        made.append(Stratum(low, high, per_stratum, len(inside), tuple(sorted(drawn))))
    outside = tuple(name for name in names if name in scores and not edges[0] <= scores[name] <= edges[-1])
    unscored = tuple(name for name in names if name not in scores)
    return Sampled(tuple(sorted(name for stratum in made for name in stratum.drawn)), tuple(made), outside, unscored)


def lot(seed: int, name: str) -> bytes:
    """A family's lot: drawn in the order of lots, which the seed and the name alone decide."""
    return hashlib.sha256(f"{seed}\x00{name}".encode()).digest()
