"""The AI Scientist's reviewer: an ensemble, a meta-review over it, and reflections that may replace the review.

Rebuilt from a description of its release, with the published recipe as the default: five reviews, five rounds. Numbers
of the meta-review are replaced by rounded means; its words and its decision stay. The released code sends its round
counters unfilled and fails when a reflection holds no JSON.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from storage.records import Call, Record
from storage.vocabulary import Outcome
from tasks.judge.cells import Cell, Scoring
from tasks.judge.native.reviewer import Options, Reviewer, Scored, Session, Stopped, fenced_paper, says, step
from tasks.judge.protocol import Bench
from tasks.judge.wording import shipped_script
from tasks.models.asks import Ask, Message

ENSEMBLE_TEMPERATURE = 0.75
BOUNDS: dict[str, tuple[int, int]] = {
    "Originality": (1, 4), "Quality": (1, 4), "Clarity": (1, 4), "Significance": (1, 4), "Soundness": (1, 4),
    "Presentation": (1, 4), "Contribution": (1, 4), "Overall": (1, 10), "Confidence": (1, 5),
}
"""The numeric fields of the form and their limits."""
DONE = "I am done"
_FENCED = re.compile(r"```json(.*?)```", re.S)
_BRACED = re.compile(r"\{.*?\}", re.S)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

Review = dict[str, Any]


class ShownExample(Record):
    """A paper with its review, shown before the paper that is judged."""

    paper: str
    review: str


class ScientistOptions(Options):
    """Settings of the AI Scientist's reviewer."""

    ensemble: int = Field(default=5, ge=1, le=32)
    reflections: int = Field(default=5, ge=1, le=16)
    """Rounds in all: one less than this many further turns."""
    stance: Literal["neg", "base", "pos"] = "neg"
    """What the system prompt asks for when the reviewer is unsure."""
    shots: int = Field(default=1, ge=0, le=3)
    """Examples shown, of those the user supplies."""
    fewshot: str | None = None
    """JSON list of ``{paper, review}``; none is shipped."""

    @model_validator(mode="after")
    def _readable(self) -> ScientistOptions:
        self.examples()
        return self

    def examples(self) -> list[ShownExample]:
        """The examples that are shown.

        Raises:
            ValueError: when the text is no such list.
        """
        if self.fewshot is None:
            return []
        given = json.loads(self.fewshot)
        if not isinstance(given, list):
            raise ValueError("fewshot: needs a list of papers with reviews")
        return [ShownExample.model_validate(each) for each in given][: self.shots]


def extract(answer: str) -> Review | None:
    """The JSON of an answer: the first fenced block that loads, else the first braces, also without control marks."""
    candidates = _FENCED.findall(answer) or _BRACED.findall(answer)
    for candidate in candidates:
        for text in (candidate.strip(), _CONTROL.sub("", candidate).strip()):
            try:
                value = json.loads(text)
            except ValueError:
                continue
            if isinstance(value, dict):
                return value
    return None


