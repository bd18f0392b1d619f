"""Benchmark: ingest, rewrite, retrieve, judge, aggregate, publish, in this order; what is done is not done again."""

from __future__ import annotations

from typing import Any, Literal

from prefect import flow, runtime
from prefect.exceptions import FailedRun
from prefect.logging import get_run_logger
from prefect.states import Completed, Failed, State

from flows.aggregate import aggregate
from flows.failures import publish_operations
from flows.ingest import ingest
from flows.judge import judge
from flows.progress import BOARD
from flows.publish import publish, stored_results
from flows.retrieve import retrieve
from flows.retrying import reasons
from flows.rewrite import rewrite
from flows.runners import run_name
from flows.sitting import Sitting, sit
from storage.records import Run
from storage.results import Results

Stage = Literal["ingest", "rewrite", "retrieve", "judge", "aggregate", "publish"]
STAGES: tuple[Stage, ...] = ("ingest", "rewrite", "retrieve", "judge", "aggregate", "publish")


def _note(sitting: Sitting, event: Literal["started", "ended"], state: str, facts: dict[str, Any]) -> None:
    flow_run = runtime.flow_run.id
    sitting.store.append(
        Run(
            run_id=sitting.run_id,
            suite=sitting.suite.name,
            suite_hash=sitting.suite.hash(),
            event=event,
            state=state,
            flow_run_id=str(flow_run) if flow_run else None,
            facts=facts,
        )
    )
    sitting.store.flush()


def summary(results: Results) -> str:
    """The run in one line: what was judged, what is missing, what is left out."""
    wanted = sum(entry.cells.wanted for entry in results.configurations)
    answered = sum(entry.cells.answered for entry in results.configurations)
    parts = [f"{answered:,} of {wanted:,} cells judged", f"{len(results.families)} families"]
    final = [entry for entry in results.exclusions if entry.reason != "not_run"]
    if final:
        parts.append(f"{len(final)} exclusions")
    told = f"{results.suite}: " + ", ".join(parts)
    for other in results.provenance.get("companions", []):
        told += f"; {other['suite']}: {other['answered']:,} of {other['wanted']:,} cells judged"
    return told


@flow(name="benchmark", flow_run_name=run_name)
def benchmark(
    suite: str,
    set_fields: list[str] | None = None,
    store_url: str | None = None,
    out: str | None = None,
    only: Stage | None = None,
    retry: list[str] | None = None,
    run_id: str | None = None,
    only_failed: bool = False,
) -> State[Any]:
    """Run a suite from its sources to its report; resumes by itself.

    Args:
        suite: name of a shipped suite, or path of a suite file.
        set_fields: overrides as a.b=value.
        store_url: where everything is remembered; by default .evenhand/store.duckdb.
        out: the report's folder; by default .evenhand/reports/SUITE.
        only: one stage; None is all.
        retry: outcomes and reasons to try again although they are final.
        run_id: the run this belongs to; None for a new one.
        only_failed: try everything again that failed for good, too; what is there is never bought again.
    """
    retry = reasons(retry, only_failed)
    sitting = sit(suite, set_fields, store_url, run_id)
    common: dict[str, Any] = {
        "suite": suite,
        "set_fields": set_fields,
        "store_url": sitting.store.url,
        "run_id": sitting.run_id,
    }
    companions = sitting.companions()
    _note(sitting, "started", "running", {"only": only})
    states = _stages(sitting, common, only, retry)
    for name, companion in zip(sitting.suite.companions, companions, strict=True):
        own = common | {"suite": str(sitting.suite.path(name)), "set_fields": None}
        BOARD.turn_to(companion.suite.name)
        states += _stages(companion, own, only, retry)
    BOARD.turn_to("")
    if only not in (None, "aggregate", "publish"):
        return _ended(sitting, states, None, None)
    made = aggregate(**common)
    results = stored_results(sitting.store, made)
    if only != "aggregate":
        publish(made, sitting.store.url, out)
        publish_operations(results)
    return _ended(sitting, states, results, made)


def _stages(
    sitting: Sitting, common: dict[str, Any], only: Stage | None, retry: list[str] | None
) -> list[State[Any]]:
    """The stages of one suite that make something, as far as they are asked for."""
    states: list[State[Any]] = []
    if only in (None, "ingest"):
        states.append(_sound(ingest(**common, retry=retry, return_state=True)))
    if only in (None, "rewrite") and sitting.families():
        states.append(_sound(rewrite(**common, retry=retry, return_state=True)))
    if only in (None, "retrieve") and sitting.suite.benchmark == "sci_style":
        states.append(_sound(retrieve(**common, return_state=True)))
    if only in (None, "judge") and sitting.families():
        states.append(_sound(judge(**common, retry=retry, return_state=True)))
    return states


def _sound(state: State[Any]) -> State[Any]:
    """A stage's state; a stage that broke (instead of ending with things missing) breaks the run.

    Raises:
        Exception: what the stage raised; a ``UserError`` ends the command line with its one line.
    """
    ended = state.result(raise_on_failure=False)
    if isinstance(ended, Exception) and not isinstance(ended, FailedRun):
        raise ended
    return state


def _first_problem(failed: list[State[Any]]) -> str | None:
    """What the first task that failed says of it, for a person."""
    for stage in failed:
        ended = stage.result(raise_on_failure=False)
        for task in ended if isinstance(ended, list) else []:
            if not task.is_completed():
                return str(task.message)
    return failed[0].message if failed else None


def _ended(sitting: Sitting, states: list[State[Any]], results: Results | None, made: str | None) -> State[Any]:
    failed = [state for state in states if not state.is_completed()]
    told = summary(results) if results else f"{sitting.suite.name}: stage ended"
    state = results.state if results else ("stage_with_gaps" if failed else "stage_complete")
    _note(sitting, "ended", state, {"summary": told})
    data = {"state": state, "summary": told, "results": made, "problem": _first_problem(failed)}
    if failed:
        get_run_logger().error("suite=%s problem=%s", sitting.suite.name, data["problem"])
        return Failed(message=f"{told}; {failed[0].message}", data=data)
    if state == "failed":
        return Failed(message=f"{told}: no family could be used", data=data)
    name = "Completed with gaps" if state == "complete_with_gaps" else None
    return Completed(message=told, name=name, data=data)
