"""Generative judges of pairs: one prompt with both answers, one verdict.

Here belongs how that request is put together and its answer turned into a judgement, whose ``overall`` score is 1 when
the answer shown first is preferred and 0 when the second is. Which answer is better is not known here. The words are in
``prompts/``, the rules of reading in ``verdict``.
"""

from __future__ import annotations

from typing import Any, Final

from storage.keys import canonical_json, content_hash
from storage.pairs import Presentation
from storage.records import Call, Judgement
from storage.vocabulary import Outcome
from tasks.judge.cells import Cell, Scoring
from tasks.judge.protocol import Bench, Protocol, judgement_row
from tasks.judge.verdict import VERDICT_PARSER, parse_verdict
from tasks.judge.wording import Prompt, shipped_prompt
from tasks.models.asks import Ask, Message, Part
from tasks.models.fence import fence

LAYOUT: Final = 1
"""Version of how prompt, fences, answers and injected words are joined."""
VERDICT_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"explanation": {"type": "string"}, "verdict": {"type": "string", "enum": ["[[A]]", "[[B]]"]}},
    "required": ["explanation", "verdict"],
    "additionalProperties": False,
}


def shown_pair(shown: Presentation) -> str:
    """The pair as a prompt holds it: question and answers fenced, words between them outside the fences."""
    between = f"\n{shown.between}\n" if shown.between else ""
    return (f"{fenced(shown.question, 'QUESTION')}\n{fenced(shown.first, 'ANSWER A')}{between}\n"
            f"{fenced(shown.second, 'ANSWER B')}")


def fenced(text: str, label: str) -> str:
    """A text between its marked lines."""
    lines = fence(text, label=label)
    return f"{lines.opening}{text}{lines.closing}"


def presentation_of(bench: Bench, cell: Cell) -> Presentation:
    """What a cell shows."""
    return Presentation.read(bench.store.get_text(cell.given.hash))


def text_part(bench: Bench, text: str) -> Part:
    """A stored text as a part of a message."""
    return Part(hash=bench.store.put_text(text))


class Pairwise(Protocol):
    """One call about both answers."""

    is_about_pairs = True

    def __init__(
        self, name: str, prompt: Prompt, *, schema: dict[str, Any] | None = None, output_tokens: tuple[int, int, int]
    ) -> None:
        self.name = name
        self.prompt = prompt
        self.schema = schema
        self.output_tokens = output_tokens
        self.prompt_chars = sum(map(len, (prompt.system, prompt.before, prompt.after))) + 400

    def identity(self, scoring: Scoring) -> dict[str, Any]:
        """Hashes of the prompt's file and the form, the layout, and how answers are read."""
        form = None if self.schema is None else content_hash(canonical_json(self.schema))
        return {"kind": "pairwise", "layout": LAYOUT, "prompt": self.prompt.hash, "form": form,
                "parser": self.parser(scoring)}

    def parser(self, scoring: Scoring) -> str:  # noqa: ARG002 - the protocol's interface
        """The verdict parser."""
        return VERDICT_PARSER

    def parameters(self, scoring: Scoring) -> dict[str, Any]:  # noqa: ARG002
        """Greedy decoding; a configuration takes it away with ``temperature: null``."""
        return {"temperature": 0}

    def first_ask(self, bench: Bench, cell: Cell) -> Ask:
        """The whole request; the pair is a part of its own, stored once for all judges."""
        shown = presentation_of(bench, cell)
        # The crowd's word stands at the very end of the prompt, as in the published injection.
        after = self.prompt.after if shown.after is None else f"{self.prompt.after}\n\n{shown.after}"
        parts = [f"{self.prompt.before}\n\n", shown_pair(shown), f"\n{after}"]
        messages = (
            Message(role="system", parts=(text_part(bench, self.prompt.system),)),
            Message(role="user", parts=tuple(text_part(bench, part) for part in parts)),
        )
        parameters = dict(bench.manner.parameters)
        if bench.manner.endpoint.kind == "phantom" and cell.repeat:
            parameters = {"seed": cell.repeat, **parameters}
        return Ask.at(bench.manner.endpoint, bench.manner.model, messages, parameters=parameters,
                      response_schema=self.schema, repeat=cell.repeat)

    async def judge(self, bench: Bench, cell: Cell) -> Judgement:
        """Asks, or recalls, and reads."""
        ask = bench.first_asks[cell.key]
        call = await bench.ask(ask, _accept)
        attempts = [call.attempt_id] if call.attempt else []
        if call.outcome is not Outcome.answered:
            return judgement_row(bench, self, cell, outcome=call.outcome, reason=call.error, scores={},
                                 call_keys=[ask.key], attempt_ids=attempts)
        parsed = parse_verdict(call.answer or "")
        return judgement_row(bench, self, cell, outcome=parsed.outcome, reason=parsed.reason, scores=parsed.scores,
                             flags=parsed.flags, call_keys=[ask.key], attempt_ids=attempts)


def _accept(call: Call) -> Outcome:
    return parse_verdict(call.answer or "").outcome


PAIRWISE: Final = (
    Pairwise("pair_explained", shipped_prompt("pair_explained"), output_tokens=(60, 200, 800)),
    Pairwise("pair_direct", shipped_prompt("pair_direct"), output_tokens=(4, 6, 30)),
    Pairwise("pair_think", shipped_prompt("pair_think"), output_tokens=(200, 700, 3000)),
    Pairwise("pair_structured", shipped_prompt("pair_structured"), schema=VERDICT_SCHEMA, output_tokens=(60, 200, 800)),
)
