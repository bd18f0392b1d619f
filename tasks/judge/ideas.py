"""Judges of ideas: four methods with one rubric, with or without literature beside the idea.

``idea_direct`` scores; ``idea_style_cot`` is asked to think about style first; ``idea_llm_injection`` and
``idea_extractor`` are given a style signal that another reader made. ``idea_rating`` asks for the overall score alone,
so that a model's token probabilities can be used. Here belongs how a request is put together; forms are ``form``, the
words are in ``prompts/``, the signal is ``signals``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Self

from pydantic import ValidationError

from storage.records import Call, Judgement
from storage.vocabulary import Outcome
from tasks.judge.cells import Cell, Manner, Scoring
from tasks.judge.contexts import cut_works
from tasks.judge.form import OVERALL, Field, Form, rating_form
from tasks.judge.protocol import Bench, judgement_row
from tasks.judge.signals import Signal, SignalSpec, accept_signal, read_signal, signal_ask
from tasks.judge.single_call import SingleCall, sampling
from tasks.judge.wording import Prompt, shipped_prompt
from tasks.models.asks import Ask, Message, Part
from tasks.models.fence import fence
from tasks.models.scales import TEN

LAYOUT: Final = 1
"""Version of how prompt, idea, literature and signal are joined."""
DIMENSIONS: Final = ("novelty", "feasibility", "significance", "rigor", "clarity")


def idea_form(name: str, *, reflects: bool = False) -> Form:
    """The form of all four methods: five dimensions and the overall score, 1 to 10 each."""
    scores = (*(Field(name=each, kind="score", scale=TEN, dimension=each) for each in DIMENSIONS),
              Field(name=OVERALL, kind="score", scale=TEN, dimension=OVERALL,
                    labels=("overall score", "overall rating")))
    if reflects:
        return Form(name=name, fields=(Field(name="style_reflection", kind="text"), *scores))
    return Form(name=name, fields=(*scores, Field(name="comment", kind="text")))


class IdeaJudge(SingleCall):
    """One call about one idea; with a signal, one more that all judges share."""

    is_about_ideas = True

    def __init__(self, name: str, prompt: Prompt, form: Form, *, output_tokens: tuple[int, int, int],
                 needs_signal: bool = False, signal: SignalSpec | None = None) -> None:
        super().__init__(name, prompt, form, output_tokens=output_tokens)
        self.needs_signal = needs_signal
        self.signal = signal
        self.calls_per_cell = 2 if needs_signal else 1

    def with_options(self, options: Mapping[str, Any]) -> Self:
        """The protocol with the reader that its signal comes from."""
        if not self.needs_signal:
            return super().with_options(options)
        if set(options) != {"signal"}:
            raise ValueError(f"protocol {self.name!r} needs options.signal (endpoint and model), and nothing else")
        try:
            spec = SignalSpec.model_validate(options["signal"])
            spec.at()
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"])
            raise ValueError(f"options.signal.{place}: {first['msg']}") from error
        return type(self)(self.name, self.prompt, self.form, output_tokens=self.output_tokens, needs_signal=True,
                          signal=spec)

    def identity(self, scoring: Scoring) -> dict[str, Any]:
        """Hashes of the prompt's file and the form, the layout, the signal's reader, and how answers are read."""
        return {"kind": "idea", "layout": LAYOUT, "prompt": self.prompt.hash, "form": self.form.hash,
                "parser": self.parser(scoring), "signal": None if self.signal is None else self.signal.identity()}

    def questions(self, manner: Manner) -> list[str]:
        """Its own, and its reader's: judges with one reader take turns, so that a signal is bought once."""
        own = super().questions(manner)
        return own if self.signal is None else [*own, f"signal {self.signal.identity()}"]

    def first_ask(self, bench: Bench, cell: Cell) -> Ask:
        """The signal's call where there is one, else the whole request."""
        if self.signal is not None:
            return signal_ask(bench.store, self.signal, bench.shown_text(cell), cell.repeat)
        return self._ask(bench, cell, None)

    async def judge(self, bench: Bench, cell: Cell) -> Judgement:
        """Asks for the signal where there is one, then for the scores."""
        if self.signal is None:
            return await super().judge(bench, cell)
        first = bench.first_asks[cell.key]
        told = await bench.ask(first, accept_signal, self.signal.at())
        signal = read_signal(told.answer or "") if told.outcome is Outcome.answered else None
        if signal is None:
            outcome = told.outcome if told.outcome is not Outcome.answered else Outcome.unparsable
            return judgement_row(bench, self, cell, outcome=outcome, reason=f"style signal: {told.error or outcome}",
                                 scores={}, call_keys=[first.key], attempt_ids=_attempts(told))
        ask = self._ask(bench, cell, signal)

        def accept(call: Call) -> Outcome:
            return self.read(call, bench.manner.scoring).outcome

        call = await bench.ask(ask, accept)
        found: dict[str, Any] = {"call_keys": [first.key, ask.key], "attempt_ids": _attempts(told, call)}
        if call.outcome is not Outcome.answered:
            return judgement_row(bench, self, cell, outcome=call.outcome, reason=call.error, scores={}, **found)
        parsed = self.read(call, bench.manner.scoring)
        return judgement_row(bench, self, cell, outcome=parsed.outcome, reason=parsed.reason, scores=parsed.scores,
                             flags=parsed.flags, **found)

    def _ask(self, bench: Bench, cell: Cell, signal: Signal | None) -> Ask:
        """The request for scores; idea and literature are parts of their own, stored once for all."""
        put, manner = bench.store.put_text, bench.manner
        parts = [Part(hash=put(f"{self.prompt.before}\n\n")), *_fenced(bench, bench.shown_text(cell), "IDEA")]
        if cell.given.context is not None:
            parts += [Part(hash=put("\nHere is related work.\n\n")),
                      *_fenced(bench, shown_literature(bench, cell), "LITERATURE")]
        if signal is not None:
            parts += [Part(hash=put("\nHere is a style signal.\n\n")),
                      *_fenced(bench, put(signal.text), "STYLE SIGNAL")]
        parts.append(Part(hash=put(f"\n{self.prompt.after}")))
        messages = (Message(role="system", parts=(Part(hash=put(self.prompt.system)),)),
                    Message(role="user", parts=tuple(parts)))
        return Ask.at(manner.endpoint, manner.model, messages, parameters=sampling(manner, cell.repeat),
                      response_schema=self.form.json_schema(), repeat=cell.repeat)