def _number(value: Any) -> float | None:
    """A finite number; strings, booleans and lists are none."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) else None


def aggregated(meta: Review, reviews: Sequence[Review], *, is_native: bool) -> Review:
    """The meta-review with each number replaced by the rounded mean of those within their limits (half to even).

    Args:
        meta: the meta-review, or the first review where there is none.
        reviews: the ensemble's.
        is_native: whether a field that no review fills ends the review, as released.

    Raises:
        Stopped: for such a field.
    """
    made = dict(meta)
    for name, (low, high) in BOUNDS.items():
        numbers = [_number(review.get(name)) for review in reviews]
        legal = [number for number in numbers if number is not None and low <= number <= high]
        if legal:
            made[name] = round(sum(legal) / len(legal))
        elif is_native:
            raise Stopped(Outcome.unparsable, f"no_{name.lower()}_in_any_review")
    return made


def scored(review: Review, flags: Sequence[str]) -> Scored:
    """The scores of the final review.

    Raises:
        Stopped: when it has no overall score within its limits.
    """
    overall = _number(review.get("Overall"))
    if overall is None:
        raise Stopped(Outcome.unparsable, "no_overall")
    if not 1 <= overall <= 10:
        raise Stopped(Outcome.out_of_range, "out_of_range")
    scores, more = {"overall": overall}, list(flags)
    for name, (low, high) in BOUNDS.items():
        value = _number(review.get(name))
        if name != "Overall" and value is not None and low <= value <= high:
            scores[name.lower()] = value
    decision = review.get("Decision")
    if decision in ("Accept", "Reject"):
        scores["decision"] = float(decision == "Accept")
    else:
        more.append("no_decision")
    return Scored(scores=scores, flags=more)


class AIScientist(Reviewer):
    """Ensemble, meta-review, reflections: up to ``ensemble + 1 + reflections - 1`` calls."""

    name = "ai_scientist"
    options_type = ScientistOptions
    options: ScientistOptions
    script = shipped_script("tasks.judge.native", "ai_scientist")
    reads = "markdown"
    faults: ClassVar[str] = "round counters go unfilled; a reflection without JSON, or a number no review has, ends it"
    output_tokens = (4000, 8000, 30000)
    prompt_chars = 10 * sum(map(len, script.parts.values()))

    @property
    def calls_per_cell(self) -> int:  # type: ignore[override]
        """At most."""
        ensemble = self.options.ensemble
        return ensemble + (ensemble > 1) + self.options.reflections - 1

    @property
    def papers_per_cell(self) -> int:  # type: ignore[override]
        """In every call but the meta-review."""
        return self.options.ensemble + self.options.reflections - 1

    def parameters(self, scoring: Scoring) -> dict[str, Any]:  # noqa: ARG002 - the protocol's interface
        """The recipe's; reviews of an ensemble are drawn at a temperature of their own."""
        return {"temperature": 0.1, "max_tokens": 4096, "seed": 0}

    def notes(self) -> dict[str, str]:
        """Also what examples are shown."""
        shown = len(self.options.examples())
        said = f"{shown} supplied" if shown else "none: the released ones are not shipped"
        return super().notes() | {"examples": said}

    def _draw(self, bench: Bench, cell: Cell, draw: int) -> Ask:
        """One review of the ensemble. One request with n answers becomes n requests, told apart by their seeds."""
        size = self.options.ensemble
        changed = {"temperature": ENSEMBLE_TEMPERATURE} if size > 1 else {}
        return step(bench, cell, self._opening(bench, cell), changed=changed, draw=draw, draws=size)

    def _opening(self, bench: Bench, cell: Cell) -> tuple[Message, ...]:
        script, stance = self.script, self.options.stance
        extra = "" if stance == "base" else f" {script['Unsure ' + stance]}"
        shots = "".join(f"\n\n{script['Example']}\n\n{each.paper}\n\n{script['Example review']}\n\n{each.review}"
                        for each in self.options.examples())
        before = says(bench, "user", f"{script['Form']}\n\n{script['Format']}{shots}\n\n{script['Paper']}\n\n")
        paper = before.model_copy(update={"parts": (*before.parts, *fenced_paper(bench, cell))})
        return says(bench, "system", self.system() + extra), paper

    def first_ask(self, bench: Bench, cell: Cell) -> Ask:
        """The first review of the ensemble."""
        return self._draw(bench, cell, 0)

    def foreseen(self, bench: Bench, cell: Cell) -> list[Ask]:
        """The other reviews: their words are known from the start."""
        return [self._draw(bench, cell, draw) for draw in range(1, self.options.ensemble)]

    async def review(self, session: Session) -> Scored:
        """The whole flow."""
        first = session.bench.first_asks[session.cell.key]
        answers = [await self._drawn(session, first.messages, draw) for draw in range(self.options.ensemble)]
        reviews = [found for answer in answers if (found := extract(answer)) is not None]
        if not reviews:
            raise Stopped(Outcome.unparsable, "no_valid_review")
        flags = [] if len(reviews) == len(answers) else [f"reviews_{len(reviews)}"]
        if self.options.ensemble == 1:
            final, said = reviews[0], answers[0]
        else:
            meta = await self._meta(session, reviews)
            flags += [] if meta is not None else ["no_meta_review"]
            final = aggregated(meta if meta is not None else reviews[0], reviews, is_native=self.is_native)
            said = f"{self.script['Aggregate']}\n\n```json\n{json.dumps(final)}\n```"
        return scored(*await self._reflected(session, (*first.messages, session.says("assistant", said)), final, flags))

    async def _drawn(self, session: Session, opening: Sequence[Message], draw: int) -> str:
        size = self.options.ensemble
        changed = {"temperature": ENSEMBLE_TEMPERATURE} if size > 1 else {}
        call: Call = await session.ask(opening, changed=changed, draw=draw, draws=size)
        return call.answer or ""

    async def _meta(self, session: Session, reviews: Sequence[Review]) -> Review | None:
        """The area chair's summary of the ensemble: it sees the reviews and not the paper."""
        system = self.script.filled("Chair", reviewers=len(reviews))
        texts = map(json.dumps, reviews)
        shown = "".join(f"\n\nReview {place}:\n```json\n{text}\n```" for place, text in enumerate(texts, 1))
        words = f"{self.script['Form']}\n\n{self.script['Format']}{shown}"
        call = await session.ask((session.says("system", system), session.says("user", words)))
        return extract(call.answer or "")

    async def _reflected(
        self, session: Session, history: tuple[Message, ...], final: Review, flags: list[str]
    ) -> tuple[Review, list[str]]:
        """The review after the further rounds, each of which may replace it."""
        rounds = self.options.reflections
        for current in range(2, rounds + 1):
            words = self.script["Reflect"]
            if not self.is_native:
                words = self.script.filled("Reflect", current_round=current, num_reflections=rounds)
            history = (*history, session.says("user", words))
            answer = (await session.ask(history)).answer or ""
            history = (*history, session.says("assistant", answer))
            found = extract(answer)
            if found is not None:
                final = found
            elif self.is_native:
                raise Stopped(Outcome.unparsable, "reflection_without_json")
            else:
                flags = [*flags, "reflection_without_json"]
            if DONE in answer:
                break
        return final, flags
