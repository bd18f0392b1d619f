"""Discriminative judges of pairs: each answer is scored alone, and the higher score is the preference.

Two ways to score: a reward endpoint or a local classifier (``reward``: the form is in ``tasks.models.reward``), and a
language model that rates one answer (``pointwise``). A tie prefers neither answer: ``overall`` is one half, which no
label counts as correct. Only injections that change the answers can be seen this way, nine of the twelve.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from storage.pairs import Presentation
from storage.records import Call, Judgement
from storage.vocabulary import ANSWER_BIASES, ORIGINAL, Outcome
from tasks.judge.cells import Cell, Scoring
from tasks.judge.form import OVERALL, Form, rating_form
from tasks.judge.pairwise import fenced, presentation_of, text_part
from tasks.judge.parse import PARSER, Parsed, parse_review
from tasks.judge.protocol import Bench, Protocol, judgement_row
from tasks.judge.verdict import FIRST, SECOND, TIE
from tasks.judge.wording import Prompt, shipped_prompt
from tasks.models.asks import Ask, Message
from tasks.models.reward import score_of
from tasks.models.scales import TEN

LAYOUT: Final = 1


class SingleAnswers(Protocol):
    """Two calls, one an answer; what they ask and how they are read is each kind's own."""

    is_about_pairs = True
    is_about_single_answers = True
    calls_per_cell = 2

    def wants(self, facts: Mapping[str, Any]) -> bool:
        """Versions whose answers carry the injection, in the order given: a score knows no order."""
        bias = facts.get("bias", ORIGINAL)
        return facts.get("order") == "given" and (bias == ORIGINAL or bias in ANSWER_BIASES)

    def about(self, bench: Bench, shown: Presentation, answer: str, repeat: int) -> Ask:
        """The request about one answer."""
        raise NotImplementedError

    def score(self, call: Call) -> Parsed:
        """What an answered call says."""
        raise NotImplementedError

    def first_ask(self, bench: Bench, cell: Cell) -> Ask:
        """The request about the answer shown first."""
        shown = presentation_of(bench, cell)
        return self.about(bench, shown, shown.first, cell.repeat)

    def foreseen(self, bench: Bench, cell: Cell) -> list[Ask]:
        """The request about the answer shown second."""
        shown = presentation_of(bench, cell)
        return [self.about(bench, shown, shown.second, cell.repeat)]

    async def judge(self, bench: Bench, cell: Cell) -> Judgement:
        """Both scores, asked or recalled, compared."""
        shown = presentation_of(bench, cell)
        asks = [bench.first_asks[cell.key], self.about(bench, shown, shown.second, cell.repeat)]
        calls: list[Call] = []
        values: list[float] = []
        flags: list[str] = []
        found: dict[str, Any] = {}
        for ask in asks:
            call = await bench.ask(ask, lambda call: self.score(call).outcome)
            calls.append(call)
            if call.outcome is not Outcome.answered:
                found = {"outcome": call.outcome, "reason": call.error}
                break
            parsed = self.score(call)
            if parsed.outcome is not Outcome.answered:
                found = {"outcome": parsed.outcome, "reason": parsed.reason}
                break
            values.append(parsed.scores[OVERALL])
            flags += parsed.flags
        scores = {} if found else _compared(*values)
        tied = ["tie"] if scores.get(OVERALL) == TIE else []
        return judgement_row(
            bench, self, cell, **(found or {"outcome": Outcome.answered, "reason": None}), scores=scores,
            flags=[*flags, *tied], call_keys=[ask.key for ask in asks[: len(calls)]],
            attempt_ids=[call.attempt_id for call in calls if call.attempt],
        )


def _compared(first: float, second: float) -> dict[str, float]:
    preference = TIE if first == second else FIRST if first > second else SECOND
    return {OVERALL: preference, "first": first, "second": second}


class Reward(SingleAnswers):
    """A reward model: the dialogue goes in, a number comes back."""

    name = "reward"
    output_tokens = (0, 0, 0)
    prompt_chars = 40

    def identity(self, scoring: Scoring) -> dict[str, Any]:
        """The layout, and how answers are read."""
        return {"kind": "reward", "layout": LAYOUT, "parser": self.parser(scoring)}

    def parser(self, scoring: Scoring) -> str:  # noqa: ARG002 - the protocol's interface
        """The reward form."""
        return "reward/1"

    def parameters(self, scoring: Scoring) -> dict[str, Any]:  # noqa: ARG002
        """None: a scorer has no chance of its own."""
        return {}

    def about(self, bench: Bench, shown: Presentation, answer: str, repeat: int) -> Ask:
        """The dialogue, as it is: no prompt of ours."""
        manner = bench.manner
        messages = (
            Message(role="user", parts=(text_part(bench, shown.question),)),
            Message(role="assistant", parts=(text_part(bench, answer),)),
        )
        return Ask.at(manner.endpoint, manner.model, messages, parameters=manner.parameters, repeat=repeat)

    def score(self, call: Call) -> Parsed:
        """The number."""
        value = score_of(call.answer)
        if value is None:
            return Parsed(outcome=Outcome.unparsable, reason="no_score")
        return Parsed(outcome=Outcome.answered, scores={OVERALL: value})


class Pointwise(SingleAnswers):
    """A language model that rates one answer."""

    def __init__(self, name: str, prompt: Prompt, form: Form) -> None:
        self.name = name
        self.prompt = prompt
        self.form = form
        self.output_tokens = (16, 24, 128)
        self.prompt_chars = sum(map(len, (prompt.system, prompt.before, prompt.after))) + 300

    def identity(self, scoring: Scoring) -> dict[str, Any]:
        """Hashes of the prompt's file and the form, the layout, and how answers are read."""
        return {"kind": "pointwise", "layout": LAYOUT, "prompt": self.prompt.hash, "form": self.form.hash,
                "parser": self.parser(scoring)}

    def parser(self, scoring: Scoring) -> str:  # noqa: ARG002
        """The review parser, on a form with the rating alone."""
        return PARSER

    def parameters(self, scoring: Scoring) -> dict[str, Any]:  # noqa: ARG002
        """Greedy decoding."""
        return {"temperature": 0}

    def about(self, bench: Bench, shown: Presentation, answer: str, repeat: int) -> Ask:
        """Question and answer fenced, in the prompt."""
        manner = bench.manner
        middle = f"{fenced(shown.question, 'QUESTION')}\n{fenced(answer, 'ANSWER')}"
        parts = [f"{self.prompt.before}\n\n", middle, f"\n{self.prompt.after}"]
        messages = (
            Message(role="system", parts=(text_part(bench, self.prompt.system),)),
            Message(role="user", parts=tuple(text_part(bench, part) for part in parts)),
        )
        return Ask.at(manner.endpoint, manner.model, messages, parameters=manner.parameters,
                      response_schema=self.form.json_schema(), repeat=repeat)

    def score(self, call: Call) -> Parsed:
        """The rating."""
        return parse_review(call.answer or "", self.form)


SINGLE_ANSWERS: Final = (Reward(), Pointwise("pointwise", shipped_prompt("pointwise"), rating_form("pointwise", TEN)))
