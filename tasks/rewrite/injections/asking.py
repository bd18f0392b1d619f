"""Many asks at once: what was answered before is recalled in one query, the rest is asked; nothing is bought twice.

Here belongs only that. What is asked and how answers are read is the callers' matter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from storage.records import Call
from storage.store import Store
from storage.vocabulary import Outcome
from tasks.models.asks import Ask
from tasks.models.endpoints import EndpointSpec
from tasks.models.engine import Engine
from tasks.models.memory import recall

WIDTH = 256
"""Coroutines at a time; how many requests are in flight is each endpoint's matter."""


class Wanted(NamedTuple):
    """One ask and where it goes."""

    ask: Ask
    endpoint: EndpointSpec
    accept: Callable[[Call], Outcome]


def answers(store: Store, engine: Engine, wanted: Sequence[Wanted]) -> list[Call]:
    """The call that answers each ask, in order: an acceptable earlier one, else a new one.

    Raises:
        EnvironmentProblem: when an endpoint's key variable is not set.
    """
    earlier = recall(store, [each.ask.key for each in wanted])

    async def answer(each: Wanted) -> Call:
        known = earlier.get(each.ask.key, [])
        for call in known:
            if each.accept(call) is Outcome.answered:
                return call
        if len(known) >= each.endpoint.attempts:
            return known[-1]
        return await engine.ask(each.ask, each.endpoint, each.accept)

    return engine.run(engine.gather(wanted, answer, WIDTH)) if wanted else []
