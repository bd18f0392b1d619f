"""Judges with known errors: what each metric should come to, to stand beside what was recovered.

Two questions. For families that are there (``implied``): the mean of each metric over fresh noise, given every
version's expected score. For a population of families (``Planted``): closed forms for Gaussian scores, a large
simulation for quantised ones; this is what an interval has to cover.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from tasks.metrics import robust
from tasks.metrics.grid import Floats, Point

Snap = Callable[[Floats], Floats]
REPLICATES = 200
_CHUNK = 200
"""Families for which discriminability is computed at once in a large simulation; its mean over chunks is unbiased."""


def quantiser(scale: Sequence[float] | None) -> Snap:
    """What takes scores to the nearest value of a scale (the lower of two); None leaves them as they are."""
    if scale is None:
        return lambda scores: scores
    points = np.asarray(sorted(scale), dtype=float)
    middles = (points[1:] + points[:-1]) / 2
    return lambda scores: np.where(np.isnan(scores), np.nan, points[np.searchsorted(middles, scores, side="left")])


def _points(y: Floats, human: Floats | None) -> dict[str, Point]:
    found = {"mad": robust.mad(y), "drift_sd": robust.drift_sd(y), "icc_a1": robust.icc_a1(y), "spr": robust.spr(y),
             "discriminability": robust.discriminability(y)}
    if human is not None:
        found["human_mae"] = robust.human_mae(y, human)
        found["human_spearman"] = robust.human_spearman(y, human)
    return found


def implied(
    expected: Floats,
    noise_sd: float,
    snap: Snap | Sequence[float] | None = None,
    human: Floats | None = None,
    *,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> dict[str, float | None]:
    """What the planted parameters imply for these families and versions: each metric's mean over fresh noise.

    Args:
        expected: Score of every family (rows) and version (columns, original first) before noise and scale; NaN where
            there is no such version.
        noise_sd: SD of the independent Gaussian noise of every cell.
        snap: From noisy scores to the judge's scale, as a function or as the scale's values; None for real scores.
        human: Human scores by family (NaN where missing).
        replicates: Fresh noises to average over.
        seed: Of the noise.

    Returns:
        A value by metric, None where over half of the replicates leave it undefined.
    """
    generator = np.random.default_rng(seed)
    to_scale: Snap = snap if callable(snap) else quantiser(snap)
    gathered: dict[str, list[float]] = {}
    for _ in range(replicates):
        scores = to_scale(expected + generator.normal(0.0, noise_sd, expected.shape))
        for name, point in _points(np.where(np.isnan(expected), np.nan, scores), human).items():
            values = gathered.setdefault(name, [])
            if point.value is not None:
                values.append(point.value)
    return {name: float(np.mean(v)) if len(v) > replicates / 2 else None for name, v in gathered.items()}


def implied_by_parts(
    latents: Floats, shifts: Floats, noise_sd: float, scale: Sequence[float] | None = None,
    human: Floats | None = None, *, replicates: int = REPLICATES, seed: int = 0,
) -> dict[str, float | None]:
    """``implied`` from a latent value for each family and a shift for each version.

    Args:
        latents: Shape: families.
        shifts: Shape: versions, or families x versions; the original comes first (its shift is usually 0).
        noise_sd: SD of the noise.
        scale: The values a score can take; None for real scores.
        human: Human scores by family.
        replicates: Fresh noises to average over.
        seed: Of the noise.
    """
    return implied(latents[:, None] + np.atleast_2d(shifts), noise_sd, scale, human, replicates=replicates, seed=seed)


@dataclass(frozen=True)
class Planted:
    """A judge and a population of families with known parameters: y = family + shift + interaction + noise."""

    family_sd: float = 1.5
    noise_sd: float = 0.7
    shifts: tuple[float, ...] = (0.0,) * 21
    """By version, the original first."""
    interaction_sd: float = 0.0
    """SD of a family's own response to being rewritten (the same for all its variants)."""
    human_sd: float = 0.6
    """SD of the human score about the family's value."""
    mean: float = 5.0
    gain: float = 1.0
    """How much of a family's difference from the mean the judge sees."""
    uniform: bool = False
    """Families spread evenly (as in a stratified sample) instead of normally."""
    scale: tuple[float, ...] | None = None

    def draw(self, families: int, generator: np.random.Generator) -> tuple[Floats, Floats]:
        """Scores (families x versions) and human scores of a fresh benchmark."""
        unit = generator.uniform(-1, 1, families) * math.sqrt(3) if self.uniform else generator.normal(size=families)
        quality = self.mean + self.family_sd * unit
        human = quality + generator.normal(0.0, self.human_sd, families)
        shifts = np.asarray(self.shifts)
        response = np.zeros((families, shifts.size))
        response[:, 1:] = generator.normal(0.0, self.interaction_sd, families)[:, None]
        noise = generator.normal(0.0, self.noise_sd, (families, shifts.size))
        seen = self.mean + self.gain * (quality - self.mean)
        return quantiser(self.scale)(seen[:, None] + shifts + response + noise), human

    def simulated(self, *, families: int = 100_000, seed: int = 0) -> dict[str, float]:
        """The population value of every metric from a large simulation."""
        y, human = self.draw(families, np.random.default_rng(seed))
        values = {name: point.value for name, point in _points(y[:_CHUNK], human[:_CHUNK]).items()}
        for name, function in (("mad", robust.mad), ("drift_sd", robust.drift_sd), ("icc_a1", robust.icc_a1),
                               ("spr", robust.spr)):
            values[name] = function(y).value
        values["human_mae"] = robust.human_mae(y, human).value
        values["human_spearman"] = robust.human_spearman(y, human).value
        starts = range(0, min(families, 100 * _CHUNK), _CHUNK)
        chunks = [robust.discriminability(y[at:at + _CHUNK]).value for at in starts]
        values["discriminability"] = float(np.mean([chunk for chunk in chunks if chunk is not None]))
        return {name: value for name, value in values.items() if value is not None}


