"""The language-model producer: segments in batches through the engine, guarded, retried once with the reasons.

Here belongs asking for wordings: what is asked, in which batches, and which answers are used. Every answer is a
``calls`` row, recalled before anything is asked. What an answer says is read in ``replies.py``; building the paper is
``variants.py``'s matter.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from storage.records import Call
from storage.store import Store
from storage.vocabulary import TRANSIENT, Outcome
from tasks.latex.guard import Problem
from tasks.latex.masks import MASK, Segment
from tasks.models.asks import Ask, Message, Part
from tasks.models.endpoints import EndpointSpec
from tasks.models.engine import Engine
from tasks.models.fence import fence
from tasks.models.memory import recall
from tasks.rewrite.producers import Wording, rewritable
from tasks.rewrite.prompts import prompt
from tasks.rewrite.replies import REVIEW_SCHEMA, SEGMENTS_SCHEMA, read_review, read_segments, usable
from tasks.rewrite.spec import Producer

BATCH_CHARS: Final = 12_000
"""Prose of one request where the window allows it: long enough for context, short enough to come back whole."""
BATCH_SEGMENTS: Final = 40
CHARS_PER_TOKEN: Final = 3
SHARE_OF_WINDOW: Final = 0.25
"""Prompt, outline and answer need the rest."""
SMALLEST_BATCH: Final = 800
LOG_CHARS: Final = 4_000
ABSTRACT_CHARS: Final = 3_000


class ProducerUnavailable(Exception):
    """The endpoint could not answer now (rate limit, budget, outage): a later run tries the rewrite again."""

    def __init__(self, outcome: Outcome, error: str | None) -> None:
        super().__init__(f"{outcome}: {error or 'no further word'}")
        self.outcome = outcome


class ProducerRefuses(Exception):
    """The endpoint will not give what is needed, now or later; ``reason`` is the type of the exclusion."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Pen:
    """A model producer at work on one paper under one condition."""

    store: Store
    engine: Engine
    producer: Producer
    condition: str
    endpoint: EndpointSpec
    outline: str
    """Title, headings and abstract, with masks taken out."""
    advice: tuple[str, ...] = ()
    """What the reviewer said, for the feedback-guided condition."""

    def parts(self, *texts: str) -> tuple[Part, ...]:
        """Stored parts of a message."""
        return tuple(Part(hash=self.store.put_text(text)) for text in texts)


@dataclass(frozen=True, slots=True)
class Draft:
    """A segment on its way: its short id in requests, and what went wrong so far."""

    name: str
    segment: Segment
    failed: str | None = None
    found: tuple[Problem, ...] = ()


def outline_of(title: str | None, sections: Sequence[str], segments: Sequence[Segment]) -> str:
    """The context that each batch is given."""
    abstract = " ".join(segment.text for segment in segments if segment.kind == "abstract")
    lines = [f"Title: {title or 'unknown'}", "Sections:", *(f"- {section}" for section in sections)]
    if abstract:
        lines += ["Abstract:", " ".join(MASK.sub("(...)", abstract).split())[:ABSTRACT_CHARS]]
    return "\n".join(lines) + "\n"


