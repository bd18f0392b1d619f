"""``evenhand run`` and ``evenhand retry``: a suite as Prefect flows, with bars; the exit code says how it ended."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from prefect.states import State

from flows.benchmark import Stage, benchmark
from flows.commands.console import emit, logs_to_file, progress, say
from flows.home import default_store, home, log_folder
from flows.preflight import check
from flows.progress import BOARD
from flows.publish import default_out
from flows.retrying import reasons
from flows.server import prefect_api
from flows.suites import load_suite
from storage.errors import UserError
from storage.records import new_id
from storage.store import open_store

SuiteName = Annotated[str, typer.Argument(metavar="SUITE", help="A shipped suite's name, or a suite file.")]
SetFields = Annotated[list[str] | None, typer.Option("--set", metavar="a.b=c", help="Override a field of the suite.")]
StoreUrl = Annotated[str | None, typer.Option("--store", help="URL of the store; default: .evenhand/store.duckdb.")]
Out = Annotated[Path | None, typer.Option("--out", help="The report's folder; default: .evenhand/reports/SUITE.")]
Only = Annotated[Stage | None, typer.Option("--only", help="One stage.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Reasons = Annotated[
    list[str] | None, typer.Option("--reason", help="An outcome or exclusion reason; may be given again. Default: all.")
]

EXIT_FAILED, EXIT_GAPS = 1, 3


def _run_flow(
    suite: str, fields: list[str] | None, store: str, out: Path, only: Stage | None, retry: list[str]
) -> dict[str, Any]:
    run_id = new_id()
    log = log_folder() / f"{run_id}.log"
    logs_to_file(log)
    BOARD.clear()
    with prefect_api(home()), progress():
        state: State[Any] = benchmark(
            suite=suite,
            set_fields=fields,
            store_url=store,
            out=str(out),
            only=only,
            retry=retry or None,
            run_id=run_id,
            return_state=True,
        )
    ended = state.result(raise_on_failure=False)
    if isinstance(ended, dict):
        return ended
    if isinstance(ended, UserError):
        raise ended
    say(f"evenhand: the run failed: {state.message}; the log is {log}")
    return {"state": "failed", "summary": None}


def _finish(ended: dict[str, Any], page: Path, only: Stage | None, as_json: bool) -> None:
    told, how = ended["summary"], ended["state"]
    if told:
        say(told)
    shown = page if only in (None, "publish") and page.exists() else None
    if as_json:
        emit({"state": how, "summary": told, "report": str(shown) if shown else None})
    elif shown:
        say(f"report: {shown}")
    if problem := ended.get("problem"):
        say(problem)
    if how in ("complete_with_gaps", "stage_with_gaps"):
        say("cells are missing: `evenhand status` says which, `evenhand retry` asks them again")
        raise typer.Exit(EXIT_GAPS)
    if how not in ("complete", "stage_complete"):
        raise typer.Exit(EXIT_FAILED)


def _run(
    name: str,
    fields: list[str] | None,
    store: str | None,
    out: Path | None,
    only: Stage | None,
    retry: list[str],
    as_json: bool,
) -> None:
    suite = load_suite(name, fields or ())
    check(suite)
    for companion in suite.companions:
        check(load_suite(str(suite.path(companion))))
    url = open_store(store or default_store()).url
    folder = (out or default_out(suite.name)).resolve()
    ended = _run_flow(name, fields, url, folder, only, retry)
    _finish(ended, folder / "index.html", only, as_json)


def run(
    suite: SuiteName,
    set_fields: SetFields = None,
    store: StoreUrl = None,
    out: Out = None,
    only: Only = None,
    as_json: AsJson = False,
) -> None:
    """Run a suite from its sources to its report; resumes by itself."""
    _run(suite, set_fields, store, out, only, [], as_json)


def retry(
    suite: SuiteName,
    reason: Reasons = None,
    set_fields: SetFields = None,
    store: StoreUrl = None,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Run what failed, nothing else: also what failed for good, unless --reason narrows it."""
    _run(suite, set_fields, store, out, None, reasons(reason, only_failed=True) or [], as_json)
