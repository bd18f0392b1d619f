"""The rewrite stage as Prefect sees it: one task run a family and producer, ending in a state that says what happened.

Here belongs the wrapping only. The task uses none of Prefect's caches: the store is the only one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.states import Completed, Failed, State

from storage.records import Step
from storage.store import Store
from tasks.rewrite.fitting import Paper
from tasks.rewrite.shards import Shard, ShardResult, rewrite_shard


@task(
    name="rewrite-shard",
    task_run_name="rewrite-{shard.family.family}-{shard.producer.name}",
    cache_policy=NO_CACHE,
    persist_result=False,
    tags=["rewrite"],
)
def rewrite_task(
    store: Store, shard: Shard, paper: Callable[[], Paper], run_id: str | None = None,
    tell: Callable[[Step], None] = lambda _: None, missing: Collection[str] | None = None,
) -> State[ShardResult]:
    """A shard as a Prefect task: "Cached" when all was there, Failed when something is to be tried again."""
    result = rewrite_shard(store, shard, paper, run_id=run_id, tell=tell, missing=missing)
    if result.failed:
        condition, reason = next(iter(result.failed.items()))
        said = f"{len(result.failed)} versions are to be tried again, {condition}: {reason}"
        return Failed(message=said, data=result)
    if not result.made and not result.excluded:
        return Completed(name="Cached", message=f"{len(result.cached)} versions were there", data=result)
    said = f"{len(result.made)} made, {len(result.cached)} there, {len(result.excluded)} excluded"
    return Completed(message=said, data=result)
