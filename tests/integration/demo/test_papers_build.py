"""Every demonstration paper builds with a real TeX, without an open reference, and says more the higher its score."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
from pathlib import Path

import pymupdf
import pytest
from scipy.stats import spearmanr

PAPERS = Path(__file__).resolve().parents[3] / "deployments" / "suites" / "papers"
LATEXMK = ["latexmk", "-norc", "-pdf", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape"]
COMPLAINTS = re.compile(
    r"undefined (?:references|citations)|(?:Reference|Citation) [`'][^']*'.{0,60}?undefined|multiply[- ]defined"
)

pytestmark = pytest.mark.skipif(shutil.which("latexmk") is None, reason="no TeX on this machine")

with (PAPERS / "human.csv").open(encoding="utf-8", newline="") as _file:
    SCORES = {row["family"]: float(row["score"]) for row in csv.DictReader(_file)}


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> dict[str, Path]:
    """Each paper, built in a copy: family -> PDF."""
    pdfs = {}
    for family in SCORES:
        folder = tmp_path_factory.mktemp("build") / family
        shutil.copytree(PAPERS / family, folder)
        [main] = [path for path in folder.glob("*.tex") if rb"\documentclass" in path.read_bytes()]
        run = subprocess.run([*LATEXMK, main.name], cwd=folder, capture_output=True, timeout=120, check=False)
        assert run.returncode == 0, f"{family}: {run.stdout[-1500:].decode(errors='replace')}"
        pdfs[family] = main.with_suffix(".pdf")
    return pdfs


def _text(pdf: Path) -> str:
    with pymupdf.open(pdf) as document:
        return "\n".join(page.get_text() for page in document)


@pytest.mark.slow
@pytest.mark.parametrize("family", SCORES)
def test_no_reference_or_citation_is_open(built, family):
    log = built[family].with_suffix(".log").read_text(encoding="latin-1").replace("\n", "")
    assert not COMPLAINTS.search(log)
    assert "??" not in _text(built[family])
    assert "[?]" not in _text(built[family])


@pytest.mark.slow
@pytest.mark.parametrize("family", SCORES)
def test_length_is_that_of_a_short_paper(built, family):
    with pymupdf.open(built[family]) as document:
        assert 4 <= document.page_count <= 6
    assert 1_800 <= len(_text(built[family]).split()) <= 4_500


@pytest.mark.slow
def test_evidence_rises_with_the_human_score(built):
    amounts = []
    for family in SCORES:
        text = _text(built[family])
        decimals = set(re.findall(r"(?<![\w.])\d+\.\d+(?![\w.]*\d)", text))
        cited = {number for group in re.findall(r"\[([\d,\s–-]+)\]", text) for number in re.findall(r"\d+", group)}
        amounts.append(len(decimals) + len(cited) + text.count("±"))
    assert spearmanr(list(SCORES.values()), amounts).statistic > 0.8
