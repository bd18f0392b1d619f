"""What the native reviewers share: options, a session that remembers each step, and how a chain of calls becomes one
judgement.

Here belongs nothing that a single reviewer does. A reviewer's flow, prompts and parsers are its own module's; each was
rebuilt from a description of the released code, and none of its words are copied.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, ValidationError

from storage.keys import content_hash
from storage.records import Call, Judgement, Record
from storage.vocabulary import TRANSIENT, Outcome
from tasks.judge.cells import Cell, Scoring
from tasks.judge.protocol import Bench, Protocol, judgement_row
from tasks.judge.wording import Script
from tasks.models.asks import Ask, Message, Part, Role
from tasks.models.engine import take_any
from tasks.models.fence import fence


class Options(Record):
    """What a configuration may set of any native reviewer."""

    parser: Literal["native", "fixed"] = "fixed"
    """``native``: answers are read as the released code reads them, its faults included."""
    prompt: str | None = Field(default=None, min_length=1)
    """The system prompt that a checkpoint was trained with, supplied by the user; None: the adapter's own text."""


class Stopped(Exception):
    """A review ended without a score, for a typed reason."""

    def __init__(self, outcome: Outcome, reason: str | None) -> None:
        super().__init__(reason)
        self.outcome = outcome
        self.reason = reason


class Scored(Record):
    """What a review came to."""

    scores: dict[str, float]
    flags: list[str] = Field(default_factory=list)


@dataclass(slots=True)
class Session:
    """One review of one version: what was asked so far, in order."""

    bench: Bench
    cell: Cell
    asked: dict[str, str | None] = field(default_factory=dict)
    """Key -> the attempt that answered, in the order in which steps began."""

    @property
    def keys(self) -> list[str]:
        """The keys of its steps."""
        return list(self.asked)

    @property
    def attempts(self) -> list[str]:
        """The attempts it was read from."""
        return [attempt for attempt in self.asked.values() if attempt is not None]

    def says(self, role: Role, *texts: str) -> Message:
        """A message; its texts are stored."""
        return says(self.bench, role, *texts)

    async def ask(
        self,
        messages: Sequence[Message],
        *,
        changed: Mapping[str, Any] | None = None,
        draw: int = 0,
        draws: int = 1,
        accept: Callable[[Call], Outcome] = take_any,
    ) -> Call:
        """One step, asked or recalled.

        Args:
            messages: the conversation so far.
            changed: parameters that this step sets otherwise; one that the configuration took away stays away.
            draw: which of several answers to the same words this is.
            draws: how many of them there are.
            accept: reads the answer; by default any answer is taken, as the released code does.

        Raises:
            Stopped: when there is no answer.
        """
        ask = step(self.bench, self.cell, messages, changed=changed, draw=draw, draws=draws)
        return await self.send(ask, accept)

    async def begin(self, accept: Callable[[Call], Outcome] = take_any) -> Call:
        """The first step, which was prepared with its shard.

        Raises:
            Stopped: when there is no answer.
        """
        return await self.send(self.bench.first_asks[self.cell.key], accept)

    async def send(self, ask: Ask, accept: Callable[[Call], Outcome]) -> Call:
        """One prepared step.

        Raises:
            Stopped: when there is no answer.
        """
        self.asked.setdefault(ask.key, None)
        call = await self.bench.ask(ask, accept)
        if call.attempt:
            self.asked[ask.key] = call.attempt_id
        if call.outcome is not Outcome.answered:
            raise Stopped(call.outcome, call.error)
        return call


def says(bench: Bench, role: Role, *texts: str) -> Message:
    """A message of stored texts, joined as they are."""
    return Message(role=role, parts=tuple(Part(hash=bench.store.put_text(text)) for text in texts))


def fenced_paper(bench: Bench, cell: Cell) -> tuple[Part, ...]:
    """The paper between its marked lines, or as a file."""
    if cell.given.kind == "pdf":
        return (Part(kind="pdf", hash=cell.given.hash),)
    shown = bench.shown_text(cell)
    lines = fence(hash_of_content=shown)
    put = bench.store.put_text
    return Part(hash=put(lines.opening)), Part(hash=shown), Part(hash=put(lines.closing))


