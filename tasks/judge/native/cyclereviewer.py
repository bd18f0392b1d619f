"""CycleReviewer: one completion that holds four reviewers, a meta-review and a decision.

Rebuilt from a description of its release: the paper's LaTeX alone in the user's turn. The overall score is the mean of
the reviewers' ratings. The released reading takes the first character of each rating (10 becomes 1).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from storage.records import Call
from storage.vocabulary import Outcome
from tasks.judge.cells import Cell, Scoring
from tasks.judge.native.reading import FORM_BOUNDS, checked, number
from tasks.judge.native.reviewer import Reviewer, Scored, Session, Stopped, says, step
from tasks.judge.protocol import Bench
from tasks.judge.renderings import sections
from tasks.judge.wording import shipped_script
from tasks.models.asks import Ask

REVIEWERS = 4
_STARS = re.compile(r"(?m)^\*{10}[ \t]*(?:\n|\Z)")
_NEEDED = ("summary", "soundness", "presentation")


class Panel(NamedTuple):
    """What one completion says."""

    ratings: list[float]
    reviews: list[dict[str, str]]
    """Each reviewer's fields by name, as text."""
    is_accepted: bool


def _fields(chunk: str, level: int) -> dict[str, str]:
    """The fields of a chunk by name; a heading counts at its own level only."""
    found: dict[str, str] = {}
    for section in sections(chunk):
        if section.level == level:
            found[section.title.rstrip(":").casefold()] = section.text.partition("\n")[2].strip()
        elif found and section.level > level:
            last = next(reversed(found))
            found[last] = f"{found[last]}\n{section.text}".strip()
    return found


def _by_stars(answer: str) -> tuple[list[dict[str, str]], str | None]:
    """The layout of the smaller checkpoints: chunks between lines of ten asterisks, the decision's ends the reading."""
    reviews: list[dict[str, str]] = []
    for chunk in _STARS.split(answer):
        found = _fields(chunk, 2)
        if all(name in found for name in _NEEDED):
            reviews.append(found)
        if "paper decision" in found:
            return reviews, found["paper decision"]
    return reviews, None


def _by_headings(answer: str) -> tuple[list[dict[str, str]], str | None]:
    """The layout of the largest checkpoint: ``## Reviewer`` above fields one level deeper."""
    chunks = re.split(r"(?m)^## Reviewer[ \t]*\n", answer)
    reviews = [found for chunk in chunks[1:] if all(name in (found := _fields(chunk, 3)) for name in _NEEDED)]
    return reviews, _fields(answer, 2).get("paper decision")


def _first_character(text: str) -> float:
    """A rating as released.

    Raises:
        ValueError: when the first character is no digit.
    """
    return float(text[:1])


def _whole_number(text: str) -> float:
    value = number(text)
    if value is None:
        raise ValueError("no single number")
    return checked(value, 1, 10)


def read_panel(answer: str, rating: Callable[[str], float]) -> Panel:
    """The reviewers and the decision of a completion, by the first layout that can be read.

    Args:
        answer: the completion.
        rating: reads one reviewer's rating; raises ValueError where it cannot.

    Raises:
        Stopped: when neither layout gives a decision and at least one rated review.
    """
    for layout in (_by_stars, _by_headings):
        reviews, decision = layout(answer)
        if decision is None or not reviews:
            continue
        try:
            ratings = [rating(review.get("rating", "")) for review in reviews]
        except ValueError:
            continue
        return Panel(ratings, reviews, "accept" in decision.partition("\n")[0].casefold())
    raise Stopped(Outcome.unparsable, "no_reviews_with_ratings_and_decision")


class CycleReviewer(Reviewer):
    """One call, four opinions."""

    name = "cyclereviewer"
    script = shipped_script("tasks.judge.native", "cyclereviewer")
    trained_on_a_prompt = True
    reads = "latex"
    scale = "1 to 10, the mean of four ratings"
    faults: ClassVar[str] = "a rating is its first character (10 is read as 1); only the overall score is a number"
    output_tokens = (2500, 4000, 7000)
    prompt_chars = len(script["System"])

    def parameters(self, scoring: Scoring) -> dict[str, Any]:  # noqa: ARG002 - the protocol's interface
        """Sampling as released."""
        return {"temperature": 0.4, "top_p": 0.95, "max_tokens": 7000}

    def first_ask(self, bench: Bench, cell: Cell) -> Ask:
        """The paper alone in the user's turn."""
        return step(bench, cell, (says(bench, "system", self.system()), says(bench, "user", bench.shown(cell))))

    async def review(self, session: Session) -> Scored:
        """Asks once; the fixed reading asks again for an answer that cannot be read."""
        if self.is_native:
            panel = read_panel((await session.begin()).answer or "", _first_character)
            return Scored(scores=_overall(panel), flags=_flags(panel))
        panel = read_panel((await session.begin(_accept)).answer or "", _whole_number)
        return Scored(scores=_overall(panel) | _means(panel), flags=_flags(panel))


def _accept(call: Call) -> Outcome:
    try:
        read_panel(call.answer or "", _whole_number)
    except Stopped as stopped:
        return stopped.outcome
    return Outcome.answered


def _overall(panel: Panel) -> dict[str, float]:
    return {"overall": sum(panel.ratings) / len(panel.ratings), "decision": float(panel.is_accepted)}


def _flags(panel: Panel) -> list[str]:
    return [] if len(panel.ratings) == REVIEWERS else [f"reviews_{len(panel.ratings)}"]


def _means(panel: Panel) -> dict[str, float]:
    """The mean of each further score over the reviewers that give a legal one."""
    found: dict[str, float] = {}
    for name, (low, high) in FORM_BOUNDS.items():
        values = [number(review.get(name, "")) for review in panel.reviews]
        legal = [value for value in values if value is not None and low <= value <= high]
        if legal:
            found[name] = sum(legal) / len(legal)
    return found