def gaussian_icc(family_variance: float, shifts: Sequence[float], noise_variance: float) -> float:
    """ICC(A,1) of y = family + shift + noise: the settings' variance is that of the shifts, with ddof 1."""
    total = family_variance + float(np.var(shifts, ddof=1)) + noise_variance
    return family_variance / total


def gaussian_discriminability(icc: float) -> float:
    """Discriminability of Gaussian scores without condition effects, exact.

    Per unit of total variance the within-difference W has variance 2 (1 - ICC), the between-difference B has 2, and as
    both contain the score y[i,k] their covariance is 1 - ICC. W / B is then Cauchy with location r c and width
    r sqrt(1 - c^2), where r = sqrt(1 - ICC) and c = r / 2; the value is its probability within (-1, 1).
    """
    if icc >= 1:
        return 1.0
    r = math.sqrt(1 - icc)
    width, middle = r * math.sqrt(1 - r**2 / 4), r**2 / 2
    return (math.atan((1 - middle) / width) + math.atan((1 + middle) / width)) / math.pi


def independent_discriminability(icc: float) -> float:
    """(2 / pi) arctan sqrt(1 / (1 - ICC)): the same if the two distances shared no score.

    The form often quoted. It agrees with the exact one at 0.5 and 1 and lies up to 0.007 below it between.
    """
    return 1.0 if icc >= 1 else 2 / math.pi * math.atan(math.sqrt(1 / (1 - icc)))


def gaussian_spr(family_variance: float, shifts: Sequence[float], noise_variance: float) -> float:
    """SPR of y = family + shift + noise: V = family + noise variance, D = 2 noise variance + mean squared shift."""
    drift = 2 * noise_variance + float(np.mean(np.square(np.asarray(shifts[1:]) - shifts[0])))
    signal = family_variance + noise_variance
    return signal / (signal + drift) if signal + drift > 0 else 0.0


def gaussian_mad(shifts: Sequence[float], noise_variance: float) -> float:
    """MAD of y = family + shift + noise: the mean of folded normals with variance 2 x noise."""
    d = np.asarray(shifts[1:]) - shifts[0]
    if noise_variance == 0:
        return float(np.mean(np.abs(d)))
    spread = math.sqrt(2 * noise_variance)
    return float(np.mean(stats.foldnorm.mean(np.abs(d) / spread) * spread))


def gaussian_drift_sd(shifts: Sequence[float], noise_variance: float) -> float:
    """Drift SD of y = family + shift + noise."""
    return math.sqrt(2 * noise_variance + float(np.var(np.asarray(shifts[1:]) - shifts[0])))


def gaussian_values(planted: Planted) -> Mapping[str, float]:
    """Closed forms for real-valued scores without interaction; discriminability only where no shift differs."""
    if planted.scale is not None or planted.interaction_sd or planted.uniform:
        raise ValueError("closed forms are for Gaussian families, real scores and no interaction")
    family, noise = (planted.gain * planted.family_sd) ** 2, planted.noise_sd**2
    icc = gaussian_icc(family, planted.shifts, noise)
    found = {"mad": gaussian_mad(planted.shifts, noise), "drift_sd": gaussian_drift_sd(planted.shifts, noise),
             "icc_a1": icc, "spr": gaussian_spr(family, planted.shifts, noise)}
    if len(set(planted.shifts)) == 1:
        found["discriminability"] = gaussian_discriminability(icc)
    return found
