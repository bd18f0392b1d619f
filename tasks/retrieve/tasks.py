"""The retrieve stage as Prefect sees it: one task run a context and group of ideas.

Here belongs the wrapping only. The task uses none of Prefect's caches: the store is the only one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.states import Completed, Failed, State

from storage.ideas import Idea
from storage.records import Family, Step
from storage.store import Store, open_store
from tasks.retrieve.snapshot import Source, retrieve
from tasks.retrieve.sources import RetrieveOrder, missing_snapshots

Tell = Callable[[Step], None]


@task(name="retrieve-literature", task_run_name="retrieve-{order.spec.name}", cache_policy=NO_CACHE,
      persist_result=False)
def retrieve_task(
    store_url: str, order: RetrieveOrder, run_id: str | None = None, tell: Tell | None = None
) -> State[Counter[str]]:
    """Make what snapshots an order lacks: "Cached" when all were there, Failed when some are to be tried again.

    Args:
        store_url: the store's address; opened once a process.
        order: the context and the ideas.
        run_id: enters the step rows.
        tell: called with each step that ended, when the task runs in the flow's own process.
    """
    store = open_store(store_url)
    todo = missing_snapshots(store, order)
    if not todo:
        return Completed(name="Cached", message=f"{len(order.families)} snapshots were there", data=Counter())
    steps = retrieve_all(store, order, todo, run_id, tell or (lambda _: None))
    outcomes = Counter(step.outcome for step in steps)
    short = sum(bool(step.output.get("shortfall")) for step in steps if step.outcome == "done")
    failed = [step for step in steps if step.outcome == "failed"]
    if failed:
        said = f"{len(failed)} snapshots are to be tried again; first: {failed[0].detail}"
        return Failed(message=said, data=outcomes)
    return Completed(message=f"{len(steps)} snapshots made, {short} with fewer works than wanted", data=outcomes)


def retrieve_all(
    store: Store, order: RetrieveOrder, families: Sequence[Family], run_id: str | None, tell: Tell
) -> list[Step]:
    """The snapshots of some ideas, one after another: the limiters allow no more."""
    sources: dict[str, Source] = {}
    steps = []
    for family in families:
        idea = Idea.model_validate(family.facts)
        if idea.domain not in sources:
            sources[idea.domain] = order.source_of(idea)
        steps.append(retrieve(store, sources[idea.domain], family, run_id))
        tell(steps[-1])
    return steps
