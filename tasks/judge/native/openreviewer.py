"""OpenReviewer: one call with the venue's form, answered by a model that was trained on reviews.

Rebuilt from a description of its release: system and user message, the paper as Markdown up to its references, greedy
decoding. The released reading takes the first digit behind the rating's heading (10 becomes 1), and 5 without one.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from storage.records import Call
from storage.vocabulary import Outcome
from tasks.judge.cells import Cell, Scoring
from tasks.judge.native.reading import FORM_BOUNDS, one_number, side_scores
from tasks.judge.native.reviewer import Reviewer, Scored, Session, Stopped, says, step
from tasks.judge.protocol import Bench
from tasks.judge.renderings import main_text
from tasks.judge.wording import shipped_script
from tasks.models.asks import Ask
from tasks.models.scales import ICLR

DEFAULT_RATING = 5.0
_RATING_HEADING = re.compile(r"(?m)^#+[ \t]*[Rr]ating")
_DIGIT = re.compile(r"\d")


def native_rating(answer: str) -> tuple[float, list[str]]:
    """The rating as released: the first digit behind the rating's heading, else 5."""
    heading = _RATING_HEADING.search(answer)
    digit = _DIGIT.search(answer, heading.end()) if heading is not None else None
    return (DEFAULT_RATING, ["default_score"]) if digit is None else (float(digit.group()), [])


def fixed_rating(answer: str) -> float:
    """The whole number under the rating's heading.

    Raises:
        Stopped: when there is none, or it is not on the venue's scale.
    """
    value = one_number(answer, "rating")
    if not ICLR.contains(value):
        raise Stopped(Outcome.out_of_range, "out_of_range")
    return value


class OpenReviewer(Reviewer):
    """One call."""

    name = "openreviewer"
    script = shipped_script("tasks.judge.native", "openreviewer")
    trained_on_a_prompt = True
    reads = "markdown"
    scale = "1, 3, 5, 6, 8, 10"
    faults: ClassVar[str] = "the first digit is the rating (10 is read as 1), and 5 where there is none"
    output_tokens = (500, 1200, 4096)
    prompt_chars = len(script["System"]) + len(script["User"])

    def parameters(self, scoring: Scoring) -> dict[str, Any]:  # noqa: ARG002 - the protocol's interface
        """Greedy, as released."""
        return {"temperature": 0, "top_p": 0.9, "max_tokens": 4096}

    def first_ask(self, bench: Bench, cell: Cell) -> Ask:
        """The form, then the paper without its appendix."""
        paper = main_text(bench.shown(cell))
        messages = (says(bench, "system", self.system()), says(bench, "user", f"{self.script['User']}\n\n", paper))
        return step(bench, cell, messages)

    async def review(self, session: Session) -> Scored:
        """Asks once; the fixed reading asks again for a rating that cannot be read."""
        if self.is_native:
            value, flags = native_rating((await session.begin()).answer or "")
            return Scored(scores={"overall": value}, flags=flags)
        answer = (await session.begin(_accept)).answer or ""
        scores, flags = side_scores(answer, FORM_BOUNDS)
        return Scored(scores={"overall": fixed_rating(answer), **scores}, flags=flags)


def _accept(call: Call) -> Outcome:
    try:
        fixed_rating(call.answer or "")
    except Stopped as stopped:
        return stopped.outcome
    return Outcome.answered