def shown_literature(bench: Bench, cell: Cell) -> str:
    """The hash of the literature that a cell shows: the whole list, or its first works."""
    name = cell.given.context or ""
    if cell.given.context_limit is None:
        return name
    return bench.store.put_text(cut_works(bench.store.get_text(name), cell.given.context_limit))


def _fenced(bench: Bench, name: str, label: str) -> list[Part]:
    lines = fence(hash_of_content=name, label=label)
    return [Part(hash=bench.store.put_text(lines.opening)), Part(hash=name),
            Part(hash=bench.store.put_text(lines.closing))]


def _attempts(*calls: Call) -> list[str]:
    return [call.attempt_id for call in calls if call.attempt]


IDEA: Final = idea_form("idea")
IDEA_JUDGES: Final = (
    IdeaJudge("idea_direct", shipped_prompt("idea_direct"), IDEA, output_tokens=(50, 80, 400)),
    IdeaJudge("idea_style_cot", shipped_prompt("idea_style_cot"), idea_form("idea_reflecting", reflects=True),
              output_tokens=(150, 300, 1500)),
    IdeaJudge("idea_llm_injection", shipped_prompt("idea_injected"), IDEA, output_tokens=(100, 160, 600),
              needs_signal=True),
    IdeaJudge("idea_extractor", shipped_prompt("idea_injected"), IDEA, output_tokens=(100, 160, 600),
              needs_signal=True),
    IdeaJudge("idea_rating", shipped_prompt("idea_rating"), rating_form("idea_rating", TEN), output_tokens=(8, 12, 64)),
)
