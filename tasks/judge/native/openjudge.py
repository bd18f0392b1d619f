"""OpenJudge's paper review: graders in stages, each a call of its own; the headline is the review grader's 1 to 6.

Rebuilt from a description of its release: jailbreak and format together, then correctness and review together, then
criticality when correctness found errors. The released reading fills in a middle score where it finds none.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any, ClassVar

from storage.records import Call
from storage.vocabulary import Outcome
from tasks.judge.cells import Cell, Scoring
from tasks.judge.json_objects import find_objects
from tasks.judge.native.reviewer import (
    Options,
    Reviewer,
    Scored,
    Session,
    Stopped,
    fenced_paper,
    says,
    step,
    tolerated,
)
from tasks.judge.protocol import Bench
from tasks.judge.wording import shipped_script
from tasks.models.asks import Ask
from tasks.models.engine import take_any

DEFAULTS = {"review": 3.0, "correctness": 1.0, "criticality": 1.0, "format": 0.0}
_SCORE_OF_SIX = re.compile(r"score\s*[:=]?\s*\**\s*(\d+)\s*/\s*6", re.I)


class JudgeOptions(Options):
    """Settings of OpenJudge."""

    venue: str | None = None
    discipline: str | None = None
    date: str | None = None
    """What the reviewer is told the day is; None: the words leave it out, so that a resumed run asks the same."""


def tagged(answer: str, name: str) -> str | None:
    """The text between the first pair of such tags."""
    found = re.search(rf"<{name}>(.*?)</{name}>", answer, re.S | re.I)
    return None if found is None else found[1].strip()


def _whole(text: str | None, low: int, high: int) -> float | None:
    """A whole number alone, or before the words of its anchor, within its bounds."""
    found = re.match(r"\W*(\d{1,3})(?![\d.,]*\d)", text or "")
    return float(found[1]) if found is not None and low <= int(found[1]) <= high else None


def review_score(answer: str, *, is_native: bool) -> tuple[float, list[str]]:
    """The review grader's score.

    Args:
        answer: what it said.
        is_native: whether a score that is not there becomes 3, as released.

    Raises:
        Stopped: for the fixed reading, when there is none, or it is off the scale.
    """
    stated = tagged(answer, "answer")
    said = _SCORE_OF_SIX.search(answer) if stated is None else None
    text = stated if stated is not None else said[1] if said else None
    value = _whole(text, 1, 6)
    if value is not None:
        return value, []
    if is_native:
        return DEFAULTS["review"], ["default_score"]
    is_off = _whole(text, 0, 999) is not None
    raise Stopped(Outcome.out_of_range if is_off else Outcome.unparsable, "out_of_range" if is_off else "no_answer")


def criticality_score(answer: str) -> float | None:
    """The criticality grader's score: the one field ``score`` of its JSON."""
    for value, _ in find_objects(answer).objects:
        score = value.get("score")
        if isinstance(score, int | float) and not isinstance(score, bool) and 1 <= score <= 3:
            return float(score)
    return None


class OpenJudge(Reviewer):
    """Four calls a paper, five when errors were found."""

    name = "openjudge"
    options_type = JudgeOptions
    options: JudgeOptions
    script = shipped_script("tasks.judge.native", "openjudge")
    scale = "1 to 6"
    faults: ClassVar[str] = "a score that cannot be read is 3 (review), 1 (correctness, criticality) or 0 (format)"
    calls_per_cell = 5
    papers_per_cell = 5
    output_tokens = (1500, 4000, 12000)
    prompt_chars = sum(map(len, script.parts.values()))

    def parameters(self, scoring: Scoring) -> dict[str, Any]:  # noqa: ARG002 - the protocol's interface
        """As released: a temperature, and no cap."""
        return {"temperature": 0.7}

    def _grader(self, bench: Bench, cell: Cell, name: str, extra: str = "") -> Ask:
        system = self.system(name) if name == "Review" else self.script[name]
        if name == "Review":
            system += "".join(f"\n\n{label}: {value}" for label, value in (
                ("Discipline", self.options.discipline), ("Venue", self.options.venue), ("Today", self.options.date),
            ) if value)
        words = says(bench, "user", f"{self.script[name + ' user']}{extra}\n\n")
        shown = words.model_copy(update={"parts": (*words.parts, *fenced_paper(bench, cell))})
        return step(bench, cell, (says(bench, "system", system), shown))

    def first_ask(self, bench: Bench, cell: Cell) -> Ask:
        """The jailbreak grader."""
        return self._grader(bench, cell, "Jailbreak")

    def foreseen(self, bench: Bench, cell: Cell) -> list[Ask]:
        """The graders whose words do not depend on others."""
        return [self._grader(bench, cell, name) for name in ("Format", "Correctness", "Review")]

    async def _graded(self, session: Session, name: str, extra: str = "") -> str:
        accept: Callable[[Call], Outcome] = _accept if name == "Review" and not self.is_native else take_any
        ask = self._grader(session.bench, session.cell, name, extra)
        return (await session.send(ask, accept)).answer or ""

    async def _may_fail(self, session: Session, name: str, flags: list[str], extra: str = "") -> str | None:
        """A grader without which the review goes on, as released."""
        try:
            return await self._graded(session, name, extra)
        except Stopped as stopped:
            flags.append(f"{name.lower()}_{tolerated(stopped)}")
            return None

    async def review(self, session: Session) -> Scored:
        """The stages, in order."""
        flags: list[str] = []
        jailbreak, formatted = await _both(
            self._may_fail(session, "Jailbreak", flags), self._may_fail(session, "Format", flags))
        if (tagged(jailbreak or "", "answer") or "ok").casefold() == "abuse":
            raise Stopped(Outcome.refused, "jailbreak_found")
        scores: dict[str, float] = {}
        self._note(scores, flags, "format", formatted, _whole(tagged(formatted or "", "result"), 0, 1))
        correctness, review = await _both(
            self._may_fail(session, "Correctness", flags), self._graded(session, "Review"))
        self._note(scores, flags, "correctness", correctness, _whole(tagged(correctness or "", "score"), 1, 3))
        scores["overall"], more = review_score(review, is_native=self.is_native)
        if scores.get("correctness", 1.0) > 1:
            said = await self._may_fail(session, "Criticality", flags, _found(scores["correctness"], correctness or ""))
            self._note(scores, flags, "criticality", said, criticality_score(said or ""))
        return Scored(scores=scores, flags=[*flags, *more])

    def _note(
        self, scores: dict[str, float], flags: list[str], name: str, said: str | None, value: float | None
    ) -> None:
        """Takes in a grader's score; one that said nothing has none."""
        if said is None:
            return
        if value is not None:
            scores[name] = value
        elif self.is_native:
            scores[name] = DEFAULTS[name]
            flags.append(f"default_{name}")
        else:
            flags.append(f"no_{name}")


async def _both(first: Any, second: Any) -> tuple[Any, Any]:
    """Two graders at once; a failure of one is raised when both have ended, so that no answer is lost."""
    ended = await asyncio.gather(first, second, return_exceptions=True)
    for result in ended:
        if isinstance(result, BaseException):
            raise result
    return ended[0], ended[1]


def _accept(call: Call) -> Outcome:
    try:
        review_score(call.answer or "", is_native=False)
    except Stopped as stopped:
        return stopped.outcome
    return Outcome.answered


def _found(score: float, said: str) -> str:
    """What correctness found, as the criticality grader is told."""
    return (f"\n\nCorrectness score: {score:g}\n\nReasoning: {tagged(said, 'reasoning') or ''}\n\n"
            f"Key issues:\n{tagged(said, 'key_issues') or ''}")
