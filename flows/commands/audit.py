"""``evenhand audit``: a blind sample of versions for people to check, and their verdicts back in with agreement."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flows.commands.console import emit, say
from flows.human_audit import (
    SAMPLE,
    draw_sample,
    form_items,
    human_section,
    questions_of,
    read_sheet,
    write_sheet,
)
from flows.sitting import sit
from storage.errors import InputError
from tasks.report.audit_form import audit_form

app = typer.Typer(name="audit", no_args_is_help=True, help="People's audit of versions: sample, import.")

SuiteName = Annotated[str, typer.Argument(metavar="SUITE", help="A shipped suite's name, or a suite file.")]
Out = Annotated[Path, typer.Option("--out", help="The folder for audit.csv and audit.html.")]
Count = Annotated[int, typer.Option("--count", min=1, help="How many comparisons.")]
Files = Annotated[list[Path], typer.Argument(metavar="FILE...", help="Filled-in CSV files, one a person.")]
SetFields = Annotated[list[str] | None, typer.Option("--set", metavar="a.b=c", help="Override a field of the suite.")]
StoreUrl = Annotated[str | None, typer.Option("--store", help="URL of the store; default: .evenhand/store.duckdb.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]


@app.callback()
def _group() -> None:
    """People's audit of versions: a sample goes out, verdicts come back."""


@app.command("sample")
def sample(
    suite: SuiteName, out: Out, count: Count = SAMPLE, set_fields: SetFields = None, store: StoreUrl = None,
    as_json: AsJson = False,
) -> None:
    """Draw versions and write them as a CSV and as a form; neither says who wrote what."""
    sitting = sit(suite, set_fields, store, None)
    questions = questions_of(sitting.suite.benchmark)
    drawn = draw_sample(sitting.grid(), count, sitting.suite.seed)
    if not drawn:
        raise InputError(f"{sitting.suite.name}: no version is stored yet; run the suite first")
    out.mkdir(parents=True, exist_ok=True)
    sheet, form = out / "audit.csv", out / "audit.html"
    write_sheet(sheet, drawn, questions)
    title = sitting.suite.title or sitting.suite.name
    form.write_text(audit_form(title, form_items(sitting.store, drawn), questions), encoding="utf-8")
    if as_json:
        emit({"items": len(drawn), "csv": str(sheet), "form": str(form)})
        return
    say(f"{len(drawn)} comparisons: {sheet} and {form}; give one of them to each person")
    say(f"then: evenhand audit import {suite} FILE...")


@app.command("import")
def import_verdicts(
    suite: SuiteName, files: Files, set_fields: SetFields = None, store: StoreUrl = None, as_json: AsJson = False
) -> None:
    """Take in filled-in files; says the majority's verdicts and how far people agree, over all that came in so far."""
    sitting = sit(suite, set_fields, store, None)
    questions = questions_of(sitting.suite.benchmark)
    grid = sitting.grid()
    steps = [step for file in files for step in read_sheet(file, grid, questions)]
    sitting.store.append(*steps)
    sitting.store.flush()
    rows = human_section(sitting.store, grid)
    if as_json:
        emit({"verdicts": len(steps), "questions": rows})
        return
    say(f"{len(steps)} verdicts taken in")
    for row in rows:
        measures = {name: row[name]["value"] for name in ("pairwise", "alpha")}
        told = ", ".join(f"{name} {'-' if value is None else f'{value:.3f}'}" for name, value in measures.items())
        share = row.get("kept", {}).get("value")
        kept = "" if share is None else f"kept {share:.1%}, "
        say(f"{row['question']}: {row['items']} items, {row['raters']} raters, {kept}{told}")
