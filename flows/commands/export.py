"""``evenhand export``: what is stored of a suite as tables, or as a RobustReview release; no server, no call."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from flows.commands.console import emit, say
from flows.export import frames_of, release_papers, release_reviews, unexported
from flows.sitting import Sitting, sit
from storage.errors import SuiteError
from tasks.report.exports import export_csv, export_parquet
from tasks.report.release import export_release

SuiteName = Annotated[str, typer.Argument(metavar="SUITE", help="A shipped suite's name, or a suite file.")]
Format = Annotated[
    Literal["release", "parquet", "csv"],
    typer.Option("--format", help="A RobustReview release, or tables as Parquet or CSV."),
]
Out = Annotated[Path, typer.Option("--out", help="The folder; files of the same names are replaced.")]
SetFields = Annotated[list[str] | None, typer.Option("--set", metavar="a.b=c", help="Override a field of the suite.")]
StoreUrl = Annotated[str | None, typer.Option("--store", help="URL of the store; default: .evenhand/store.duckdb.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]


def _release(sitting: Sitting, out: Path) -> dict[str, object]:
    if sitting.suite.benchmark != "robust_review":
        raise SuiteError(f"--format release: only robust_review has this layout, and {sitting.suite.name} is another")
    grid = sitting.grid()
    papers = release_papers(sitting, grid)
    if not papers:
        raise SuiteError(f"{sitting.suite.name}: no paper with a PDF is stored yet; run the suite first")
    reviews = release_reviews(sitting, grid, papers)
    meta = export_release(papers, reviews, sitting.store.blobs.get, out)
    left_out = unexported(grid, papers)
    pdfs = len(papers) + sum(len(paper.rewrites) for paper in papers)
    return {"file": str(meta), "papers": len(papers), "pdfs": pdfs, "reviews": len(reviews), "left_out": left_out}


def export(
    suite: SuiteName, form: Format, out: Out, set_fields: SetFields = None, store: StoreUrl = None,
    as_json: AsJson = False,
) -> None:
    """Write what is stored of a suite: a release, or tables of families, versions, cells and scores."""
    sitting = sit(suite, set_fields, store, None)
    if form == "release":
        told = _release(sitting, out)
        line = f"{told['papers']} papers, {told['pdfs']} PDFs, {told['reviews']} reviews: {told['file']}"
    else:
        write = export_csv if form == "csv" else export_parquet
        files = write(frames_of(sitting), out)
        told = {"files": [str(file) for file in files]}
        line = f"{len(files)} tables: {out}"
    if as_json:
        emit({"format": form, **told})
        return
    say(line)
