"""The core branch: a record of the paper, and a review of nothing but that record.

Here belong the extraction as a step that is cached once a version and backbone (all repeats and all core protocols of a
model share it), the review of its text, and the paper written back from it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from storage.keys import canonical_json, content_hash
from storage.records import Call, Judgement
from storage.vocabulary import Outcome
from tasks.judge.cells import Cell, Manner, Scoring, manner_key
from tasks.judge.inputs import Given
from tasks.judge.protocol import Bench, Planned, Protocol, judgement_row
from tasks.judge.scicore.core import core_identity, read_core
from tasks.judge.single_call import SingleCall, framed_ask
from tasks.judge.wording import shipped_prompt
from tasks.models.asks import Ask
from tasks.models.science_core import core_schema

EXTRACT = shipped_prompt("extract", "tasks.judge.scicore")
RECONSTRUCT = shipped_prompt("reconstruct", "tasks.judge.scicore")
EXTRACTION_TOKENS = (1500, 3500, 9000)
RECONSTRUCTION_TOKENS = (2500, 5000, 12000)
SHORTEST_PAPER = 200
"""Characters under which what came back is no paper."""


class NoRecord(Exception):
    """A step before the review gave nothing to review."""

    def __init__(self, outcome: Outcome, reason: str | None) -> None:
        super().__init__(reason)
        self.outcome = outcome
        self.reason = reason


@dataclass(slots=True)
class Trail:
    """The steps of one cell, in order."""

    keys: list[str] = field(default_factory=list)
    attempts: list[str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)

    def take(self, ask: Ask, call: Call) -> None:
        """Takes in a step.

        Raises:
            NoRecord: when it was not answered.
        """
        self.keys.append(ask.key)
        if call.attempt:
            self.attempts.append(call.attempt_id)
        if call.outcome is not Outcome.answered:
            raise NoRecord(call.outcome, call.error)


def extraction_identity() -> dict[str, Any]:
    """What an extraction is: words, schema, and what is accepted."""
    return {"prompt": EXTRACT.hash, "schema": content_hash(canonical_json(core_schema())), **core_identity()}


def extraction_ask(bench: Bench, cell: Cell) -> Ask:
    """The request for the record of a version; no repeat has one of its own."""
    return framed_ask(bench, cell, EXTRACT, core_schema(), repeat=0)


def extraction_question(manner: Manner) -> str:
    """What protocols of one backbone share: they take turns, so that the record is made once."""
    return manner_key({"kind": "core_extraction", **extraction_identity()}, manner)


def _accept(call: Call) -> Outcome:
    return read_core(call.answer or "").outcome


async def record_of(bench: Bench, cell: Cell, trail: Trail) -> str:
    """The hash of the version's record, extracted or recalled.

    Raises:
        NoRecord: when there is none.
    """
    ask = extraction_ask(bench, cell)
    call = await bench.ask(ask, _accept)
    trail.take(ask, call)
    found = read_core(call.answer or "")
    if found.outcome is not Outcome.answered:
        raise NoRecord(found.outcome, found.reason)
    trail.flags += found.flags
    return bench.store.put_text(found.text)


def showing(cell: Cell, text_hash: str) -> Cell:
    """The same question about another text."""
    return replace(cell, given=Given("text", text_hash))


class CoreReview(Protocol):
    """Extraction, then one review of the record."""

    calls_per_cell = 2

    def __init__(self, name: str, review: SingleCall) -> None:
        self.name = name
        self.review = review
        low, expected, high = review.output_tokens
        self.output_tokens = tuple(  # type: ignore[assignment]
            a + b for a, b in zip((low, expected, high), EXTRACTION_TOKENS, strict=True)
        )
        self.prompt_chars = len(EXTRACT.system) + review.prompt_chars + 4 * EXTRACTION_TOKENS[1]

    def identity(self, scoring: Scoring) -> dict[str, Any]:
        """The extraction's, and the review's."""
        return {"kind": "core_review", "extraction": extraction_identity(), "review": self.review.identity(scoring)}

    def parser(self, scoring: Scoring) -> str:
        """The review's."""
        return self.review.parser(scoring)

    def parameters(self, scoring: Scoring) -> dict[str, Any]:
        """The review's."""
        return self.review.parameters(scoring)

    def questions(self, manner: Manner) -> list[str]:
        """The extraction, which others of this backbone share, and its own."""
        return [extraction_question(manner), *super().questions(manner)]

    def planned(self, manner: Manner) -> list[Planned]:
        """The extraction, once for all that share it, and the review, which reads the record and not the paper."""
        extraction = Planned(extraction_question(manner), 1, 1, len(EXTRACT.system), EXTRACTION_TOKENS, False)
        chars = self.review.prompt_chars + 4 * EXTRACTION_TOKENS[1]
        return [extraction, Planned(self.questions(manner)[-1], 1, 0, chars, self.review.output_tokens)]

    def first_ask(self, bench: Bench, cell: Cell) -> Ask:
        """The extraction."""
        return extraction_ask(bench, cell)

    async def shown(self, bench: Bench, cell: Cell, trail: Trail) -> str:
        """The hash of the text that is reviewed.

        Raises:
            NoRecord: when there is none.
        """
        return await record_of(bench, cell, trail)

    async def judge(self, bench: Bench, cell: Cell) -> Judgement:
        """The review of what was shown, as a judgement of the version."""
        trail = Trail()
        try:
            text = await self.shown(bench, cell, trail)
        except NoRecord as nothing:
            return judgement_row(bench, self, cell, outcome=nothing.outcome, reason=nothing.reason, scores={},
                                 flags=trail.flags, call_keys=trail.keys, attempt_ids=trail.attempts)
        derived = showing(cell, text)
        found = await self.review.answer(bench, derived, self.review.first_ask(bench, derived))
        return judgement_row(bench, self, cell, outcome=found.outcome, reason=found.reason, scores=found.scores,
                             flags=[*trail.flags, *found.flags], call_keys=[*trail.keys, *found.call_keys],
                             attempt_ids=[*trail.attempts, *found.attempt_ids])


