"""A shard: one configuration over some families, worked through cell by cell, resuming by itself.

Here belongs the order of it: what is settled already is left alone, what was answered is read again for nothing, the
rest is asked, and every judgement is remembered the moment it is made. Prefect's side of it is ``tasks``.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Sequence

from pydantic import Field

from storage.records import Judgement, Record
from storage.store import Store
from storage.vocabulary import TRANSIENT, Outcome
from tasks.judge.cells import Cell, VersionRef, cells_of
from tasks.judge.contexts import literature_limits
from tasks.judge.protocol import Bench, Protocol, judgement_row
from tasks.judge.protocols import Configuration
from tasks.models.endpoints import EndpointSpec
from tasks.models.engine import Engine

_LOG = logging.getLogger(__name__)
TEXTS_AHEAD = 200
"""Not more of them: a shard's first asks share most of their texts, and memory is for all shards."""
_PREPARING = threading.Lock()
"""Shards prepare one after another: the first asks while the second prepares, and none starves the engine's loop."""


class ShardOrder(Record):
    """What a shard is to do. Small: versions go by hashes."""

    configuration: Configuration
    endpoint: EndpointSpec
    versions: tuple[VersionRef, ...]
    """Whole families."""
    repeats: int = Field(default=1, ge=1)
    run_id: str | None = None
    retry: tuple[Outcome, ...] = ()
    """Outcomes that would count as settled but are to be asked again."""


class ShardReport(Record):
    """How a shard ended."""

    configuration: str
    wanted: int
    cached: int
    """Cells that were settled before."""
    recalled: int = 0
    """Asks that were answered before: read again, not bought again."""
    asked: int = 0
    """Asks that went to the endpoint."""
    outcomes: dict[str, int] = Field(default_factory=dict)
    """Of the cells that were not settled before."""
    transient: int = 0
    """Cells that failed in a way the next run tries again."""
    first_problem: str | None = None
    """One line about the first transient failure, for a person."""
    seconds: float = 0.0

    @property
    def is_cached(self) -> bool:
        """Whether there was nothing to do."""
        return self.cached == self.wanted

    @property
    def line(self) -> str:
        """The report as one line."""
        if self.is_cached:
            return f"{self.configuration}: all {self.wanted} cells were there"
        parts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(self.outcomes.items()))
        return f"{self.configuration}: {self.wanted} cells, {self.cached} were there; {parts}; {self.asked} asks"


def wanted_cells(
    configuration: Configuration, endpoint: EndpointSpec, versions: Sequence[VersionRef], repeats: int = 1
) -> list[Cell]:
    """Every cell that a configuration wants over some versions (whole families); its own repeats go first; pure."""
    protocol, manner = configuration.way(), configuration.manner(endpoint)
    limits = literature_limits(manner, versions) if protocol.is_about_ideas else None
    times = configuration.repeats or repeats
    return cells_of(protocol.identity(configuration.scoring), manner, versions, times, limits)


def judge_shard(store: Store, engine: Engine, order: ShardOrder) -> ShardReport:
    """Works a shard through and waits for it.

    Args:
        store: where judgements are remembered.
        engine: the process's engine for this store and run.
        order: what to do.

    Returns:
        What was there, what was made, and what failed. Judgements are in the store when this returns.

    Raises:
        EnvironmentProblem: when the endpoint cannot be used at all (no key, missing extra).
        StoreError: when the store cannot be used.
    """
    started = time.perf_counter()
    configuration = order.configuration
    protocol = configuration.way()
    bench = Bench(store, engine, configuration.manner(order.endpoint), order.run_id, insists=bool(order.retry))
    with _PREPARING:
        cells = wanted_cells(configuration, order.endpoint, order.versions, order.repeats)
        # Two versions with equal content are one question: asked once, answered for both.
        by_key = {cell.key: cell for cell in cells}
        missing = store.missing("judgements", list(by_key), retry=order.retry)
        refused, asked = _prepared(bench, protocol, [by_key[key] for key in missing])
    made = refused + _judged(bench, protocol, asked)
    outcomes = Counter(judgement.outcome for judgement in made)
    transient = [judgement for judgement in made if judgement.outcome in TRANSIENT]
    problem = f"{transient[0].outcome.value}: {transient[0].reason or 'no reason given'}" if transient else None
    return ShardReport(
        configuration=configuration.name, wanted=len(by_key), cached=len(by_key) - len(missing), asked=bench.bought,
        recalled=bench.remembered,
        outcomes={outcome.value: count for outcome, count in outcomes.items()}, transient=len(transient),
        first_problem=problem, seconds=time.perf_counter() - started,
    )


def _prepared(bench: Bench, protocol: Protocol, cells: list[Cell]) -> tuple[list[Judgement], list[Cell]]:
    """The judgements of cells that are refused at once, and the cells to ask, their earlier answers looked up."""
    refused = [
        judgement_row(bench, protocol, cell, outcome=Outcome.context_too_long, reason=cell.refused, scores={},
                      call_keys=[], attempt_ids=[])
        for cell in cells if cell.refused is not None
    ]
    bench.store.append(*refused)
    asked = [cell for cell in cells if cell.refused is None]
    bench.first_asks = {cell.key: protocol.first_ask(bench, cell) for cell in asked}
    later = [ask for cell in asked for ask in protocol.foreseen(bench, cell)]
    # What is asked first is read now, so that it waits for no other shard's look at the store.
    beginning = list(bench.first_asks.values())[: bench.manner.endpoint.max_in_flight]
    with bench.store.together():
        bench.look_up([*bench.first_asks.values(), *later])
        bench.store.get_texts([name for ask in beginning for name in ask.hashes("text")][:TEXTS_AHEAD])
    return refused, asked


def _judged(bench: Bench, protocol: Protocol, cells: list[Cell]) -> list[Judgement]:
    """Judges cells; each judgement is appended as it is made."""
    if not cells:
        return []

    async def work(cell: Cell) -> Judgement:
        judgement = await protocol.judge(bench, cell)
        bench.store.append(judgement)
        if judgement.outcome is not Outcome.answered:
            _LOG.warning("cell outcome=%s model=%s protocol=%s family=%s key=%s reason=%s", judgement.outcome.value,
                         judgement.model, judgement.protocol, cell.version.family_key, cell.key, judgement.reason)
        return judgement

    engine = bench.engine
    return engine.run(engine.gather(cells, work, bench.manner.endpoint.max_in_flight))
