"""What a protocol is: something that judges one cell with the means it is handed.

Here belong the interface and the means (asking with recall, deriving what is shown). A protocol of several calls
builds its judgement from several asks; each is remembered, so that a killed one does not pay again for the steps it
has.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from storage.records import Call, Judgement
from storage.store import Store
from storage.vocabulary import Outcome
from tasks.judge.cells import Cell, Manner, Scoring, manner_key
from tasks.judge.inputs import InputKind, abstract_of, cut
from tasks.judge.recalls import Recalls
from tasks.judge.renderings import latex_of, markdown_of
from tasks.models.asks import Ask
from tasks.models.endpoints import EndpointSpec
from tasks.models.engine import Engine


@dataclass(slots=True)
class Bench:
    """The means of one shard: where it asks, and what it knows already."""

    store: Store
    engine: Engine
    manner: Manner
    run_id: str | None = None
    insists: bool = False
    """Whether to ask on although every allowed attempt was answered without a score (a deliberate retry)."""
    first_asks: dict[str, Ask] = field(default_factory=dict)
    """By cell key: the ask that begins it."""
    settled: dict[str, Call] = field(default_factory=dict)
    """What each ask of this shard came to: two cells that ask the same thing ask it once."""
    bought: int = 0
    """Asks that went to the endpoint."""
    remembered: int = 0
    """Asks that an earlier answer settled."""

    _recalls: Recalls = field(init=False)
    _turns: dict[str, asyncio.Lock] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._recalls = Recalls(self.store)

    def look_up(self, asks: list[Ask]) -> None:
        """Finds earlier answers of many asks in one query; from the shard's thread."""
        self._recalls.look_up([ask.key for ask in asks])

    async def ask(self, ask: Ask, accept: Callable[[Call], Outcome], endpoint: EndpointSpec | None = None) -> Call:
        """An acceptable earlier answer for nothing, else a new one.

        Args:
            ask: what is asked.
            accept: reads an answered call and says ``answered``, or why not.
            endpoint: where, for a step that another model does; None is the manner's own.

        Returns:
            The accepted call, or the last that was not accepted. Where earlier runs were answered as often as the
            endpoint allows without an acceptable answer, their last one.
        """
        async with self._turns.setdefault(ask.key, asyncio.Lock()):
            if ask.key in self.settled:
                self.remembered += 1
            else:
                self.settled[ask.key] = await self._answer(ask, accept, endpoint or self.manner.endpoint)
            return self.settled[ask.key]

    async def _answer(self, ask: Ask, accept: Callable[[Call], Outcome], endpoint: EndpointSpec) -> Call:
        earlier = await self._recalls.of(ask.key)
        for call in earlier:
            if accept(call) is Outcome.answered:
                self.remembered += 1
                return call
        if earlier and not self.insists and len(earlier) >= endpoint.attempts:
            self.remembered += 1
            return earlier[-1]
        self.bought += 1
        return await self.engine.ask(ask, endpoint, accept)

    def shown_text(self, cell: Cell) -> str:
        """The hash of the text that a cell shows: the version's own, its abstract, its LaTeX, or its beginning."""
        given = cell.given
        if given.kind == "text" and given.limit_chars is None:
            return given.hash
        return self.store.put_text(self.shown(cell))

    def shown(self, cell: Cell) -> str:
        """The text that a cell shows.

        Raises:
            StoreDamaged: when the version's text or source is not in the store.
        """
        given = cell.given
        if given.kind == "latex":
            text = latex_of(self.store, given.hash)
        else:
            text = self.store.get_text(given.hash)
            text = {"abstract": abstract_of, "markdown": markdown_of}.get(given.kind, str)(text)
        return text if given.limit_chars is None else cut(text, given.limit_chars)


class Planned(NamedTuple):
    """A step as a plan counts it. Protocols that share a question share the step: it is paid once."""

    question: str
    calls: int
    papers: int
    """How often the paper is sent in them."""
    chars: int
    """Characters of everything else that is sent, over all calls."""
    output_tokens: tuple[int, int, int]
    """Low, expected and high, over all calls."""
    is_per_repeat: bool = True


