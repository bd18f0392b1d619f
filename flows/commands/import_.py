"""``evenhand import release DIR``: a release of others becomes a suite that can be run, and a file of its scores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import polars as pl
import typer
import yaml

from flows.commands.console import emit, say
from flows.home import default_store, home
from storage.errors import InputError
from storage.store import open_store
from tasks.ingest.family import ingest_family
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
