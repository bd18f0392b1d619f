"""DeepReviewer: fast, standard and best mode, each a system prompt of its own; best asks the literature first.

Rebuilt from a description of its release. The overall score is the rating of the final review, decimals included;
nothing is aggregated. The released reading never finds the simulated reviewers' ratings, and in best mode takes every
line of the first answer for a question.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar, Literal

from pydantic import Field

from storage.records import Call
from storage.vocabulary import Outcome
from tasks.judge.cells import Cell, Scoring
from tasks.judge.native.reading import FORM_BOUNDS, checked, number, one_number, side_scores, under
from tasks.judge.native.retrieval import Found, retrieve
from tasks.judge.native.reviewer import Options, Reviewer, Scored, Session, Stopped, says, step
from tasks.judge.protocol import Bench
from tasks.judge.wording import shipped_script
from tasks.models.asks import Ask

QUESTIONS = 3
NOTHING_FOUND = "Nothing was found."
_NATIVE_BOX = re.compile(r"\\boxed_review\{(.*?)\n\}", re.S)
_DECIMAL = re.compile(r"\d+(?:\.\d+)?")
_STARS = "**********"


class DeepOptions(Options):
    """Settings of DeepReviewer."""

    mode: Literal["fast", "standard", "best"] = "standard"
    reviewers: int = Field(default=4, ge=1, le=12)
    """Simulated reviewers of standard and best mode."""
    retrieval: str | None = None
    """Of best mode: the address of a retrieval service, or the name of one in this process."""


def boxed(answer: str, name: str) -> list[str]:
    """The contents of every box of that name, braces matched; a box that is never closed is none."""
    found: list[str] = []
    for mark in re.finditer(rf"\\boxed_{name}\{{", answer):
        depth, place = 1, mark.end()
        while depth and place < len(answer):
            depth += {"{": 1, "}": -1}.get(answer[place], 0)
            place += 1
        closing = answer.find("\n}", mark.end())
        if depth == 0:
            found.append(answer[mark.end() : place - 1])
        elif closing >= 0:
            # Braces of formulas may not match: then the box ends where a brace stands alone at a line's beginning.
            found.append(answer[mark.end() : closing])
    return found


def native_questions(answer: str) -> list[str]:
    """The questions as released: every line that is not empty."""
    return [line.strip() for line in answer.splitlines() if line.strip()]


def fixed_questions(answer: str) -> list[str]:
    """The lines in the box of questions, at most three.

    Raises:
        Stopped: when there is no such box.
    """
    boxes = boxed(answer, "questions")
    lines = [line.strip() for line in boxes[0].splitlines() if line.strip()] if boxes else []
    if not lines:
        raise Stopped(Outcome.unparsable, "no_questions")
    return lines[:QUESTIONS]


def native_scores(answer: str) -> dict[str, float]:
    """Rating and decision as released: of the first closed box, by headings that end in a colon.

    Raises:
        Stopped: when there is no rating, or it is off the scale.
    """
    box = _NATIVE_BOX.search(answer)
    rating = re.search(r"## Rating:(.*?)(?=\n## |\Z)", box[1], re.S) if box else None
    value = _DECIMAL.search(rating[1]) if rating else None
    if box is None or value is None:
        raise Stopped(Outcome.unparsable, "no_rating")
    scores = {"overall": checked(float(value.group()), 1, 10)}
    decision = re.search(r"## Decision:\s*\n\s*(\w+)", box[1])
    return scores | ({"decision": float("accept" in decision[1].casefold())} if decision else {})


def simulated_ratings(answer: str) -> list[float]:
    """The ratings of the simulated reviewers, with or without a colon behind their headings."""
    ratings = [number(body) for box in boxed(answer, "simreviewers") for body in under(box, "rating")]
    return [value for value in ratings if value is not None and 1 <= value <= 10]


def fixed_scores(answer: str) -> tuple[dict[str, float], list[str]]:
    """The scores of the last review box, or the mean of the simulated reviewers where it has no rating.

    Raises:
        Stopped: when there is neither.
    """
    boxes = boxed(answer, "review")
    if not boxes:
        raise Stopped(Outcome.unparsable, "no_review_box")
    scores, flags = side_scores(boxes[-1], FORM_BOUNDS)
    try:
        scores["overall"] = checked(one_number(boxes[-1], "rating"), 1, 10)
    except Stopped as stopped:
        ratings = simulated_ratings(answer)
        if stopped.outcome is not Outcome.unparsable or not ratings:
            raise
        scores["overall"] = sum(ratings) / len(ratings)
        flags.append("mean_of_simulated")
    decisions = under(boxes[-1], "decision")
    if decisions:
        scores["decision"] = float("accept" in decisions[0].casefold())
    return scores, flags


class DeepReviewer(Reviewer):
    """One call, or two with the literature between them."""

    name = "deepreviewer"
    options_type = DeepOptions
    options: DeepOptions
    script = shipped_script("tasks.judge.native", "deepreviewer")
    trained_on_a_prompt = True
    reads = "latex"
    faults: ClassVar[str] = "the first box counts, simulated ratings are not read, best mode asks every line"
    output_tokens = (2000, 8000, 35000)
    prompt_chars = len(script["Standard"])

    @property
    def calls_per_cell(self) -> int:  # type: ignore[override]
        """Two in best mode."""
        return 2 if self.options.mode == "best" else 1

    @property
    def papers_per_cell(self) -> int:  # type: ignore[override]
        """In every call."""
        return self.calls_per_cell

    def parameters(self, scoring: Scoring) -> dict[str, Any]:  # noqa: ARG002 - the protocol's interface
        """Sampling as released."""
        return {"temperature": 0.4, "top_p": 0.95, "max_tokens": 35000}

    def first_ask(self, bench: Bench, cell: Cell) -> Ask:
        """The mode's system prompt; the paper alone in the user's turn."""
        words = self.system(self.options.mode.title()).replace("{reviewers}", str(self.options.reviewers))
        return step(bench, cell, (says(bench, "system", words), says(bench, "user", bench.shown(cell))))

    async def review(self, session: Session) -> Scored:
        """One completion, or the questions, the literature and the completion with its answers."""
        accept = None if self.is_native else _accept
        if self.options.mode != "best":
            return self._read(await (session.begin() if accept is None else session.begin(accept)), [])
        first = session.bench.first_asks[session.cell.key]
        asked = await (session.begin() if self.is_native else session.begin(_accept_questions))
        said = asked.answer or ""
        questions = native_questions(said) if self.is_native else fixed_questions(said)
        service = self.options.retrieval
        found = None if service is None else await retrieve(session.bench, service, questions)
        answers = session.says("user", _literature(questions, found))
        messages = (*first.messages, session.says("assistant", said), answers)
        call = await (session.ask(messages) if accept is None else session.ask(messages, accept=accept))
        return self._read(call, [] if found else ["no_retrieval"])

    def _read(self, call: Call, flags: list[str]) -> Scored:
        if self.is_native:
            return Scored(scores=native_scores(call.answer or ""), flags=flags)
        scores, more = fixed_scores(call.answer or "")
        return Scored(scores=scores, flags=[*flags, *more])


def _accept(call: Call) -> Outcome:
    try:
        fixed_scores(call.answer or "")
    except Stopped as stopped:
        return stopped.outcome
    return Outcome.answered


def _accept_questions(call: Call) -> Outcome:
    try:
        fixed_questions(call.answer or "")
    except Stopped as stopped:
        return stopped.outcome
    return Outcome.answered


def _literature(questions: list[str], found: list[Found] | None) -> str:
    """What the literature says, question by question."""
    pieces: list[str] = []
    for place, question in enumerate(questions):
        known = found[place] if found is not None and place < len(found) else None
        answer, passages = (known.answer, known.passages) if known else (NOTHING_FOUND, NOTHING_FOUND)
        heading = f"## Question {place + 1}: {question}"
        pieces.append(f"{heading}\n\n### Retrieved Passages:\n\n{passages}\n\n### Answer:\n\n{answer}\n\n{_STARS}\n")
    return "\n".join(pieces)