class Protocol(ABC):
    """A way to judge. Stateless; one object serves all shards."""

    name: str
    calls_per_cell: int = 1
    output_tokens: tuple[int, int, int] = (300, 900, 3000)
    """Low, expected and high tokens of all answers about one version, for plans."""
    is_about_pairs: bool = False
    """Whether its items are pairs of answers, not single texts."""
    is_about_ideas: bool = False
    """Whether its items are research ideas, perhaps with literature beside them."""
    is_about_single_answers: bool = False
    """Whether it sees each answer of a pair alone."""
    prompt_chars: int = 0
    """Characters of everything that is sent besides the paper, over all calls, for plans."""
    papers_per_cell: int = 1
    """How often the paper is sent, over all calls, for plans."""

    reads: InputKind | None = None
    """The form in which it reads papers when a configuration leaves ``input`` at auto; None: PDF or text."""

    def with_options(self, options: Mapping[str, Any]) -> Self:
        """The protocol with a configuration's options.

        Raises:
            ValueError: for an option that it does not have, or a wrong value.
        """
        if options:
            raise ValueError(f"protocol {self.name!r} takes no options, and was given {min(options)!r}")
        return self

    def questions(self, manner: Manner) -> list[str]:
        """Names of what it asks in a manner: protocols with one in common may ask the same, so they take turns."""
        return [manner_key(self.identity(manner.scoring), manner)]

    def planned(self, manner: Manner) -> list[Planned]:
        """What a plan counts for one cell."""
        question = self.questions(manner)[-1]
        return [Planned(question, self.calls_per_cell, self.papers_per_cell, self.prompt_chars, self.output_tokens)]

    def notes(self) -> dict[str, str]:
        """What a reader of its numbers must know (whose prompt it is, which parser), by name; empty for most."""
        return {}

    @abstractmethod
    def identity(self, scoring: Scoring) -> dict[str, Any]:
        """What enters judgement keys: content hashes of words and form, name and version of the reading."""

    @abstractmethod
    def parser(self, scoring: Scoring) -> str:
        """Name and version of how answers are read."""

    @abstractmethod
    def parameters(self, scoring: Scoring) -> dict[str, Any]:
        """Parameters that the protocol needs; a configuration's own go before them."""

    @abstractmethod
    def first_ask(self, bench: Bench, cell: Cell) -> Ask:
        """The ask that begins a cell; its texts are stored when this returns. Runs in the shard's thread."""

    def foreseen(self, bench: Bench, cell: Cell) -> list[Ask]:  # noqa: ARG002 - most protocols foresee none
        """Asks that are certain to follow the first: looked for together with it, in one query."""
        return []

    def wants(self, facts: Mapping[str, Any]) -> bool:  # noqa: ARG002 - most protocols judge every version
        """Whether a version is judged this way, by its facts."""
        return True

    @abstractmethod
    async def judge(self, bench: Bench, cell: Cell) -> Judgement:
        """The judgement of one cell, asked or recalled. Runs on the engine's loop; every call of it is stored."""


def judgement_row(bench: Bench, protocol: Protocol, cell: Cell, **found: Any) -> Judgement:
    """A judgement of a cell with what all protocols say alike.

    Args:
        bench: the shard's means.
        protocol: who judged.
        cell: what was judged.
        found: outcome, reason, scores, call_keys, attempt_ids, flags.
    """
    manner = bench.manner
    flags = sorted({*found.pop("flags", []), *(["trimmed"] if cell.is_trimmed else [])})
    return Judgement(
        key=cell.key, run_id=bench.run_id, protocol=protocol.name, parser=protocol.parser(manner.scoring),
        base_url=manner.endpoint.identity, model=manner.model, version_hash=cell.given.hash, repeat=cell.repeat,
        flags=flags, **found,
    )
