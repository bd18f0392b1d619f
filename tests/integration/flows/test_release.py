"""A release goes in, is judged, and comes out as it went in; tables come out too."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from tests.fakes.fake_release import make_release


def test_a_release_in_and_out(evenhand: Callable[..., Any], tmp_path: Path) -> None:
    folder = make_release(tmp_path / "release")
    told = evenhand("import", "release", str(folder), "--out", str(tmp_path / "in"), "--json").document
    assert (told["families"], told["versions"], told["excluded"]) == (2, 6, {})
    suite = Path(told["suite"])
    scores = evenhand("metrics", "robust", str(suite.parent / "scores.csv"), "--human", str(suite.parent / "human.csv"))
    assert scores.code == 0, scores.err

    given = yaml.safe_load(suite.read_text())
    given["judge"] = {
        "endpoints": {"phantom": {"kind": "phantom"}},
        "configurations": [
            {"name": "p", "endpoint": "phantom", "model": "phantom-01", "protocol": "standard"}
        ],
    }
    given["draws"] = 100
    suite.write_text(yaml.safe_dump(given))
    ended = evenhand("run", str(suite), "--json", "--out", str(tmp_path / "report"))
    assert (ended.code, ended.document["state"]) == (0, "complete"), ended.err
    results = json.loads((tmp_path / "report" / "metrics.json").read_text())
    assert results["producers"] == ["GPT-5.5", "Claude Opus 4.8"] and len(results["versions"]) == 8

    out = tmp_path / "out"
    exported = evenhand("export", str(suite), "--format", "release", "--out", str(out), "--json").document
    assert (exported["papers"], exported["pdfs"], exported["reviews"], exported["left_out"]) == (2, 8, 8, [])
    again = evenhand("import", "release", str(out), "--out", str(tmp_path / "again"), "--json").document
    assert (again["families"], again["versions"]) == (2, 6)
    for name in ("paper00/original", "paper01/original"):
        assert (out / "papers" / f"{name}.pdf").read_bytes() == (folder / "papers" / f"{name}.pdf").read_bytes()
    before, after = (json.loads((each / "data" / "meta.json").read_text()) for each in (folder, out))
    assert [paper["reviews"][1]["overall_assessment"] for paper in after["papers"]] == [0.0, 2.0]
    kept = ("paper_id", "arxiv_id", "openreview_id", "score_stratum", "average_overall_assessment")
    assert [{name: paper[name] for name in kept} for paper in after["papers"]] == [
        {name: paper[name] for name in kept} for paper in before["papers"]
    ]
    named = {(each["rewrite_condition"], each["producer"]) for each in after["rewrite_conditions"]}
    assert named == {(each["rewrite_condition"], each["producer"]) for each in before["rewrite_conditions"]}

    drawn = evenhand("audit", "sample", str(suite), "--out", str(tmp_path / "audit"), "--count", "4", "--json").document
    assert drawn["items"] == 4 and Path(drawn["form"]).read_text().count('class="item"') == 4
    taken = evenhand("audit", "import", str(suite), drawn["csv"], "--json").document
    assert taken == {"verdicts": 0, "questions": []}

    for form in ("csv", "parquet"):
        tables = evenhand("export", str(suite), "--format", form, "--out", str(tmp_path / form), "--json").document
        assert len(tables["files"]) == 6
    cells = pl.read_parquet(tmp_path / "parquet" / "scores.parquet")
    assert cells.filter(pl.col("dimension") == "overall").height == 8
    assert pl.read_csv(tmp_path / "csv" / "versions.csv")["condition"].to_list().count("novelty_stance") == 4
