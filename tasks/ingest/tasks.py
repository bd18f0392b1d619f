"""The ingest stage as Prefect sees it: one task run a paper, ending in a state that says what happened.

Here belongs the wrapping only. The task uses none of Prefect's caches: the store is the only one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.states import Completed, Failed, State

from storage.errors import InputError
from storage.store import open_store
from tasks.ingest.family import Ingested, ingest_family
from tasks.ingest.sources import Source


def refuse_twins(ingested: Sequence[Ingested]) -> None:
    """Check that no two families are the same paper under two names.

    Raises:
        InputError: two are; their scores would be one and the same.
    """
    names: dict[str, str] = {}
    for one in ingested:
        other = names.setdefault(one.step.key, one.name)
        if other != one.name and one.family is not None:
            raise InputError(f"the families {other} and {one.name} are the same paper; take one of them away")


def ingest_state(ingested: Ingested) -> State[Any]:
    """Cached, Completed, Excluded (a paper that does not build does not fail the run), or Failed: tried again."""
    if ingested.step.outcome == "failed":
        return Failed(message=f"{ingested.step.reason}: {ingested.step.detail}", data=ingested)
    if ingested.family is None:
        return Completed(name="Excluded", message=f"{ingested.step.reason}: {ingested.step.detail}", data=ingested)
    if ingested.is_cached:
        return Completed(name="Cached", message=f"{ingested.name} was there", data=ingested)
    return Completed(
        message=f"{ingested.name}: {ingested.family.words} words, {ingested.family.pages} pages", data=ingested
    )


@task(
    name="ingest-paper",
    task_run_name="ingest-{source.name}",
    cache_policy=NO_CACHE,
    persist_result=False,
)
def ingest_task(
    store_url: str,
    source: Source,
    run_id: str | None = None,
    retry: Collection[str] = (),
    known: Ingested | None = None,
) -> State[Any]:
    """Ingest one paper.

    Args:
        store_url: the store's address; opened once a process.
        source: the paper; its path must be reachable where the task runs.
        run_id: the run this belongs to.
        retry: reasons of exclusions to try again.
        known: what the flow has found of it already; then nothing is to do.
    """
    if known is not None:
        return ingest_state(known)
    return ingest_state(ingest_family(open_store(store_url), source, run_id=run_id, retry=retry))
