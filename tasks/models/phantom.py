"""Phantom judges: calibration instruments, not language models, whose truth is planted and known.

A phantom scores from the text it is given: a latent quality fixed by the paper's protected content, plus its planted
sensitivities to rhetoric, plus planted noise, on its planted scale. Here belong the thirty phantoms and the pure
functions of scoring; how they are reached is ``phantom_transport``, what they read is ``evidence`` and ``rhetoric``.

    latent   = level + spread x (sqrt(w) x evidence index + sqrt(1 - w) x fingerprint)
    expected = latent + sum of sensitivity x (rate - usual rate)
    score    = nearest value of the scale to expected + Normal(0, noise_sd)
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from hashlib import blake2b
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from storage.records import Record
from tasks.models import rhetoric
from tasks.models.evidence import Evidence, evidence, fingerprint, index
from tasks.models.scales import ICLR, TEN, TENTHS, Scale

USUAL_RATES: dict[str, float] = {"novelty": 0.3, "scope": 0.5, "evidence": 0.3, "contribution": 0.25, "register": 0.5,
                                 "complexity": 0.4}
"""Markers per 100 words in an ordinary paper. Constants, so they move a phantom's level and nothing else."""


class Reading(NamedTuple):
    """What any phantom can see in one text."""

    evidence_index: float
    evidence: Evidence
    features: dict[str, float]


