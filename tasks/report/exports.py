"""The files beside the page: metrics.json, tables as CSV, Parquet and LaTeX, figures as SVG and PNG."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl

from storage.results import Results
from tasks.report import typeset
from tasks.report.citation import citation
from tasks.report.csv_cells import to_csv
from tasks.report.drawings import Drawings, drawings
from tasks.report.figures import Figure
from tasks.report.schema import metrics_schema
from tasks.report.tables import tables
from tasks.report.verdicts import standing


def write_exports(results: Results, out: Path, drawn: Drawings | None = None) -> list[Path]:
    """Writes every file of a report but the page.

    Args:
        results: what ``aggregate`` made.
        out: the folder; made where it is missing. Files of the same names are replaced.
        drawn: its figures, where they are drawn already.

    Returns:
        The files, in the order of their names.
    """
    shown = (drawn or drawings(results)).files
    files = table_files(results) | figure_files(shown)
    files |= {f"figures/{name}.png": each.png() for name, each in shown.items()}
    files |= {"metrics-schema.json": metrics_schema(), "CITATION.cff": citation(results)}
    return write_files(files, out)


def export_csv(frames: dict[str, pl.DataFrame], out: Path) -> list[Path]:
    """Any tables (name -> frame) as formula-safe CSV under ``out``."""
    return write_files({f"{name}.csv": to_csv(frame) for name, frame in frames.items()}, out)


def export_parquet(frames: dict[str, pl.DataFrame], out: Path) -> list[Path]:
    """Any tables (name -> frame) as Parquet under ``out``."""
    return write_files({f"{name}.parquet": parquet(frame) for name, frame in frames.items()}, out)


def metrics_json(results: Results) -> bytes:
    """``metrics.json``: the records as they are; a number that is not finite is null."""
    return results.model_dump_json(indent=1).encode("utf-8")


def table_files(results: Results) -> dict[str, bytes]:
    """``metrics.json`` and all tables in all formats, by relative path."""
    where, files = standing(results), {"metrics.json": metrics_json(results)}
    for name, frame in tables(results).items():
        files[f"tables/{name}.csv"] = to_csv(frame)
        files[f"tables/{name}.parquet"] = parquet(frame)
    files["tables/leaderboard.tex"] = typeset.leaderboard(where).encode("utf-8")
    files["tables/effects.tex"] = typeset.effects(results, where).encode("utf-8")
    return files


def figure_files(drawn: dict[str, Figure]) -> dict[str, bytes]:
    """The figures as SVG files, by relative path."""
    return {f"figures/{name}.svg": each.svg() for name, each in drawn.items()}


def parquet(frame: pl.DataFrame) -> bytes:
    """The frame as Parquet."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def write_files(files: dict[str, bytes], out: Path) -> list[Path]:
    """Writes bytes to relative paths under ``out``."""
    written = []
    for name, data in sorted(files.items()):
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        written.append(path)
    return written
