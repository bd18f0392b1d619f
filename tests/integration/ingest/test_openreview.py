"""Submissions from a fake OpenReview, matched with a fake arXiv: what is alike is taken, what is not is said."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from storage.errors import EnvironmentProblem, InputError
from storage.store import Store, open_store
from tasks.ingest.arxiv import line as lines
from tasks.ingest.arxiv.line import Line, base_url
from tasks.ingest.family import ingest_family, remembered_sources
from tasks.ingest.openreview.draw import draw_matched
from tasks.ingest.openreview.match import match
from tasks.ingest.openreview.source import openreview_sources
from tasks.ingest.openreview.submissions import Submission, read_submissions, write_submissions
from tasks.ingest.openreview.venue import fetch_pdfs, fetch_venue
from tests.fakes.fake_arxiv import Answer, FakeArxiv, Paper
from tests.fakes.fake_openreview import FakeOpenReview, note
from tests.fakes.fake_release import pdf

TEX = (
    b"\\documentclass{article}\\title{A Title}\\begin{document}\\maketitle\\begin{abstract}We study X.\\end{abstract}"
    b"\\section{Intro} This is prose with words that can be rewritten.\\end{document}\n"
)
SAID = "We study graphs with many edges and report what we found in each of the cases that we tried."
OTHER = "Nothing of this has to do with any of that; its subject is the weather over small islands."


@pytest.fixture
def arxiv(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeArxiv]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("EVENHAND_ARXIV_INTERVAL_S", "0")
    monkeypatch.setattr(lines, "_closed_until", {})
    alike = [pdf("Graphs With Many Edges", SAID), pdf("Graphs With Many Edges", OTHER)]
    papers = {
        "2401.00001": Paper("Graphs With Many Edges", [TEX, TEX], pdfs=alike, abstract=SAID),
        "2401.00002": Paper("Islands and Weather", [TEX], pdfs=[pdf("Islands", OTHER)], abstract="Far off."),
    }
    with FakeArxiv(papers) as fake:
        monkeypatch.setenv("EVENHAND_ARXIV_URL", fake.url)
        yield fake


@pytest.fixture
def venue() -> Iterator[FakeOpenReview]:
    notes = [
        note("graphs", "Graphs with Many Edges", ["8: accept", 6], abstract=SAID),
        note("islands", "Islands and Weather", [3, "1: strong reject"], abstract=SAID),
        note("unknown", "A Paper That Nobody Posted", [5], abstract=SAID),
        note("gone", "Withdrawn", [1], venueid="V/Withdrawn_Submission"),
        note("unread", "Without Reviews", []),
    ]
    with FakeOpenReview(notes, {"graphs": pdf("Under Review", SAID), "islands": b"<html>no</html>"}) as fake:
        yield fake


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "store.duckdb")
    yield opened
    opened.close()


def export(venue: FakeOpenReview, tmp_path: Path) -> Path:
    path = tmp_path / "export.json"
    write_submissions(path, fetch_pdfs(fetch_venue("V", url=venue.url), tmp_path, url=venue.url))
    return path


def test_a_venue_is_exported_page_by_page(
    venue: FakeOpenReview, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    read = read_submissions(export(venue, tmp_path))
    assert [one.id for one in read] == ["graphs", "islands", "unknown"]
    assert read[0].means["overall_assessment"] == 7.0 and read[0].pdf == "pdfs/graphs.pdf"
    assert read[1].pdf is None, "a web page is no PDF"
    asked = len([path for path in venue.asked if path.startswith("/pdf")])
    export(venue, tmp_path)
    assert len([path for path in venue.asked if path.startswith("/pdf")]) == 2 * asked - 1, "what is there stays"
    assert capsys.readouterr().out == ""


def test_submissions_become_families_of_their_papers(
    venue: FakeOpenReview, arxiv: FakeArxiv, store: Store, tmp_path: Path
) -> None:
    found = openreview_sources(export(venue, tmp_path))
    assert remembered_sources(store, found) == [None] * 3
    made = {source.name: ingest_family(store, source) for source in found}
    graphs = made["graphs"].family
    assert graphs is not None and graphs.source_kind == "latex"
    about = graphs.facts["openreview"]
    assert about["arxiv_id"] == "2401.00001v1", "the version whose text is alike, not the newest"
    assert about["match"]["compared"] == "text" and about["match"]["similarity"] > 0.8
    assert [review["overall_assessment"] for review in about["reviews"]] == [8.0, 6.0]
    for name in ("islands", "unknown"):
        step = made[name].step
        assert (step.outcome, step.reason) == ("excluded", "no_arxiv_match") and name in (step.detail or "")
    asked = len(arxiv.log)
    again = openreview_sources(export(venue, tmp_path))
    assert [ingest_family(store, source).family is not None for source in again] == [True, False, False]
    assert len(arxiv.log) == asked, "neither matched nor fetched twice"
    assert [one is not None for one in remembered_sources(store, again)] == [True] * 3


def test_without_a_pdf_abstracts_are_compared(arxiv: FakeArxiv, store: Store, tmp_path: Path) -> None:
    line = Line(base_url())
    found = match(store, line, Submission(id="a", title="Graphs with many edges", abstract=SAID), tmp_path)
    assert found.output["compared"] == "abstract" and found.output["arxiv_id"] == "2401.00001v2"
    other = match(store, line, Submission(id="b", title="Graphs with many edges", abstract=OTHER), tmp_path)
    assert other.reason == "no_arxiv_match"
    authors = Submission(id="c", title="Graphs with many edges", abstract=SAID, authors=("Zed Nobody", "Yan Else"))
    assert match(store, line, authors, tmp_path).reason == "no_arxiv_match"


def test_an_identifier_that_is_known_is_checked_too(arxiv: FakeArxiv, store: Store, tmp_path: Path) -> None:
    line = Line(base_url())
    right = Submission(id="a", title="Renamed Since", abstract=SAID, arxiv_id="arXiv:2401.00001v1")
    assert match(store, line, right, tmp_path).output["arxiv_id"] == "2401.00001v1"
    wrong = right.model_copy(update={"arxiv_id": "2401.00002"})
    assert match(store, line, wrong, tmp_path).reason == "no_arxiv_match"


def test_a_host_that_fails_leaves_the_match_open(arxiv: FakeArxiv, store: Store, tmp_path: Path) -> None:
    arxiv.faults["/api/"] = [Answer(503)] * 4
    one = Submission(id="a", title="Graphs with many edges", abstract=SAID)
    assert match(store, Line(base_url()), one, tmp_path).outcome == "failed"
    assert match(store, Line(base_url()), one, tmp_path).outcome == "done"


def test_a_sample_is_filled_from_what_is_on_arxiv(arxiv: FakeArxiv, store: Store, tmp_path: Path) -> None:
    line = Line(base_url())
    there = [
        Submission(id=f"s{n}", title="Graphs with many edges", abstract=SAID if n % 2 else OTHER,
                   reviews=({"overall_assessment": float(n % 4)},))
        for n in range(16)
    ]

    def draw(seed: int) -> tuple[list[str], dict[str, int]]:
        drawn, lacking = draw_matched(there, lambda one: match(store, line, one, tmp_path), strata=[0, 2, 3, 3.5],
                                      per_stratum=3, seed=seed)
        assert all(one.arxiv_id == "2401.00001v2" for one in drawn)
        return [one.id for one in drawn], lacking

    first, lacking = draw(42)
    assert lacking == {"[2,3)": 3} and len(first) == 6
    assert draw(42)[0] == first and draw(7)[0] != first


def test_a_venue_that_refuses_or_is_unknown_is_said(venue: FakeOpenReview) -> None:
    with pytest.raises(InputError, match="Nowhere: OpenReview shows no reviewed submission"):
        fetch_venue("Nowhere", url=venue.url)
    venue.status = 403
    with pytest.raises(EnvironmentProblem, match="refused: .*not allowed.*OPENREVIEW_USERNAME"):
        fetch_venue("V", url=venue.url)


def test_the_suite_draws_by_the_reviews(venue: FakeOpenReview, tmp_path: Path) -> None:
    from flows.families import human_scores, sources_of
    from flows.suites import Suite

    path = export(venue, tmp_path)
    families = {"source": "openreview", "path": path.name, "sample": {"strata": [1, 3, 8], "per_stratum": 1}}
    suite = Suite.model_validate(
        {"name": "s", "benchmark": "robust_review", "families": families, "folder": str(tmp_path)}
    )
    scores = {row.family: row.score for row in human_scores(suite) if row.dimension == "overall"}
    assert scores == {"graphs": 7.0, "islands": 2.0, "unknown": 5.0}
    assert len(sources_of(suite)) == 2 and "islands" in {source.name for source in sources_of(suite)}
    assert json.loads(path.read_text())["submissions"][0]["id"] == "graphs"
