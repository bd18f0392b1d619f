"""``evenhand import``: a release of others becomes a suite and a file of scores, a venue a file of submissions."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
import yaml

from flows.commands.console import emit, say
from flows.home import default_store, home
from storage.errors import InputError
from storage.records import Step
from storage.store import open_store
from tasks.ingest.arxiv.line import Line, base_url
from tasks.ingest.family import ingest_family
from tasks.ingest.openreview.draw import draw_matched
from tasks.ingest.openreview.match import known_match, match
from tasks.ingest.openreview.submissions import Submission, read_submissions, write_submissions
from tasks.ingest.openreview.venue import fetch_pdfs, fetch_venue
from tasks.ingest.release import Release, read_release, release_human_scores, release_ratings, release_sources
from tasks.report.exports import export_csv

app = typer.Typer(name="import", no_args_is_help=True, help="Take in what others published.")

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The release: the folder that holds data/ and papers/.")]
Out = Annotated[Path | None, typer.Option("--out", help="For suite and scores; default: .evenhand/imported/NAME.")]
StoreUrl = Annotated[str | None, typer.Option("--store", help="URL of the store; default: .evenhand/store.duckdb.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]


@app.callback()
def _group() -> None:
    """Take in what others published."""


def _suite_file(folder: Path, out: Path) -> Path:
    """A suite over the release, judged by nobody yet."""
    name = "".join(letter if letter.isalnum() else "_" for letter in folder.name.lower()).strip("_") or "release"
    suite = {
        "name": name, "title": f"Release {folder.name}", "benchmark": "robust_review",
        "families": {"source": "release", "path": str(folder)},
        "judge": {"endpoints": {}, "configurations": []},
    }
    path = out / f"{name}.yaml"
    if not path.exists():
        path.write_text(
            "# Add endpoints and configurations under judge; the papers are judged as they are.\n"
            + yaml.safe_dump(suite, sort_keys=False, allow_unicode=True), encoding="utf-8",
        )
    return path


def _score_files(release: Release, out: Path) -> list[Path]:
    """``scores.csv`` and ``human.csv``, as ``evenhand metrics robust`` reads them."""
    ratings = release_ratings(release)
    human = [row for row in release_human_scores(release) if row.dimension == "overall"]
    frames = {
        "scores": pl.DataFrame(
            [(each.family, each.version, each.configuration, each.score) for each in ratings],
            schema={"family": pl.String, "version": pl.String, "configuration": pl.String, "score": pl.Float64},
            orient="row",
        ),
        "human": pl.DataFrame(
            [(row.family, row.score) for row in human],
            schema={"family": pl.String, "score": pl.Float64}, orient="row",
        ),
    }
    return export_csv({name: frame for name, frame in frames.items() if frame.height}, out)


@app.command("openreview")
def openreview(
    source: Annotated[str, typer.Argument(metavar="VENUE|FILE", help="A venue's id, or an export of its notes.")],
    out: Annotated[Path, typer.Option("--out", help="The JSON file for a suite's families.path.")],
    pdfs: Annotated[bool, typer.Option(help="Fetch the submissions' PDFs, so that texts are compared.")] = False,
    strata: Annotated[str | None, typer.Option(help="Draw only what is on arXiv: edges, e.g. 1,3,4,5,6,7,8.5.")] = None,
    per_stratum: Annotated[int, typer.Option(min=1, help="How many of each stratum.")] = 10,
    seed: Annotated[int, typer.Option(help="Of the draw.")] = 42,
    store: StoreUrl = None,
    as_json: AsJson = False,
) -> None:
    """Take in a venue's submissions and reviews, all of them or a sample that is on arXiv."""
    is_file = source.endswith(".json") or Path(source).is_file()
    found = read_submissions(Path(source)) if is_file else fetch_venue(source)
    out = out.resolve()
    out.parent.mkdir(parents=True, exist_ok=True)
    if pdfs:
        found = fetch_pdfs(found, out.parent)
    lacking: dict[str, int] = {}
    if strata is not None:
        opened = open_store(store or default_store())
        line = Line(base_url())

        def find(one: Submission) -> Step:
            known = known_match(opened, one, out.parent)
            return known if known is not None and known.outcome != "failed" else match(opened, line, one, out.parent)

        found, lacking = draw_matched(found, find, strata=_edges(strata), per_stratum=per_stratum, seed=seed)
        opened.flush()
    write_submissions(out, found)
    if as_json:
        emit({"submissions": len(found), "lacking": lacking, "file": str(out)})
        return
    say(f"{len(found)} submissions: {out}")
    for stratum, count in lacking.items():
        say(f"{stratum}: {count} fewer than wanted are on arXiv, or it could not be asked; run again to go on")


def _edges(text: str) -> list[float]:
    try:
        edges = [float(part) for part in text.split(",")]
    except ValueError as error:
        raise InputError(f"--strata {text!r}: write rising numbers with commas between, e.g. 1,3,4,5") from error
    if len(edges) < 2 or any(low >= high for low, high in pairwise(edges)):
        raise InputError(f"--strata {text!r}: the edges must rise, and be two at least")
    return edges


@app.command("release")
def release(folder: Folder, out: Out = None, store: StoreUrl = None, as_json: AsJson = False) -> None:
    """Take in a RobustReview release: papers and rewrites as they are, human reviews, and its ratings as a file."""
    folder = folder.resolve()
    read = read_release(folder)
    place = (out or home() / "imported" / folder.name).resolve()
    place.mkdir(parents=True, exist_ok=True)
    opened = open_store(store or default_store())
    opened.append(*release_human_scores(read))
    ingested = [ingest_family(opened, source) for source in release_sources(read)]
    opened.flush()
    families = [one.family for one in ingested if one.family is not None]
    excluded = {one.name: one.step.detail for one in ingested if one.family is None}
    if not families:
        raise InputError(f"{folder}: no paper of it can be judged: {next(iter(excluded.values()))}")
    suite, files = _suite_file(folder, place), _score_files(read, place)
    told = {
        "families": len(families), "versions": sum(len(each.facts.get("versions", ())) for each in families),
        "excluded": excluded, "suite": str(suite), "files": [str(file) for file in files],
    }
    if as_json:
        emit(told)
        return
    say(f"{told['families']} papers, {told['versions']} rewrites, {len(excluded)} excluded")
    say(f"suite: {suite}")
    for file in files:
        say(f"scores: {file}")