def step(
    bench: Bench,
    cell: Cell,
    messages: Sequence[Message],
    *,
    changed: Mapping[str, Any] | None = None,
    draw: int = 0,
    draws: int = 1,
) -> Ask:
    """The request of one step; each draw of each repeat is a question of its own."""
    manner, place = bench.manner, cell.repeat * draws + draw
    parameters = manner.parameters | {
        name: value for name, value in (changed or {}).items() if name in manner.parameters
    }
    if place and (manner.endpoint.kind == "phantom" or "seed" in parameters):
        parameters["seed"] = int(parameters.get("seed", 0)) + place
    return Ask.at(manner.endpoint, manner.model, tuple(messages), parameters=parameters, repeat=place)


class Reviewer(Protocol):
    """A reviewer with a flow of its own."""

    version: ClassVar[int] = 1
    """Raised by hand when the flow or its reading changes."""
    options_type: ClassVar[type[Options]] = Options
    script: ClassVar[Script]
    """Its words, when the user supplies none."""
    trained_on_a_prompt: ClassVar[bool] = False
    """Whether its checkpoint expects one exact prompt."""
    scale: ClassVar[str] = "1 to 10"
    """Of its overall score, for the report: scores stay on the reviewer's own scale."""
    faults: ClassVar[str] = ""
    """What ``parser: native`` keeps of the released code's faults."""

    def __init__(self, options: Options | None = None) -> None:
        self.options = options or self.options_type()

    def with_options(self, options: Mapping[str, Any]) -> Self:
        """The reviewer with a configuration's options.

        Raises:
            ValueError: for an option that it does not have, or a wrong value.
        """
        try:
            return type(self)(self.options_type.model_validate(dict(options)))
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise ValueError(f"options.{place} of {self.name}: {first['msg']}") from error

    def identity(self, scoring: Scoring) -> dict[str, Any]:
        """The flow's version, its words and options by content, and how answers are read."""
        options = self.options.model_dump(mode="json")
        hashed = {name: content_hash(value) if name in _TEXTS and value else value for name, value in options.items()}
        return {"kind": "native", "reviewer": self.name, "version": self.version, "words": self.script.hash,
                "options": hashed, "parser": self.parser(scoring)}

    def parser(self, scoring: Scoring) -> str:  # noqa: ARG002 - the protocol's interface
        """``REVIEWER/native/1`` or ``REVIEWER/fixed/1``."""
        return f"{self.name}/{self.options.parser}/{self.version}"

    @property
    def is_native(self) -> bool:
        """Whether answers are read with the released code's faults."""
        return self.options.parser == "native"

    def system(self, part: str = "System") -> str:
        """The system prompt: the user's, or our own."""
        return self.options.prompt or self.script[part]

    def notes(self) -> dict[str, str]:
        """Whose prompt, which parser, which scale, which form of the paper."""
        own = "own text; the checkpoint was trained with another" if self.trained_on_a_prompt else "own text"
        parser = f"native, as released: {self.faults}" if self.is_native else "fixed"
        return {"prompt": own if self.options.prompt is None else "supplied by the user", "parser": parser,
                "scale": self.scale, "paper as": self.reads or "PDF or text"}

    @abstractmethod
    async def review(self, session: Session) -> Scored:
        """The whole flow for one version.

        Raises:
            Stopped: when it ends without a score.
        """

    async def judge(self, bench: Bench, cell: Cell) -> Judgement:
        """The judgement of one cell; every step is remembered, so a killed review goes on where it was."""
        session = Session(bench, cell)
        flags = ["own_prompt"] if self.trained_on_a_prompt and self.options.prompt is None else []
        try:
            found = await self.review(session)
        except Stopped as stopped:
            return judgement_row(bench, self, cell, outcome=stopped.outcome, reason=stopped.reason, scores={},
                                 flags=flags, call_keys=session.keys, attempt_ids=session.attempts)
        return judgement_row(bench, self, cell, outcome=Outcome.answered, reason=None, scores=found.scores,
                             flags=[*flags, *found.flags], call_keys=session.keys, attempt_ids=session.attempts)


_TEXTS = frozenset({"prompt", "fewshot"})
"""Options that hold whole texts: they enter keys by content hash."""


def tolerated(stopped: Stopped) -> str:
    """The flag of a step that may fail without the review; a passing failure is none of those.

    Raises:
        Stopped: when the failure may pass: the next run asks again, and nothing is settled without the step.
    """
    if stopped.outcome in TRANSIENT:
        raise stopped
    return stopped.outcome.value
