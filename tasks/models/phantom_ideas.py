"""Phantom judges of ideas: calibration instruments whose biases for style, sense of substance and use of literature are
planted.

    score[d] = level + taste[d] + substance[d] + style[d] x sobriety + literature[d] + Normal(0, noise_sd), on 1 to 10

Taste is fixed by the idea's title, substance by what the text holds that could be checked, style by its persuasive
words. Literature beside the idea, being asked to think about style, or a style signal make some phantoms sober: their
style effects shrink. Here belong the phantoms and the pure functions of scoring; the wire is ``phantom_idea_wire``.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from statistics import NormalDist
from typing import Final, NamedTuple

import numpy as np
from pydantic import Field

from storage.ideas import parts_of
from storage.records import Record
from tasks.models.idea_cues import STYLES, Cues, idea_cues
from tasks.models.scales import TEN, Scale

DIMENSIONS: Final = ("novelty", "feasibility", "significance", "rigor", "clarity")
OVERALL: Final = "overall"
_NORMAL: Final = NormalDist()

STYLE_EFFECT: Final[dict[str, tuple[float, ...]]] = {
    "verbose": (0.0, 0.3, 0.3, 0.8, -0.4), "grand": (0.6, 0.1, 1.2, 0.2, 0.2),
    "overconfident": (0.3, 1.1, 0.5, 0.7, 0.4), "novelty": (1.5, 0.1, 0.6, 0.1, 0.1),
    "application": (0.1, 0.7, 1.0, 0.2, 0.3),
}
"""Points on each dimension for a whole style and a susceptibility of 1."""
_HOLLOW: Final = (-1.0, -1.4, -1.0, -2.2, -0.6)
_FLAWED: Final = (-0.3, -1.0, -0.6, -2.4, -0.5)
_RIGOROUS: Final = (0.4, 0.9, 0.6, 1.8, 0.3)


class Circumstances(NamedTuple):
    """What a prompt shows or asks besides the idea."""

    literature: bool = False
    reflects: bool = False
    """Asked to think about the influence of style first."""
    deviation: float = 0.0
    """By the style signal, if there is one."""


class IdeaPhantom(Record):
    """One phantom judge of ideas. All parameters are planted truth, in points of the scale unless said otherwise."""

    name: str
    title: str
    level: float = 5.5
    spread: float = 1.2
    """SD of its taste over ideas, on each dimension."""
    substance: float = 1.0
    """How much it sees of what is hollow, flawed or rigorous: 1 is all of it."""
    style: dict[str, float] = Field(default_factory=dict)
    """Susceptibility by style."""
    literature: dict[str, float] = Field(default_factory=dict)
    """Added to a dimension when literature stands beside the idea."""
    sober_by_literature: float = 1.0
    """Factor of all style effects when literature stands beside the idea."""
    sober_by_reflection: float = 0.9
    sober_by_signal: float = 0.3
    """Factor when a style signal reports a whole deviation; nearer to 1 for smaller ones."""
    noise_sd: float = 0.5
    scale: Scale = TEN

    def expected(self, text: str, circumstances: Circumstances) -> dict[str, float]:
        """The scores of a text before noise and scale: ``DIMENSIONS`` and ``overall``."""
        cues, moved = idea_cues(text), self._style(idea_cues(text), circumstances)
        change = np.asarray(moved) + self.substance * np.asarray(_substance(cues))
        taste = [self.spread * _fingerprint(self.name, name, _title(text)) for name in DIMENSIONS]
        shown = [self.literature.get(name, 0.0) if circumstances.literature else 0.0 for name in DIMENSIONS]
        values = self.level + np.asarray(taste) + change + np.asarray(shown)
        found = dict(zip(DIMENSIONS, map(float, values), strict=True))
        # The mean of what was added, not of the scores: an overall impression has a taste of its own.
        own = self.spread * _fingerprint(self.name, OVERALL, _title(text))
        found[OVERALL] = self.level + own + float(np.mean(change)) * 1.2 + float(np.mean(shown))
        return found

    def _style(self, cues: Cues, circumstances: Circumstances) -> list[float]:
        sobriety = 1.0
        if circumstances.literature:
            sobriety *= self.sober_by_literature
        if circumstances.reflects:
            sobriety *= self.sober_by_reflection
        sobriety *= 1.0 - (1.0 - self.sober_by_signal) * min(max(circumstances.deviation, 0.0), 1.0)
        doses = [(self.style.get(name, 0.0) * cues.style[name], STYLE_EFFECT[name]) for name in STYLES]
        return [sobriety * sum(dose * effect[place] for dose, effect in doses) for place in range(len(DIMENSIONS))]

    def scores(self, text: str, circumstances: Circumstances, prompt: str, repeat: int) -> dict[str, float]:
        """The scores given: expected values with the noise that prompt and repeat fix, on the scale."""
        found = {}
        for name, value in self.expected(text, circumstances).items():
            noise = self.noise_sd * _gauss("noise", self.name, name, prompt, str(repeat))
            found[name] = float(self.scale.snap(np.asarray([value + noise]))[0])
        return found


def _substance(cues: Cues) -> list[float]:
    parts = ((cues.hollow, _HOLLOW), (cues.flawed, _FLAWED), (cues.rigorous, _RIGOROUS))
    return [sum(dose * effect[place] for dose, effect in parts) for place in range(len(DIMENSIONS))]


def _gauss(*parts: str) -> float:
    joined = "\x00".join(parts).encode("utf-8", "surrogatepass")
    unit = (int.from_bytes(blake2b(joined, digest_size=8).digest(), "big") + 0.5) / 2**64
    return _NORMAL.inv_cdf(min(max(unit, 1e-12), 1 - 1e-12))


@lru_cache(maxsize=16384)
def _fingerprint(phantom: str, dimension: str, title: str) -> float:
    return _gauss("taste", phantom, dimension, title)


@lru_cache(maxsize=16384)
def _title(text: str) -> str:
    return parts_of(text).get("title", text[:80])


_ALL: Final = dict.fromkeys(STYLES, 1.0)
_KNOWS: Final = {"novelty": -0.8, "significance": -0.2}
"""Related work makes an idea look less new."""
IDEA_PHANTOMS: Final[dict[str, IdeaPhantom]] = {
    phantom.name: phantom for phantom in (
        IdeaPhantom(name="idea-phantom-01", title="sees substance, hardly moved by style",
                    style=dict.fromkeys(STYLES, 0.1), literature=_KNOWS, sober_by_literature=0.8),
        IdeaPhantom(name="idea-phantom-02", title="moved by any style, sobered by literature", style=_ALL,
                    substance=0.7, literature=_KNOWS, sober_by_literature=0.5),
        IdeaPhantom(name="idea-phantom-03", title="moved by claims of novelty only", style={"novelty": 1.6},
                    substance=0.8, literature={"novelty": -1.2}, sober_by_literature=0.4),
        IdeaPhantom(name="idea-phantom-04", title="collapsed onto one score", level=6.0, spread=0.05, substance=0.02,
                    noise_sd=0.1),
        IdeaPhantom(name="idea-phantom-05", title="won by persuasion, blind to substance", substance=0.1,
                    style=dict.fromkeys(STYLES, 1.3), sober_by_reflection=1.0, sober_by_signal=0.8),
        IdeaPhantom(name="idea-phantom-06", title="noisy, hears literature and nothing else", substance=0.5,
                    noise_sd=1.5, literature={"novelty": -1.0, "significance": -0.6, "rigor": 0.4}),
    )
}
"""Six judges, as the benchmark has six."""


class IdeaReader(Record):
    """A phantom that reads ideas without judging them: it writes style signals and audits variants."""

    name: str
    title: str
    noise_sd: float = 0.0
    """Of the deviation it reports."""


IDEA_READERS: Final[dict[str, IdeaReader]] = {
    reader.name: reader for reader in (
        IdeaReader(name="phantom-signal", title="sees every style as it is"),
        IdeaReader(name="phantom-extractor", title="sees styles with some error", noise_sd=0.15),
        IdeaReader(name="phantom-auditor", title="knows every variant"),
    )
}


class Seen(NamedTuple):
    """What a reader says of a text."""

    style: str
    """The strongest style, ``hype`` for several, ``none``."""
    deviation: float


def seen(reader: IdeaReader, text: str) -> Seen:
    """The style of a text and its deviation from neutral wording, 0 to 1."""
    cues = idea_cues(text)
    strong = [name for name in STYLES if cues.style[name] >= 0.6]
    style = "hype" if len(strong) > 1 else strong[0] if strong else "none"
    error = reader.noise_sd * _gauss("signal", reader.name, text) if reader.noise_sd else 0.0
    return Seen(style, round(min(max(cues.deviation + error, 0.0), 1.0), 3))


class AuditSeen(NamedTuple):
    """What an auditor says of a text beside its reference."""

    style: str
    substance: str
    style_only: bool


def audited(reference: str, text: str) -> AuditSeen:
    """The style and the change of substance of a text against its reference."""
    before, after = idea_cues(reference), idea_cues(text)
    gained = {name: after.style[name] - before.style[name] for name in STYLES}
    strong = [name for name in STYLES if gained[name] >= 0.5]
    quiet = "none" if text == reference else "paraphrase"
    style = "hype" if len(strong) > 1 else strong[0] if strong else quiet
    if after.hollow - before.hollow >= 0.6:
        substance = "removed"
    elif after.flawed - before.flawed >= 0.5:
        substance = "weakened"
    else:
        substance = "added" if after.rigorous - before.rigorous >= 0.5 else "kept"
    return AuditSeen(style, substance, substance == "kept")
