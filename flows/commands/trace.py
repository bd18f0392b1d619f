"""``evenhand trace``: one cell, from the request to the score, for a person who doubts a number."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flows.commands.console import OUT, emit, money, say
from flows.home import default_store
from flows.sitting import sit
from flows.trace import cell_key, trace
from storage.errors import InputError
from storage.store import open_store
from tasks.report.trace_page import Trace, trace_page

WHAT = "A judgement's or call's key (its beginning is enough), or a suite with --judge, --family and --version."
What = Annotated[str, typer.Argument(metavar="KEY|SUITE", help=WHAT)]
Judge = Annotated[str | None, typer.Option("--judge", help="A configuration of the suite.")]
FamilyName = Annotated[str | None, typer.Option("--family", help="A family of the suite.")]
VersionName = Annotated[str, typer.Option("--version", help="original, or condition/producer.")]
Repeat = Annotated[int, typer.Option("--repeat", min=0, help="Which asking of the same question.")]
Page = Annotated[Path | None, typer.Option("--out", help="Write the trail as an HTML page into this file.")]
SetFields = Annotated[list[str] | None, typer.Option("--set", metavar="a.b=c", help="Override a field of the suite.")]
StoreUrl = Annotated[str | None, typer.Option("--store", help="URL of the store; default: .evenhand/store.duckdb.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]


def _show(found: Trace) -> None:
    if found.protocol is not None:
        scores = ", ".join(f"{name} {value:g}" for name, value in found.scores.items())
        ended = f"{found.outcome} {found.reason or ''}".strip()
        OUT.print(f"{found.protocol} by {found.model}, read by {found.parser}: {ended}")
        OUT.print(f"{scores or 'no score'}; {', '.join(found.flags) or 'no flags'}; {money(found.usd)}")
    for place, step in enumerate(found.steps, 1):
        OUT.rule(f"request {place} of {len(found.steps)}: {step.model}, {step.api}")
        for role, said in step.turns:
            OUT.print(f"{role}:", style="bold")
            OUT.print(said, markup=False)
        OUT.print(step.rest, markup=False)
        for attempt in step.attempts:
            read = ", scores were read from it" if attempt.attempt_id in found.read_from else ""
            spent = f"{attempt.latency_ms / 1000:.1f} s, {money(attempt.usd)}"
            OUT.rule(f"attempt {attempt.number}: {attempt.outcome}, {spent}{read}")
            came = attempt.answer if attempt.answer is not None else attempt.error
            OUT.print(came or "nothing came back", markup=False)


def trace_command(
    what: What,
    judge: Judge = None,
    family: FamilyName = None,
    version: VersionName = "original",
    repeat: Repeat = 0,
    out: Page = None,
    set_fields: SetFields = None,
    store: StoreUrl = None,
    as_json: AsJson = False,
) -> None:
    """The request of a cell rebuilt from its parts, every attempt, the raw answer, what was read, the cost."""
    url = store or default_store()
    if (judge is None) != (family is None):
        raise InputError("trace: --judge and --family go together")
    opened = open_store(url)
    key = what
    if judge is not None and family is not None:
        key = cell_key(sit(what, set_fields, url, None), judge, family, version, repeat)
    found = trace(opened, key)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(trace_page(found), encoding="utf-8")
        say(f"written to {out}")
    elif as_json:
        emit(found.model_dump(mode="json"))
    else:
        _show(found)