class _Readings:
    """The last texts that were read: thirty phantoms read the same version one after another."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: OrderedDict[bytes, Reading] = OrderedDict()
        self._lock = threading.Lock()
        self._last: tuple[str, Reading] | None = None

    def __call__(self, text: str) -> Reading:
        last = self._last
        # One request reads its paper several times; hashing 40 KB each time would cost more than the rest.
        if last is not None and last[0] is text:
            return last[1]
        reading = self._found(text)
        self._last = (text, reading)
        return reading

    def _found(self, text: str) -> Reading:
        name = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        with self._lock:
            if name in self._kept:
                self._kept.move_to_end(name)
                return self._kept[name]
        found = evidence(text)
        reading = Reading(index(found), found, rhetoric.features(text))
        with self._lock:
            self._kept[name] = reading
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)
        return reading


read = _Readings(2048)
"""The reading of a text, remembered for the last 2,048 texts (some kilobytes each)."""


def _number(*parts: str | int) -> int:
    """A 64-bit number fixed by the parts."""
    joined = "\x00".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(joined, digest_size=8).digest(), "big")


class Phantom(Record):
    """One phantom judge. All parameters are planted truth, in rating points unless said otherwise."""

    name: str
    title: str
    protocol: str
    """The protocol it is meant to be asked with; its scale is that protocol's."""
    level: float
    """Expected score of an ordinary paper."""
    spread: float
    """SD of the latent quality over papers."""
    evidence_weight: float = 0.7
    """Share of that variance that comes from the evidence index; the rest is the phantom's own taste."""
    sensitivities: dict[str, float] = Field(default_factory=dict)
    """Rating points for one more marker per 100 words, by feature of ``rhetoric.RHETORIC``."""
    noise_sd: float
    scale: Scale

    def latent(self, text: str) -> float:
        """The quality that protected content alone implies: the same for every wording of a paper."""
        reading = read(text)
        own = fingerprint(reading.evidence, _number(self.name))
        taste = self.evidence_weight**0.5 * reading.evidence_index + (1.0 - self.evidence_weight) ** 0.5 * own
        return self.level + self.spread * taste

    def shift(self, features: dict[str, float]) -> float:
        """What rhetoric adds; only the difference between two versions matters."""
        return sum(weight * (features[name] - USUAL_RATES[name]) for name, weight in self.sensitivities.items())

    def expected(self, text: str) -> float:
        """The score of a text before noise and scale."""
        return self.latent(text) + self.shift(read(text).features)

    def score(self, expected: float, noise_seed: int) -> float:
        """Give the score: expected value and the noise that the seed fixes, on the phantom's scale."""
        unit = (noise_seed % 2**64 + 0.5) / 2**64
        noise = NormalDist().inv_cdf(min(max(unit, 1e-12), 1 - 1e-12)) * self.noise_sd
        return float(self.scale.snap(np.asarray([expected + noise]))[0])

    def noise_seed(self, prompt: str, repeat: int) -> int:
        """The seed of one answer: other phantoms, prompts and repeats have other noise."""
        return _number("noise", self.name, prompt, repeat)

    def simulate(self, expected: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
        """Scores of a whole table of expected values, with fresh noise: what the planted parameters imply."""
        return self.scale.snap(expected + rng.normal(0.0, self.noise_sd, size=expected.shape))

    def probabilities(self, expected: float) -> dict[float, float]:
        """How likely each value of the scale is."""
        if self.noise_sd <= 0:
            return {float(self.scale.snap(np.asarray([expected]))[0]): 1.0}
        points = self.scale.points
        spread = NormalDist(expected, self.noise_sd)
        cuts = [0.0, *(spread.cdf(float(cut)) for cut in (points[:-1] + points[1:]) / 2), 1.0]
        return {float(point): cuts[place + 1] - cuts[place] for place, point in enumerate(points)}


EVERYTHING = dict.fromkeys(rhetoric.RHETORIC, 0.30)
COARSE = Scale(name="iclr-coarse", values=(3, 6, 8))


class _Temper(NamedTuple):
    """What three phantoms of one kind share; the protocols change it as they change a real judge."""

    title: str
    level: float
    spread: float
    sensitivities: dict[str, float]
    noise_sd: float
    scale: Scale = ICLR
    evidence_weight: float = 0.7


_TEMPERS = (
    _Temper("steady and discriminating", 5.6, 1.9, {"evidence": 0.05}, 0.45),
    _Temper("moved by any rhetoric", 5.8, 1.4, EVERYTHING, 0.6),
    _Temper("moved by novelty claims only", 5.7, 1.6, {"novelty": 0.9}, 0.5),
    _Temper("noisy but unmoved", 5.5, 1.5, {}, 1.8),
    _Temper("collapsed onto one score", 6.0, 0.08, {"scope": 0.02}, 0.12),
    _Temper("three scores only", 5.7, 1.8, {"contribution": 0.3, "evidence": 0.2}, 0.7, COARSE),
    _Temper("put off by inflation", 5.9, 1.7, {"novelty": -0.5, "scope": -0.4, "evidence": -0.3}, 0.6),
    _Temper("impressed by hard words", 5.4, 1.3, {"register": 0.5, "complexity": 0.6}, 0.8, ICLR, 0.4),
)
"""Eight kinds, as there are eight general models."""

_PROTOCOLS = {"standard": (0.0, 1.0, 1.0), "strict": (-1.2, 1.1, 0.8), "persistent": (-0.4, 1.0, 0.35)}
"""Protocol -> (added to the level, factor of the spread, factor of the sensitivities)."""

_SPECIAL: tuple[tuple[str, str, float, float, dict[str, float], float, Scale, float], ...] = (
    ("fine scale, steady", "decimal", 5.5, 1.5, {"evidence": 0.1}, 0.25, TENTHS, 0.8),
    ("fine scale, moved by scope and contribution", "decimal", 5.9, 1.2, {"scope": 0.6, "contribution": 0.6}, 0.4,
     TENTHS, 0.6),
    ("fine scale, all taste and no evidence", "decimal", 5.5, 1.4, {}, 0.4, TENTHS, 0.0),
    ("ten points, evidence only", "rating", 5.5, 2.0, {}, 0.5, TEN, 1.0),
    ("ten points, moved by confident evidence framing", "rating", 5.2, 1.5, {"evidence": 0.8}, 0.9, TEN, 0.7),
    ("ten points, pure noise", "rating", 5.5, 0.0, {}, 1.6, TEN, 0.7),
)
"""Six more, as there are three specialised and three agentic reviewers."""


def _thirty() -> dict[str, Phantom]:
    made: list[Phantom] = []
    for temper in _TEMPERS:
        for protocol, (level, spread, moved) in _PROTOCOLS.items():
            made.append(Phantom(
                name=f"phantom-{len(made) + 1:02}", title=f"{temper.title} ({protocol})", protocol=protocol,
                level=temper.level + (0.0 if temper.spread < 0.1 else level), spread=temper.spread * spread,
                evidence_weight=temper.evidence_weight, noise_sd=temper.noise_sd, scale=temper.scale,
                sensitivities={name: round(weight * moved, 6) for name, weight in temper.sensitivities.items()},
            ))
    for title, protocol, level, spread, sensitivities, noise_sd, scale, weight in _SPECIAL:
        made.append(Phantom(
            name=f"phantom-{len(made) + 1:02}", title=title, protocol=protocol, level=level, spread=spread,
            evidence_weight=weight, sensitivities=sensitivities, noise_sd=noise_sd, scale=scale,
        ))
    return {phantom.name: phantom for phantom in made}


PHANTOMS: dict[str, Phantom] = _thirty()
"""The thirty phantom judges by name; the name is the model that a request asks for."""
