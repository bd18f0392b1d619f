"""Phantom judges of preference pairs: which answer each prefers is planted, so that what the pipeline recovers can be
checked.

    leaning = skill + Normal(0, 1) fixed by question and phantom            (towards the better answer)
    margin  = leaning, turned towards A, + position + sum of susceptibility x cue + crowd + musing
    verdict = A when the margin is positive, else B

A susceptibility is positive when it draws towards what the injection favours, negative when the phantom shuns it: a
bias turned round. Here belong the phantoms and the pure functions of their preference; the wire is
``phantom_pair_wire``.

A phantom knows which of two answers is better from the answer book of the demonstration pairs, where an answer is known
by words that rewriting leaves alone. Other questions have a planted better answer that only chance connects with a
file's labels.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from hashlib import blake2b
from importlib import resources
from statistics import NormalDist
from typing import Any, Final

from pydantic import Field

from storage.keys import content_hash
from storage.pairs import Presentation
from storage.records import Record
from tasks.models.cues import ANSWER_CUES, crowd, cues, muses

SIGNATURE_WORDS: Final = 14
"""Words by which the book knows an answer."""
_WORD = re.compile(r"[a-z]{5,}")
_NORMAL = NormalDist()
_AGAINST: Final = frozenset({"gender", "race"})
"""Cues put on the better answer, so that a susceptible judge turns away from it."""


def _name_of(question: str) -> str:
    return content_hash(" ".join(question.split()).lower()).removeprefix("sha256:")[:16]


def book_of(pairs: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, list[str]]]:
    """The answer book of some pairs: by question, words of the better and of the worse answer that the other lacks.

    Args:
        pairs: records with ``question``, ``response1``, ``response2``, ``label``.
    """
    book: dict[str, dict[str, list[str]]] = {}
    for pair in pairs:
        other = "response2" if pair["label"] == "response1" else "response1"
        better, worse = (_WORD.findall(pair[side].lower()) for side in (pair["label"], other))
        book[_name_of(pair["question"])] = {
            "better": [word for word in dict.fromkeys(better) if word not in worse][:SIGNATURE_WORDS],
            "worse": [word for word in dict.fromkeys(worse) if word not in better][:SIGNATURE_WORDS],
        }
    return book


@cache
def _book() -> dict[str, dict[str, list[str]]]:
    file = resources.files("tasks.models") / "data" / "pair_answers.json"
    book: dict[str, dict[str, list[str]]] = json.loads(file.read_text("utf-8"))
    return book


def _number(*parts: str) -> int:
    joined = "\x00".join(parts).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(joined, digest_size=8).digest(), "big")


def _unit(*parts: str) -> float:
    return (_number(*parts) + 0.5) / 2**64


@lru_cache(maxsize=16384)
def is_better(question: str, answer: str) -> bool:
    """Whether the answer is the better one, by the book; of other questions, whether chance planted it so."""
    known = _book().get(_name_of(question))
    if known is None:
        return _unit("better", question, answer) > 0.5
    words = set(_WORD.findall(answer.lower()))
    shares = {side: sum(word in words for word in known[side]) / max(len(known[side]), 1) for side in known}
    return shares["better"] > shares["worse"]


class PairPhantom(Record):
    """One phantom judge of pairs. All parameters are planted truth, in standard deviations of its own leaning."""

    name: str
    title: str
    skill: float
    """The normal quantile of its accuracy without any bias: 1.28 is right nine times in ten."""
    position: float = 0.0
    """Added to whatever is called A."""
    susceptibility: dict[str, float] = Field(default_factory=dict)
    """By bias; see the module's first lines for the sign."""
    is_drilled: bool = False
    """Deaf to the common injections' words, as if debiased against exactly these."""
    unparsed: float = Field(default=0.0, ge=0, le=1)
    """Share of prompts that it answers without a verdict."""
    step: float = 0.0
    """Single answers are scored in such steps; coarse ones give ties. 0 is without steps."""

    def leaning(self, question: str) -> float:
        """How much it leans towards the better answer of a question, before any bias."""
        return self.skill + _NORMAL.inv_cdf(_unit("leaning", self.name, question))

    def towards(self, shown: Presentation) -> float:
        """What biases add to the margin of A, position included."""
        first, second = cues(shown.first, self.is_drilled), cues(shown.second, self.is_drilled)
        total = self.position
        for bias, weight in self.susceptibility.items():
            if bias in ANSWER_CUES:
                total += weight * (first[bias] - second[bias]) * (-1 if bias in _AGAINST else 1)
        favoured = crowd(shown.after or "", self.is_drilled)
        if favoured is not None:
            total += self.susceptibility.get("bandwagon", 0.0) * (1 if favoured == "A" else -1)
        if muses(shown.between or "", self.is_drilled):
            total -= self.susceptibility.get("superficial_reflection", 0.0)
        return total

    def prefers_first(self, shown: Presentation) -> bool:
        """The preference: fixed by the question and what is shown, never by chance of its own."""
        side = 1 if is_better(shown.question, shown.first) else -1
        return side * self.leaning(shown.question) + self.towards(shown) > 0

    def is_silent(self, shown: Presentation) -> bool:
        """Whether it gives no verdict on this prompt."""
        return self.unparsed > 0 and _unit("silent", self.name, shown.text) < self.unparsed

    def score(self, question: str, answer: str) -> float:
        """The score of a single answer: half the leaning towards it, and its cues; in steps where it has them."""
        found = cues(answer, self.is_drilled)
        value = (0.5 if is_better(question, answer) else -0.5) * self.leaning(question)
        for bias, weight in self.susceptibility.items():
            if bias in ANSWER_CUES:
                value += weight * found[bias] * (-1 if bias in _AGAINST else 1)
        return round(value / self.step) * self.step if self.step else value

    def chances(self, better_first: bool, towards: float) -> float:
        """The probability, over questions, that it is right when biases add ``towards`` to the margin of A."""
        return _NORMAL.cdf(self.skill + (towards if better_first else -towards))