def batches(drafts: Sequence[Draft], endpoint: EndpointSpec, *, share: float = 1.0) -> Iterator[list[Draft]]:
    """Drafts in requests: a section begins a new one unless the one before is still small."""
    room = BATCH_CHARS if endpoint.context_tokens is None else min(
        BATCH_CHARS, int(endpoint.context_tokens * CHARS_PER_TOKEN * SHARE_OF_WINDOW))
    room = max(SMALLEST_BATCH, int(room * share))
    batch: list[Draft] = []
    size = 0
    for draft in drafts:
        other_section = bool(batch) and batch[-1].segment.section != draft.segment.section
        if batch and (size + len(draft.segment.text) > room or len(batch) >= BATCH_SEGMENTS
                      or (other_section and size > room // 3)):
            yield batch
            batch, size = [], 0
        batch.append(draft)
        size += len(draft.segment.text)
    if batch:
        yield batch


def reword_by_model(pen: Pen, segments: Sequence[Segment]) -> Wording:
    """Reword segments by a model: batches, guard, one retry that says what was wrong, then the original.

    Raises:
        ProducerUnavailable: when the endpoint could not answer for a reason that passes.
        EnvironmentProblem: when the endpoint's key variable is not set.
    """
    drafts = [Draft(f"s{number}", segment) for number, segment in enumerate(rewritable(segments), 1)]
    texts, bad = _round(pen, drafts, "batch", share=1.0)
    again, still_bad = _round(pen, bad, "retry", share=0.5)
    fallbacks = {draft.segment.id: draft.found[0].word for draft in still_bad}
    facts: dict[str, Any] = {"retried": len(bad)}
    if pen.advice:
        facts["review"] = list(pen.advice)
    return Wording({**texts, **again}, fallbacks, facts)


def mend_by_model(pen: Pen, failed: Sequence[tuple[Segment, str]], log: str) -> Wording:
    """Ask for wordings that compile, with the end of the compiler's log.

    Raises:
        ProducerUnavailable: when the endpoint could not answer for a reason that passes.
    """
    reason = Problem("does_not_build", "With this version the paper does not compile.")
    drafts = [Draft(f"s{number}", segment, text, (reason,)) for number, (segment, text) in enumerate(failed, 1)]
    texts, bad = _round(pen, drafts, "repair", share=0.5, log=log[-LOG_CHARS:])
    return Wording(texts, {draft.segment.id: draft.found[0].word for draft in bad})


def advice_on(pen: Pen, reviewer: EndpointSpec, draft: str) -> tuple[str, ...]:
    """A reviewer's advice on a draft.

    Raises:
        ProducerUnavailable: when the reviewer could not answer for a reason that passes.
        ProducerRefuses: when it gives no review.
    """
    marks = fence(draft, label="DRAFT")
    messages = (Message(role="system", parts=pen.parts(prompt("review"))),
                Message(role="user", parts=pen.parts(marks.opening, draft, marks.closing)))
    ask = Ask.at(reviewer, pen.producer.review_model, messages, response_schema=REVIEW_SCHEMA)
    reads = [lambda call: read_review(call.answer) is not None]
    [call] = _answers(pen, [ask], reviewer, reads, reads)
    said = read_review(call.answer) if call.outcome is Outcome.answered else None
    if said is None:
        who = pen.producer.review_model
        raise ProducerRefuses("no_review", f"the reviewer {who} gave no review that can be read ({call.outcome})")
    return tuple(said)


def _round(
    pen: Pen, drafts: Sequence[Draft], frame: str, *, share: float, log: str | None = None
) -> tuple[dict[str, str], list[Draft]]:
    """One round of requests: the wordings that may be used and differ, and the drafts that failed with the reasons."""
    grouped = list(batches(drafts, pen.endpoint, share=share))
    asks = [_ask(pen, batch, frame, log) for batch in grouped]
    readable = [_reads({draft.name for draft in batch}) for batch in grouped]
    texts: dict[str, str] = {}
    bad: list[Draft] = []
    worth = [_worth_keeping(batch) for batch in grouped]
    for batch, call in zip(grouped, _answers(pen, asks, pen.endpoint, readable, worth), strict=True):
        answered = call.outcome is Outcome.answered
        given = (read_segments(call.answer, {draft.name for draft in batch}) if answered else None) or {}
        for draft in batch:
            if draft.name not in given:
                word = "missing" if answered else str(call.outcome)
                nothing = Problem(word, "No usable version came back.")
                bad.append(Draft(draft.name, draft.segment, draft.failed, (nothing,)))
                continue
            new, found = usable(draft.segment, given[draft.name])
            if found:
                bad.append(Draft(draft.name, draft.segment, given[draft.name], tuple(found)))
            elif new != draft.segment.text:
                texts[draft.segment.id] = new
    return texts, bad


def _worth_keeping(batch: Sequence[Draft]) -> Callable[[Call], bool]:
    """Whether a remembered answer holds any wording that may be used: where none did, the next run asks anew."""
    parts = {draft.name: draft.segment for draft in batch}

    def worth(call: Call) -> bool:
        given = read_segments(call.answer, set(parts)) or {}
        return any(not usable(parts[name], text)[1] for name, text in given.items())

    return worth


def _reads(names: set[str]) -> Callable[[Call], bool]:
    return lambda call: bool(read_segments(call.answer, names))


def _ask(pen: Pen, batch: Sequence[Draft], frame: str, log: str | None) -> Ask:
    passages: list[dict[str, Any]] = []
    for draft in batch:
        entry: dict[str, Any] = {"id": draft.name, "original" if draft.found else "text": draft.segment.text}
        if draft.found:
            entry |= {"failed": draft.failed, "faults": [problem.sentence for problem in draft.found]}
        passages.append(entry)
    listed = json.dumps(passages, ensure_ascii=False, indent=1)
    marks = fence(listed, label="PASSAGES")
    advice = "".join(["\nThe reviewer's advice:\n", *(f"- {line}\n" for line in pen.advice)]) if pen.advice else ""
    framing = ("" if frame == "batch" else prompt(frame)) + prompt("batch")
    parts = [f"Instruction:\n{prompt(pen.condition)}{advice}\n", f"The paper:\n{pen.outline}\n", framing,
             marks.opening, listed, marks.closing]
    if log is not None:
        log_marks = fence(log, label="LOG")
        parts.append(f"{log_marks.opening}{log}{log_marks.closing}")
    messages = (Message(role="system", parts=pen.parts(prompt("rewrite"))),
                Message(role="user", parts=pen.parts(*parts)))
    return Ask.at(pen.endpoint, pen.producer.model, messages, parameters=pen.producer.spec.parameters,
                  response_schema=SEGMENTS_SCHEMA)


def _answers(
    pen: Pen, asks: Sequence[Ask], endpoint: EndpointSpec, readable: Sequence[Callable[[Call], bool]],
    worth: Sequence[Callable[[Call], bool]],
) -> list[Call]:
    """A call for each ask: a remembered one that is worth keeping, else asked now until it can be read.

    Raises:
        ProducerUnavailable: when one of them ended for a reason that passes; the others' answers are remembered.
    """
    known = recall(pen.store, [ask.key for ask in asks])
    calls: list[Call | None] = []
    for ask, keeps in zip(asks, worth, strict=True):
        calls.append(next((call for call in reversed(known.get(ask.key, [])) if keeps(call)), None))
    wanted = [place for place, call in enumerate(calls) if call is None]

    async def one(place: int) -> Call:
        def accept(call: Call) -> Outcome:
            return Outcome.answered if readable[place](call) else Outcome.unparsable

        return await pen.engine.ask(asks[place], endpoint, accept)

    if wanted:
        asked = pen.engine.run(pen.engine.gather(wanted, one, endpoint.max_in_flight))
        for place, call in zip(wanted, asked, strict=True):
            calls[place] = call
    ended = [call for call in calls if call is not None]
    for call in ended:
        if call.outcome in TRANSIENT:
            raise ProducerUnavailable(call.outcome, call.error)
    return ended
