"""``evenhand report``: the page and the exports again, from what is stored; no server, no call."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flows.aggregate import results_of, with_companions
from flows.benchmark import summary
from flows.commands.console import emit, say
from flows.publish import write_all
from flows.sitting import sit

SuiteName = Annotated[str, typer.Argument(metavar="SUITE", help="A shipped suite's name, or a suite file.")]
SetFields = Annotated[list[str] | None, typer.Option("--set", metavar="a.b=c", help="Override a field of the suite.")]
StoreUrl = Annotated[str | None, typer.Option("--store", help="URL of the store; default: .evenhand/store.duckdb.")]
Out = Annotated[Path, typer.Option("--out", help="The folder for index.html, metrics.json, CSV and Parquet.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]


def report(
    suite: SuiteName, out: Out, set_fields: SetFields = None, store: StoreUrl = None, as_json: AsJson = False
) -> None:
    """Write the page, metrics.json and the tables of what is stored."""
    sitting = sit(suite, set_fields, store, None)
    results = with_companions(sitting, results_of(sitting))
    page, files = write_all(results, sitting.store, out)
    if as_json:
        emit({"state": results.state, "report": str(page), "files": [str(file) for file in files]})
        return
    say(summary(results))
    say(f"report: {page}")
