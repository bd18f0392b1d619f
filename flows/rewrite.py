"""Rewrite: every family in other words, by every producer under every condition; checked and built."""

from __future__ import annotations

from typing import Any

from prefect import flow
from prefect.states import Completed, State

from flows.fidelity import audit_state, audit_versions
from flows.grid import rewrite_shards
from flows.ideas import variant_shards
from flows.pairs import injection_shards
from flows.progress import BOARD
from flows.runners import are_threads, is_deployed, run_name, task_runner
from flows.sitting import Sitting, sit
from storage.records import Step
from tasks.rewrite.ideas.making import missing_variants
from tasks.rewrite.ideas.tasks import vary_task
from tasks.rewrite.injections.making import missing_injections
from tasks.rewrite.injections.tasks import inject_task
from tasks.rewrite.shards import missing_of
from tasks.rewrite.tasks import rewrite_task

STAGE = "rewrite"
SHARDS_AT_ONCE = 4
"""Shards in progress; how many builds run at a time is limited for the whole process."""


def _tell(step: Step) -> None:
    BOARD.advance(STAGE, failed=0 if step.outcome == "done" else 1)


RUNNER: Any = task_runner(SHARDS_AT_ONCE)


@flow(name="rewrite", flow_run_name=run_name, task_runner=RUNNER)
def rewrite(
    suite: str,
    set_fields: list[str] | None = None,
    store_url: str | None = None,
    retry: list[str] | None = None,
    run_id: str | None = None,
) -> list[State[Any]] | State[Any]:
    """Make the versions of a suite that are not there yet.

    Args:
        suite: name of a shipped suite, or path of a suite file.
        set_fields: overrides as a.b=value.
        store_url: where everything is remembered; by default .evenhand/store.duckdb.
        retry: reasons of exclusions to try again although they are final, e.g. sets_differ.
        run_id: the run this belongs to; None for a run of its own.
    """
    sitting = sit(suite, set_fields, store_url, run_id)
    sitting.engine()
    if sitting.suite.benchmark == "judge_bias":
        return inject(sitting, frozenset(retry or ()))
    if sitting.suite.benchmark == "sci_style":
        return vary(sitting, frozenset(retry or ()))
    shards = rewrite_shards(sitting.suite, sitting.families(), frozenset(retry or ()))
    lacking = missing_of(sitting.store, shards)
    wanted, there = sum(len(shard.keys()) for shard in shards), sum(len(names) for names in lacking)
    BOARD.start(STAGE, wanted)
    BOARD.advance(STAGE, wanted - there, cached=wanted - there)
    futures = [
        rewrite_task.submit(
            sitting.store.url,
            shard,
            run_id=sitting.run_id,
            missing=missing,
            tell=_tell if are_threads() else None,
            is_shared=is_deployed(),
        )
        for shard, missing in zip(shards, lacking, strict=True)
    ]
    for future in futures:
        future.wait()
    BOARD.end(STAGE)
    sitting.store.flush()
    audited = [audit_state(step) for step in audit_versions(sitting) if step.outcome == "failed"]
    return [*(future.state for future in futures), *audited[:1]] or Completed(message="nothing to rewrite")


def inject(sitting: Sitting, retry: frozenset[str]) -> list[State[Any]] | State[Any]:
    """Make the injections of a judge_bias suite that are not there yet; called inside the flow."""
    shards = injection_shards(sitting.suite, sitting.families(), retry)
    open_ = sum(len(missing_injections(sitting.store, shard)) for shard in shards)
    wanted = sum(len({each.key for each in shard.injections()}) for shard in shards)
    BOARD.start(STAGE, wanted)
    BOARD.advance(STAGE, wanted - open_, cached=wanted - open_)
    tell = _tell if are_threads() else None
    futures = [inject_task.submit(sitting.store.url, shard, sitting.run_id, tell) for shard in shards]
    for future in futures:
        future.wait()
    BOARD.end(STAGE)
    sitting.store.flush()
    return [future.state for future in futures] or Completed(message="nothing to inject")


def vary(sitting: Sitting, retry: frozenset[str]) -> list[State[Any]] | State[Any]:
    """Make the variants of a sci_style suite that are not there yet; called inside the flow."""
    shards = variant_shards(sitting.suite, sitting.families(), retry)
    wanted = sum(len(shard.wanted()) for shard in shards)
    there = wanted - sum(len(missing_variants(sitting.store, shard)) for shard in shards)
    BOARD.start(STAGE, wanted)
    BOARD.advance(STAGE, there, cached=there)
    tell = _tell if are_threads() else None
    futures = [vary_task.submit(sitting.store.url, shard, sitting.run_id, tell) for shard in shards]
    for future in futures:
        future.wait()
    BOARD.end(STAGE)
    sitting.store.flush()
    return [future.state for future in futures] or Completed(message="nothing to vary")
