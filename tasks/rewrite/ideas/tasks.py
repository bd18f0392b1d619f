"""The making of variants as Prefect sees it: one task run a group of ideas, ending in a state that says what happened.

Here belongs the wrapping only. The task uses none of Prefect's caches: the store is the only one.
"""

from __future__ import annotations

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.states import Completed, Failed, State

from storage.store import open_store
from tasks.models.engine import engine_for
from tasks.rewrite.ideas.making import Tell, VariantResult, VariantShard, vary_shard


@task(name="vary-ideas", cache_policy=NO_CACHE, persist_result=False)
def vary_task(
    store_url: str, shard: VariantShard, run_id: str | None = None, tell: Tell | None = None
) -> State[VariantResult]:
    """A shard as a Prefect task: "Cached" when all was there, Failed when something is to be tried again.

    Args:
        store_url: the store's address; opened once a process.
        shard: what is wanted.
        run_id: enters the step rows.
        tell: called with each step that ended, when the task runs in the flow's own process.
    """
    store = open_store(store_url)
    result = vary_shard(store, engine_for(store, run_id), shard, run_id, tell or (lambda _: None))
    if result.failed:
        reason, count = result.failed.most_common(1)[0]
        return Failed(message=f"{result.failed.total()} variants are to be tried again; {reason}: {count}", data=result)
    if not result.made and not result.excluded:
        return Completed(name="Cached", message=f"{result.cached} variants were there", data=result)
    said = f"{result.made} made, {result.cached} there, {result.excluded.total()} excluded"
    return Completed(message=said, data=result)
