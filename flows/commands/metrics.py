"""``evenhand metrics``: the metrics of anyone's scores, without a store, a suite or a server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from flows.commands.console import OUT, emit
from flows.score_files import bias_document, robust_document, style_document

app = typer.Typer(no_args_is_help=True, help="The metrics of anyone's scores: CSV, Parquet or JSON lines.")

ScoreFile = Annotated[Path, typer.Argument(metavar="FILE", help="CSV, Parquet or JSON lines.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Human = Annotated[Path | None, typer.Option("--human", help="Human scores: family, score.")]


def _shown(entry: Any) -> str:
    if not isinstance(entry, dict) or "value" not in entry:
        return str(entry)
    if entry["value"] is None:
        return f"- ({entry.get('reason') or 'undefined'})"
    text = f"{entry['value']:.4g}"
    if entry.get("low") is not None and entry.get("high") is not None:
        text += f" [{entry['low']:.4g}, {entry['high']:.4g}]"
    return f"{text} n={entry['n']}"


def _show(document: dict[str, Any], as_json: bool) -> None:
    if as_json:
        emit(document)
        return
    for name, metrics in document["configurations"].items():
        table = Table(title=name, title_justify="left", show_header=False, box=None, padding=(0, 2))
        for metric, entry in metrics.items():
            table.add_row(metric, _shown(entry))
        OUT.print(table)


def _run(read: Callable[[], dict[str, Any]], as_json: bool) -> None:
    _show(read(), as_json)


@app.command()
def robust(file: ScoreFile, human: Human = None, as_json: AsJson = False) -> None:
    """RobustReview's seven metrics. Columns: family, version ("original" is the reference), score, [configuration]."""
    _run(lambda: robust_document(file, human), as_json)


@app.command()
def style(file: ScoreFile, as_json: AsJson = False) -> None:
    """SciStyleBench's metrics. Columns: idea, variant, dimension, score, [configuration, context]."""
    _run(lambda: style_document(file), as_json)


@app.command()
def bias(file: ScoreFile, as_json: AsJson = False) -> None:
    """JudgeBiasBench's metrics. Columns: item, bias, original, injected (correct|wrong|unparsed), [configuration]."""
    _run(lambda: bias_document(file), as_json)
