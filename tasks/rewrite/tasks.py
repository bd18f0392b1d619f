"""The rewrite stage as Prefect sees it: one task run a family and producer, ending in a state that says what happened.

Here belongs the wrapping only. The task uses none of Prefect's caches: the store is the only one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.states import Completed, Failed, State

from storage.records import Step
from storage.store import open_store
from tasks.models.engine import engine_for
from tasks.models.shares import shared_limits
from tasks.rewrite.original import paper_of
from tasks.rewrite.shards import Shard, ShardResult, rewrite_shard


def _silent(_: Step) -> None:
    """Nobody follows the steps: the shard runs in another process than the flow."""


@task(
    name="rewrite-shard",
    task_run_name="rewrite-{shard.family.family}-{shard.producer.name}",
    cache_policy=NO_CACHE,
    persist_result=False,
)
def rewrite_task(
    store_url: str, shard: Shard, run_id: str | None = None, missing: Collection[str] | None = None,
    tell: Callable[[Step], None] | None = None, is_shared: bool = False,
) -> State[ShardResult]:
    """A shard as a Prefect task: "Cached" when all was there, Failed when something is to be tried again.

    Args:
        store_url: the store's address; opened once a process.
        shard: the family, the producer and what is wanted.
        run_id: the run this belongs to.
        missing: the conditions that are not there, where they were looked up for many shards at once.
        tell: called with each step that ended, when the task runs in the flow's own process.
        is_shared: whether the provider's global limits hold, together with other processes.
    """
    store = open_store(store_url)
    with shared_limits(engine_for(store, run_id), shard.producer.endpoint if is_shared else None):
        result = rewrite_shard(
            store, shard, partial(paper_of, store, shard.family), run_id=run_id, tell=tell or _silent, missing=missing
        )
    if result.failed:
        condition, reason = next(iter(result.failed.items()))
        said = f"{len(result.failed)} versions are to be tried again, {condition}: {reason}"
        return Failed(message=said, data=result)
    if not result.made and not result.excluded:
        return Completed(name="Cached", message=f"{len(result.cached)} versions were there", data=result)
    said = f"{len(result.made)} made, {len(result.cached)} there, {len(result.excluded)} excluded"
    return Completed(message=said, data=result)
