"""The judge stage as Prefect sees it: one task run a shard, ending in a state that says what happened.

Here belongs the wrapping only. The task uses none of Prefect's caches: the store is the only one. It has no tags: for
each tagged task run Prefect asks its API whether a limit of the tag holds, one after the other, 0.1 s each.
"""

from __future__ import annotations

from typing import Any

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.states import Completed, Failed, State

from storage.store import open_store
from tasks.judge.shards import ShardOrder, ShardReport, judge_shard
from tasks.models.engine import engine_for
from tasks.models.shares import shared_limits


def shard_state(report: ShardReport) -> State[Any]:
    """The state that a shard's report amounts to: Cached, Completed, or Failed for what the next run tries again."""
    if report.transient:
        return Failed(message=f"{report.line}; first: {report.first_problem}", data=report)
    if report.is_cached:
        return Completed(name="Cached", message=report.line, data=report)
    return Completed(message=report.line, data=report)


@task(
    name="judge-shard",
    task_run_name="judge-{order.configuration.name}",
    cache_policy=NO_CACHE,
    persist_result=False,
)
def judge_shard_task(
    store_url: str, order: ShardOrder, blobs: str | None = None, is_shared: bool = False, settled: int = 0
) -> State[Any]:
    """Judge one configuration over some families.

    Args:
        store_url: the store's address; opened once a process.
        order: the configuration, its endpoint and the versions by hash.
        blobs: address of the blob folder, where it does not lie beside the store.
        settled: how many cells it has, when the flow has seen that all of them are settled; 0 when it has not.
        is_shared: whether the provider's global limits hold, together with other processes; else the endpoint's own.
    """
    if settled:
        return shard_state(ShardReport(configuration=order.configuration.name, wanted=settled, cached=settled))
    store = open_store(store_url, blobs=blobs)
    engine = engine_for(store, order.run_id)
    with shared_limits(engine, order.endpoint if is_shared else None):
        return shard_state(judge_shard(store, engine, order))
