"""Files beside the page hold the same numbers in every format."""

from __future__ import annotations

import io
import json
from pathlib import Path

import polars as pl

from storage.results import Results
from tasks.report.exports import export_csv, export_parquet, metrics_json, write_exports
from tasks.report.tables import tables
from tasks.report.typeset import latex


def _refuse(word: str) -> None:
    raise AssertionError(word)


def test_metrics_json_is_results_and_has_no_nan(demo: Results) -> None:
    data = json.loads(metrics_json(demo), parse_constant=_refuse)
    assert Results.model_validate(data) == demo


def test_every_file_is_written(demo: Results, tmp_path: Path) -> None:
    files = {path.relative_to(tmp_path).as_posix() for path in write_exports(demo, tmp_path)}
    assert {
        "metrics.json",
        "tables/leaderboard.csv",
        "tables/leaderboard.parquet",
        "tables/leaderboard.tex",
        "tables/effects.tex",
        "tables/scores.parquet",
        "figures/stability.svg",
        "figures/stability.png",
        "figures/calibration.svg",
    } <= files
    assert (tmp_path / "figures/stability.png").read_bytes().startswith(b"\x89PNG")
    svg = (tmp_path / "figures/stability.svg").read_text(encoding="utf-8")
    assert "#0101" not in svg and "var(--" not in svg


def test_csv_and_parquet_agree(full: Results, tmp_path: Path) -> None:
    frames = tables(full)
    export_csv(frames, tmp_path)
    export_parquet(frames, tmp_path)
    scores = pl.read_parquet(tmp_path / "scores.parquet")
    assert scores.height == 30 * 60 * 21
    assert scores.equals(pl.read_csv(io.BytesIO((tmp_path / "scores.csv").read_bytes()), schema=scores.schema))
    assert scores["score"].null_count() == sum(each.cells.wanted - each.cells.answered for each in full.configurations)
    board = pl.read_parquet(tmp_path / "leaderboard.parquet")
    for each in full.configurations:
        row = board.row(by_predicate=pl.col("configuration") == each.name, named=True)
        assert (row["mad"], row["mad_low"], row["mad_n"]) == (
            each.metrics["mad"].value,
            each.metrics["mad"].low,
            each.metrics["mad"].n,
        )


def test_an_empty_table_keeps_its_columns(demo: Results) -> None:
    frames = tables(demo.model_copy(update={"comparisons": [], "effects": []}))
    assert frames["comparisons"].height == 0 and "p_holm" in frames["comparisons"].columns


def test_latex_cells_are_escaped() -> None:
    assert latex(r"a_b & 50% \input{x}") == r"a\_b \& 50\% \textbackslash{}input\{x\}"
    assert latex("−0.1") == "$-$0.1"
