"""Retrieve: the literature that is shown beside each idea of a suite, frozen as snapshots."""

from __future__ import annotations

from typing import Any

from prefect import flow
from prefect.states import Completed, State

from flows.ideas import retrieve_orders
from flows.progress import BOARD
from flows.runners import are_threads, run_name, task_runner
from flows.sitting import sit
from storage.records import Step
from tasks.retrieve.sources import missing_snapshots
from tasks.retrieve.tasks import retrieve_task

STAGE = "retrieve"
CONTEXTS_AT_ONCE = 4

RUNNER: Any = task_runner(CONTEXTS_AT_ONCE)


def _tell(step: Step) -> None:
    BOARD.advance(STAGE, failed=0 if step.outcome == "done" else 1)


@flow(name="retrieve", flow_run_name=run_name, task_runner=RUNNER)
def retrieve(
    suite: str,
    set_fields: list[str] | None = None,
    store_url: str | None = None,
    run_id: str | None = None,
) -> list[State[Any]] | State[Any]:
    """Find the literature of a sci_style suite that is not there yet; what was found once is never searched again.

    Args:
        suite: name of a shipped suite, or path of a suite file.
        set_fields: overrides as a.b=value.
        store_url: where everything is remembered; by default .evenhand/store.duckdb.
        run_id: the run this belongs to; None for a run of its own.
    """
    sitting = sit(suite, set_fields, store_url, run_id)
    if sitting.suite.benchmark != "sci_style":
        return Completed(message="no ideas, no literature")
    orders = retrieve_orders(sitting.suite, sitting.families())
    wanted = sum(len(order.families) for order in orders)
    there = wanted - sum(len(missing_snapshots(sitting.store, order)) for order in orders)
    BOARD.start(STAGE, wanted)
    BOARD.advance(STAGE, there, cached=there)
    tell = _tell if are_threads() else None
    futures = [retrieve_task.submit(sitting.store.url, order, sitting.run_id, tell) for order in orders]
    for future in futures:
        future.wait()
    BOARD.end(STAGE)
    sitting.store.flush()
    return [future.state for future in futures] or Completed(message="no context shows literature")