def _all(names: Iterable[str], weight: float) -> dict[str, float]:
    return dict.fromkeys(names, weight)


_NINE = ANSWER_CUES
_EVERY = (*ANSWER_CUES, "bandwagon", "superficial_reflection")
PAIR_PHANTOMS: dict[str, PairPhantom] = {
    phantom.name: phantom
    for phantom in (
        PairPhantom(name="phantom-pair-even", title="Even-handed", skill=1.6),
        PairPhantom(name="phantom-pair-crowd", title="Follows crowd and authority", skill=1.2,
                    susceptibility={"bandwagon": 2.2, "authority": 1.6, "superficial_reflection": 0.8}),
        PairPhantom(name="phantom-pair-stylist", title="Loves style", skill=1.1, susceptibility={
            **_all(("beauty", "assertiveness", "sycophancy", "sentiment", "concreteness"), 1.4), "length": 1.0}),
        PairPhantom(name="phantom-pair-first", title="Takes the first", skill=1.0, position=1.1),
        PairPhantom(name="phantom-pair-prejudiced", title="Looks at who speaks", skill=1.3,
                    susceptibility={"gender": 1.8, "race": 2.2}),
        PairPhantom(name="phantom-pair-reverser", title="Shuns every cue", skill=0.4,
                    susceptibility=_all((*_NINE, "bandwagon"), -2.5)),
        PairPhantom(name="phantom-pair-drilled", title="Debiased against known cues", skill=1.3, is_drilled=True,
                    susceptibility={**_all(_EVERY, 1.6), "length": 0.0}),
        PairPhantom(name="phantom-pair-mumbler", title="Often without a verdict", skill=1.2, unparsed=0.2,
                    susceptibility={"length": 0.8}),
        PairPhantom(name="phantom-pair-reward", title="Reward, fond of length and figures", skill=1.2,
                    susceptibility={"length": 1.2, "concreteness": 1.5, "race": 0.6}),
        PairPhantom(name="phantom-pair-rater", title="Rater with coarse steps", skill=1.3, step=1.0,
                    susceptibility={"beauty": 1.5, "sycophancy": 1.0}),
        PairPhantom(name="phantom-verifier-a", title="Careful verifier", skill=1.9),
        PairPhantom(name="phantom-verifier-b", title="Second verifier", skill=1.6),
        PairPhantom(name="phantom-verifier-c", title="Verifier with a taste for length", skill=1.4,
                    susceptibility={"length": 0.8}),
    )
}