class ReconstructReview(CoreReview):
    """Extraction, a paper written back from the record, one review of that paper."""

    calls_per_cell = 3

    def __init__(self, name: str, review: SingleCall) -> None:
        super().__init__(name, review)
        low, expected, high = self.output_tokens
        more = RECONSTRUCTION_TOKENS
        self.output_tokens = (low + more[0], expected + more[1], high + more[2])
        self.prompt_chars += len(RECONSTRUCT.system) + 4 * RECONSTRUCTION_TOKENS[1]

    def identity(self, scoring: Scoring) -> dict[str, Any]:
        """Also the words that ask for the paper."""
        return super().identity(scoring) | {"kind": "reconstruct_review", "reconstruct": RECONSTRUCT.hash}

    def planned(self, manner: Manner) -> list[Planned]:
        """Also the writing, once for all repeats; the review reads what was written."""
        extraction, review = super().planned(manner)
        question = f"{extraction.question} {RECONSTRUCT.hash}"
        chars = len(RECONSTRUCT.system) + 4 * EXTRACTION_TOKENS[1]
        more = 4 * (RECONSTRUCTION_TOKENS[1] - EXTRACTION_TOKENS[1])
        return [extraction, Planned(question, 1, 0, chars, RECONSTRUCTION_TOKENS, False),
                review._replace(chars=review.chars + more)]

    async def shown(self, bench: Bench, cell: Cell, trail: Trail) -> str:
        """The hash of the paper that was written back; like the record, one for all repeats.

        Raises:
            NoRecord: when there is none.
        """
        record = await record_of(bench, cell, trail)
        ask = framed_ask(bench, showing(cell, record), RECONSTRUCT, None, repeat=0)
        call = await bench.ask(ask, _is_paper)
        trail.take(ask, call)
        if _is_paper(call) is not Outcome.answered:
            raise NoRecord(Outcome.unparsable, "reconstruct: what came back is too short for a paper")
        return bench.store.put_text((call.answer or "").strip())


def _is_paper(call: Call) -> Outcome:
    return Outcome.answered if len((call.answer or "").strip()) >= SHORTEST_PAPER else Outcome.unparsable
