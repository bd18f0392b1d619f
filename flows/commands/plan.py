"""``evenhand plan``: what a run would take, from what is there now; makes no call."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Table

from flows.commands.console import OUT, duration, emit, say
from flows.planning import expected_grid, judging, rewriting, summed
from flows.sitting import Sitting, sit
from tasks.judge.plan import Range

SuiteName = Annotated[str, typer.Argument(metavar="SUITE", help="A shipped suite's name, or a suite file.")]
SetFields = Annotated[list[str] | None, typer.Option("--set", metavar="a.b=c", help="Override a field of the suite.")]
StoreUrl = Annotated[str | None, typer.Option("--store", help="URL of the store; default: .evenhand/store.duckdb.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]


def suite_plan(sitting: Sitting) -> dict[str, Any]:
    """The plan of one suite as a document: families, versions, configurations, totals."""
    grid = expected_grid(sitting.suite, sitting.store)
    rows = judging(sitting.suite, sitting.store, grid)
    usd = summed([row.usd for row in rows])
    return {
        "suite": sitting.suite.name,
        "families": len(grid.families),
        "versions": len(grid.versions),
        "rewrite": rewriting(sitting.suite, sitting.store, grid),
        "configurations": [row.model_dump() for row in rows],
        "total": {
            "cells": sum(row.wanted for row in rows),
            "cached": sum(row.cached for row in rows),
            "to_do": sum(row.to_do for row in rows),
            "calls": sum(row.calls for row in rows),
            "input_tokens": _dump(summed([row.input_tokens for row in rows])),
            "output_tokens": _dump(summed([row.output_tokens for row in rows])),
            "usd": _dump(usd),
            "seconds": max((row.seconds for row in rows), default=0.0),
        },
    }


def _dump(entry: Range | None) -> dict[str, float] | None:
    return None if entry is None else entry.model_dump()


def _usd(entry: dict[str, float] | None) -> str:
    return (
        "price unknown" if entry is None else f"${entry['low']:,.2f} / {entry['expected']:,.2f} / {entry['high']:,.2f}"
    )


def _tokens(entry: dict[str, float] | None) -> str:
    return "-" if entry is None else f"{entry['expected']:,.0f}"


def _show(document: dict[str, Any]) -> None:
    table = Table(box=None, padding=(0, 2))
    for heading in ("configuration", "cells", "cached", "to do", "calls", "tokens in", "out", "low / expected / high"):
        table.add_column(heading, justify="left" if heading == "configuration" else "right")
    for row in document["configurations"]:
        table.add_row(
            row["configuration"],
            f"{row['wanted']:,}",
            f"{row['cached']:,}",
            f"{row['to_do']:,}",
            f"{row['calls']:,}",
            _tokens(row["input_tokens"]),
            _tokens(row["output_tokens"]),
            _usd(row["usd"]),
        )
    OUT.print(table)
    for row in document["rewrite"]:
        OUT.print(f"rewrite by {row['producer']}: {row['to_do']:,} versions to make, {_usd(row['usd'])}")
    total = document["total"]
    say(
        f"{document['families']} families, {document['versions']} versions; {total['to_do']:,} of "
        f"{total['cells']:,} cells to do, {total['calls']:,} calls, {_usd(total['usd'])}, "
        f"about {duration(total['seconds'])}"
    )


def plan(suite: SuiteName, set_fields: SetFields = None, store: StoreUrl = None, as_json: AsJson = False) -> None:
    """Cells wanted, cached and to do; calls, tokens, dollars and time. Makes no call."""
    sitting = sit(suite, set_fields, store, None)
    document = suite_plan(sitting)
    document["companions"] = [suite_plan(companion) for companion in sitting.companions()]
    if as_json:
        emit(document)
        return
    for part in (document, *document["companions"]):
        OUT.print(part["suite"])
        _show(part)
