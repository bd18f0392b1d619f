"""A protocol of one call a version: a prompt around the fenced paper, one form, one answer.

Here belongs how that request is put together and its answer turned into a judgement. The words are in ``prompts/``.
"""

from __future__ import annotations

from typing import Any

from storage.records import Call, Judgement
from storage.vocabulary import Outcome
from tasks.judge.cells import Cell, Manner, Scoring
from tasks.judge.expectation import EXPECTATION, TOP_LOGPROBS, expected_rating
from tasks.judge.form import Form
from tasks.judge.parse import PARSER, Parsed, parse_review
from tasks.judge.protocol import Bench, Protocol, judgement_row
from tasks.judge.wording import Prompt
from tasks.models.asks import Ask, Message, Part
from tasks.models.fence import fence

LAYOUT = 1
"""Version of how prompt, fence and paper are joined."""


class SingleCall(Protocol):
    """One call with one prompt and one form."""

    def __init__(self, name: str, prompt: Prompt, form: Form, *, output_tokens: tuple[int, int, int]) -> None:
        self.name = name
        self.prompt = prompt
        self.form = form
        self.output_tokens = output_tokens
        self.prompt_chars = sum(map(len, (prompt.system, prompt.before, prompt.after))) + 200

    def identity(self, scoring: Scoring) -> dict[str, Any]:
        """Hashes of the prompt's file and the form, the layout, and how answers are read."""
        return {"kind": "single_call", "layout": LAYOUT, "prompt": self.prompt.hash, "form": self.form.hash,
                "parser": self.parser(scoring)}

    def parser(self, scoring: Scoring) -> str:
        """The review parser, or the expectation."""
        return EXPECTATION if scoring == "expectation" else PARSER

    def parameters(self, scoring: Scoring) -> dict[str, Any]:
        """None of its own for sampled scores: a model's defaults are part of what is measured."""
        if scoring == "sampled":
            return {}
        return {"temperature": 0, "logprobs": True, "top_logprobs": TOP_LOGPROBS, "max_tokens": 64}

    def first_ask(self, bench: Bench, cell: Cell) -> Ask:
        """The whole request, by hashes; the paper is a part of its own, stored once for all configurations."""
        return framed_ask(bench, cell, self.prompt, self.form.json_schema())

    def read(self, call: Call, scoring: Scoring) -> Parsed:
        """What an answered call says."""
        if scoring == "expectation":
            return expected_rating(call.logprobs, self.form)
        return parse_review(call.answer or "", self.form)

    async def judge(self, bench: Bench, cell: Cell) -> Judgement:
        """Asks, or recalls, and reads."""
        return await self.answer(bench, cell, bench.first_asks[cell.key])

    async def answer(self, bench: Bench, cell: Cell, ask: Ask) -> Judgement:
        """What one ask, asked or recalled, says about a cell."""
        scoring = bench.manner.scoring

        def accept(call: Call) -> Outcome:
            return self.read(call, scoring).outcome

        call = await bench.ask(ask, accept)
        if call.outcome is not Outcome.answered:
            attempts = [call.attempt_id] if call.attempt else []
            return judgement_row(bench, self, cell, outcome=call.outcome, reason=call.error, scores={},
                                 call_keys=[ask.key], attempt_ids=attempts)
        parsed = self.read(call, scoring)
        return judgement_row(bench, self, cell, outcome=parsed.outcome, reason=parsed.reason, scores=parsed.scores,
                             flags=parsed.flags, call_keys=[ask.key], attempt_ids=[call.attempt_id])


def framed_ask(
    bench: Bench, cell: Cell, prompt: Prompt, schema: dict[str, Any] | None, repeat: int | None = None
) -> Ask:
    """A prompt around what a cell shows: fenced text, or the PDF.

    Args:
        bench: the shard's means.
        cell: what is shown.
        prompt: the words around it.
        schema: the JSON schema of the answer, if any.
        repeat: by default the cell's; a step that all repeats share has 0.
    """
    manner, put = bench.manner, bench.store.put_text
    number = cell.repeat if repeat is None else repeat
    shown = [Part(kind="pdf", hash=cell.given.hash)] if cell.given.kind == "pdf" else _fenced(bench, cell)
    parts = [_text(put(f"{prompt.before}\n\n")), *shown, _text(put(f"\n{prompt.after}"))]
    messages = (
        Message(role="system", parts=(_text(put(prompt.system)),)),
        Message(role="user", parts=tuple(parts)),
    )
    return Ask.at(
        manner.endpoint, manner.model, messages, parameters=sampling(manner, number), response_schema=schema,
        repeat=number,
    )


def _text(name: str) -> Part:
    return Part(hash=name)


def _fenced(bench: Bench, cell: Cell) -> list[Part]:
    shown = bench.shown_text(cell)
    lines = fence(hash_of_content=shown)
    return [_text(bench.store.put_text(lines.opening)), _text(shown), _text(bench.store.put_text(lines.closing))]


def sampling(manner: Manner, repeat: int) -> dict[str, Any]:
    """The parameters that are sent for one repeat."""
    # A phantom has no chance of its own: what differs between repeats must be in the request.
    if manner.endpoint.kind == "phantom" and repeat:
        return {"seed": repeat, **manner.parameters}
    return manner.parameters
