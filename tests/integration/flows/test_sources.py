"""A suite over arXiv, run as a stranger runs it: what cannot be fetched is a gap, and the next run closes it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from tests.fakes.fake_arxiv import Answer, FakeArxiv, Paper

TEX = (
    b"\\documentclass{article}\\title{Paper %s}\\begin{document}\\maketitle\\begin{abstract}We study %s.\\end{abstract}"
    b"\\section{Intro} We propose a simple method. Our results are better because the data are large. However, it is "
    b"shown in many cases that the method of %s works.\\end{document}\n"
)


def test_a_gap_is_closed_by_the_next_run(evenhand: Callable[..., Any], tmp_path: Path) -> None:
    papers = {f"2401.0000{n}": Paper(f"Paper {n}", [TEX.replace(b"%s", b"%d" % n)]) for n in (1, 2)}
    (tmp_path / "ids.txt").write_text("arXiv:2401.00001\nhttps://arxiv.org/abs/2401.00002v1\n")
    suite = {
        "name": "fetched", "benchmark": "robust_review", "draws": 100,
        "families": {"source": "arxiv", "path": "ids.txt"},
        "rewrite": {"conditions": ["novelty_stance"], "producers": [{"name": "r", "kind": "rules", "seed": 1}]},
        "judge": {
            "endpoints": {"phantom": {"kind": "phantom"}},
            "configurations": [{"name": "p", "endpoint": "phantom", "model": "phantom-01", "protocol": "standard"}],
        },
    }
    path = tmp_path / "fetched.yaml"
    path.write_text(yaml.safe_dump(suite))
    with FakeArxiv(papers) as arxiv:
        around = {
            "EVENHAND_ARXIV_URL": arxiv.url, "EVENHAND_ARXIV_INTERVAL_S": "0", "XDG_CACHE_HOME": str(tmp_path / "cache")
        }
        arxiv.faults["/e-print/2401.00002"] = [Answer(503)] * 4
        first = evenhand("run", str(path), "--json", "--out", str(tmp_path / "out"), **around)
        assert (first.code, first.document["state"]) == (3, "complete_with_gaps"), first.err
        status = evenhand("status", str(path), "--json", **around).document
        assert status["stages"]["ingest"] == {"done": 1, "missing": {"server_error": 1}}
        arxiv.faults["/"] = []
        asked = len(arxiv.log)
        second = evenhand("run", str(path), "--json", "--out", str(tmp_path / "out"), **around)
        assert (second.code, second.document["state"]) == (0, "complete"), second.err
        assert arxiv.paths()[asked:] == ["/e-print/2401.00002v1"]
        asked = len(arxiv.log)
        third = evenhand("run", str(path), "--json", "--out", str(tmp_path / "out"), **around)
        assert third.code == 0 and len(arxiv.log) == asked
    page = (tmp_path / "out" / "versions" / "index.html").read_text()
    assert page.count("Novelty stance") == 2
    assert "versions/index.html" in (tmp_path / "out" / "index.html").read_text()
