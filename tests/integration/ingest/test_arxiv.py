"""Papers fetched from a fake arXiv over real HTTP: once each, politely, and never a web page as a paper."""

from __future__ import annotations

import gzip
import io
import itertools
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from storage.records import Family, Step
from storage.store import Store, open_store
from tasks.ingest.arxiv import line as lines
from tasks.ingest.arxiv.atom import read_feed
from tasks.ingest.arxiv.faults import NotFetched, NotThere
from tasks.ingest.arxiv.line import Line
from tasks.ingest.arxiv.pace import Pace, interval_for
from tasks.ingest.arxiv.source import ArxivSource, arxiv_sources
from tasks.ingest.family import Ingested, ingest_family, remembered_sources
from tasks.ingest.sources import NOT_FETCHED, Material
from tests.fakes.fake_arxiv import RATE_PAGE, Answer, FakeArxiv, Paper

TEX = (
    b"\\documentclass{article}\\title{A Title}\\begin{document}\\maketitle\\begin{abstract}We study X.\\end{abstract}"
    b"\\section{Intro} This is %s prose with words that can be rewritten.\\end{document}\n"
)


def tar(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


@pytest.fixture
def arxiv(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeArxiv]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("EVENHAND_ARXIV_INTERVAL_S", "0")
    monkeypatch.setattr(lines, "_closed_until", {})
    papers = {
        "2401.00001": Paper("One", [gzip.compress(TEX % b"first"), tar({"paper/main.tex": TEX % b"second"})]),
        "hep-th/9901999": Paper("Old & Good", [TEX % b"old"]),
        "2401.00003": Paper("Withdrawn", [None]),
    }
    with FakeArxiv(papers) as fake:
        monkeypatch.setenv("EVENHAND_ARXIV_URL", fake.url)
        yield fake


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "store.duckdb")
    yield opened
    opened.close()


def sources(tmp_path: Path, *ids: str) -> list[ArxivSource]:
    path = tmp_path / "ids.txt"
    path.write_text("\n".join(ids), "utf-8")
    return arxiv_sources(path)


def ingested(store: Store, source: ArxivSource) -> Ingested:
    return ingest_family(store, source)


def test_papers_become_families_and_are_fetched_once(arxiv: FakeArxiv, store: Store, tmp_path: Path) -> None:
    found = sources(tmp_path, "2401.00001", "arXiv:2401.00001v1", "hep-th/9901999")
    assert remembered_sources(store, found) == [None] * 3
    made = [ingested(store, source) for source in found]
    assert [one.name for one in made] == ["2401.00001", "2401.00001v1", "hep-th_9901999"]
    families = [one.family for one in made]
    assert all(family is not None and family.source_kind == "latex" for family in families)
    assert families[0] is not None and families[1] is not None and families[0].key != families[1].key
    about = families[0].facts["arxiv"]
    assert about["version"] == 2 and about["authors"] == ["Ada One", "Bea Two"]
    fetched = ["2401.00001v2", "2401.00001v1", "hep-th/9901999v1"]
    assert arxiv.paths() == ["/api/query", *(f"/e-print/{each}" for each in fetched)]
    arxiv.log.clear()
    again = [ingested(store, source) for source in sources(tmp_path, "2401.00001", "2401.00001v2", "hep-th/9901999v1")]
    assert [one.is_cached for one in again] == [True, True, True]
    assert arxiv.paths() == ["/api/query"], "no archive twice; only two identifiers were new"
    assert remembered_sources(store, found)[2] is not None


def test_a_newer_version_does_not_change_what_was_pinned(arxiv: FakeArxiv, store: Store, tmp_path: Path) -> None:
    (source,) = sources(tmp_path, "hep-th/9901999")
    first = ingested(store, source)
    arxiv.papers["hep-th/9901999"].sources.append(TEX % b"new")
    second = ingested(store, source)
    assert second.is_cached and first.family is not None and second.family == first.family


def test_b02_a_web_page_is_never_a_paper(arxiv: FakeArxiv, store: Store, tmp_path: Path) -> None:
    (source,) = sources(tmp_path, "hep-th/9901999v1")
    arxiv.faults["/e-print/"] = [Answer(body=RATE_PAGE, headers={"Content-Type": "text/html"})] * 9
    made = ingested(store, source)
    assert (made.family, made.step.outcome, made.step.reason) == (None, "failed", "html_page_instead")
    assert made.step.reason in NOT_FETCHED and "hep-th/9901999v1" in (made.step.detail or "")
    assert arxiv.paths().count("/e-print/hep-th/9901999v1") == 4, "tries are bounded"
    assert store.query("SELECT count(*) AS n FROM blobs")["n"][0] == 0
    (known,) = remembered_sources(store, [source])
    assert known is not None and known.step.reason == "html_page_instead"
    arxiv.faults.clear()
    assert ingested(store, source).family is not None, "the next run gets it"


def test_b49_hours_of_429_end_soon_and_keep_what_is_there(arxiv: FakeArxiv, store: Store, tmp_path: Path) -> None:
    found = sources(tmp_path, "2401.00001v1", "2401.00001v2", "hep-th/9901999v1")
    assert ingested(store, found[0]).family is not None
    arxiv.log.clear()
    arxiv.faults["/"] = [Answer(429)] * 100
    made = [ingested(store, source) for source in found]
    assert [one.step.reason for one in made] == [None, "rate_limited", "closed"]
    assert made[0].is_cached and len(arxiv.log) == 4, "after one paper's tries the host is left alone"


def test_passing_faults_are_tried_again(arxiv: FakeArxiv, store: Store, tmp_path: Path) -> None:
    (source,) = sources(tmp_path, "hep-th/9901999v1")
    arxiv.faults["/api/"] = [Answer(503, headers={"Retry-After": "0"}), Answer(body=b"<feed")]
    arxiv.faults["/e-print/"] = [Answer(body=TEX, cut_to=20), Answer(500), Answer(body=b"")]
    assert ingested(store, source).family is not None


def test_a_broken_archive_is_not_kept(arxiv: FakeArxiv, store: Store, tmp_path: Path) -> None:
    whole = gzip.compress(TEX % b"old")
    arxiv.papers["hep-th/9901999"].sources = [whole[:-20]]
    (source,) = sources(tmp_path, "hep-th/9901999")
    assert ingested(store, source).step.reason == "broken_answer"
    arxiv.papers["hep-th/9901999"].sources = [whole]
    assert ingested(store, source).family is not None


def test_what_is_not_there_is_final_until_it_is_tried_again(arxiv: FakeArxiv, store: Store, tmp_path: Path) -> None:
    withdrawn, unknown = sources(tmp_path, "2401.00003", "2401.09999")
    made = [ingested(store, source).step for source in (withdrawn, unknown)]
    assert [(step.outcome, step.reason) for step in made] == [("excluded", "not_found")] * 2
    assert "2401.09999: arXiv knows no such paper" in (made[1].detail or "")
    asked = len(arxiv.log)
    ingested(store, withdrawn)
    assert len(arxiv.log) == asked
    arxiv.papers["2401.00003"].sources = [TEX % b"back"]
    assert ingest_family(store, withdrawn, retry={"not_found"}).family is not None


def test_hostile_archives_are_excluded_by_name_and_not_fetched_again(
    arxiv: FakeArxiv, store: Store, tmp_path: Path
) -> None:
    arxiv.papers["hep-th/9901999"].sources = [tar({"../../main.tex": TEX})]
    (source,) = sources(tmp_path, "hep-th/9901999")
    step = ingested(store, source).step
    assert (step.outcome, step.reason) == ("excluded", "outside_path")
    arxiv.log.clear()
    ingested(store, source)
    assert arxiv.log == []


def test_a_pdf_only_paper_takes_its_title_from_the_catalogue(arxiv: FakeArxiv, store: Store, tmp_path: Path) -> None:
    import pymupdf

    document = pymupdf.open()
    page = document.new_page()
    for line in range(30):
        page.insert_text((60, 60 + 20 * line), "This is a plain visible sentence of the paper.", fontsize=10)
    arxiv.papers["hep-th/9901999"].sources = [document.tobytes()]
    (source,) = sources(tmp_path, "hep-th/9901999")
    family = ingested(store, source).family
    assert family is not None and family.source_kind == "pdf" and family.facts["arxiv"]["title"] == "Old & Good"
    assert isinstance(source.look(store), Material)


def test_one_connection_and_a_pause_across_threads(arxiv: FakeArxiv, tmp_path: Path) -> None:
    def ask() -> None:
        pace = Pace("h", 0.2, folder=tmp_path)
        Line(arxiv.url, pace=pace).get("/e-print/hep-th/9901999", lambda _: None)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    starts, ends = sorted(start for _, start, _ in arxiv.log), sorted(end for _, _, end in arxiv.log)
    assert arxiv.most_at_once == 1 and len(starts) == 4
    assert all(after - before >= 0.19 for before, after in zip(ends, starts[1:], strict=False))


def test_processes_share_one_queue(tmp_path: Path) -> None:
    script = (
        "import sys, time\nfrom pathlib import Path\nfrom tasks.ingest.arxiv.pace import Pace\n"
        "pace = Pace('h', 0.3, folder=Path(sys.argv[1]))\n"
        "for _ in range(2):\n    with pace.turn():\n        print(time.time(), flush=True)\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    times = sorted(float(line) for process in running for line in process.communicate(timeout=60)[0].split())
    assert len(times) == 4 and all(after - before >= 0.29 for before, after in itertools.pairwise(times))


def test_a_clock_that_was_set_back_makes_nobody_wait_long(tmp_path: Path) -> None:
    slept: list[float] = []
    times = iter([1000.0, 10.0, 10.0])
    pace = Pace("h", 3.0, folder=tmp_path, clock=lambda: next(times), sleep=slept.append)
    for _ in range(2):
        with pace.turn():
            pass
    assert slept == [0.0, 3.0]


def test_arxiv_itself_always_gets_its_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENHAND_ARXIV_INTERVAL_S", "0")
    assert interval_for("https://export.arxiv.org") == interval_for("http://arxiv.org:80/x") == 3.0
    assert interval_for("http://127.0.0.1:99") == 0.0


def test_retry_after_is_heeded_up_to_a_cap(tmp_path: Path) -> None:
    slept: list[float] = []
    answers = iter([("7", 429), ("99999", 503), ("Wed, 21 Oct 2015 07:28:00 GMT", 429), ("", 200)])

    def answer(_: httpx.Request) -> httpx.Response:
        after, status = next(answers)
        return httpx.Response(status, headers={"Retry-After": after}, content=b"x")

    line = Line("https://export.arxiv.org", pace=Pace("h", 0, folder=tmp_path), sleep=slept.append,
                transport=httpx.MockTransport(answer))
    assert line.get("/e-print/x", lambda _: None) == b"x"
    assert slept == [7.0, 120.0, 60.0]


@pytest.mark.parametrize("status, reason", [(404, "not_found"), (410, "not_found"), (400, "refused")])
def test_final_refusals_are_asked_once(tmp_path: Path, status: int, reason: str) -> None:
    asked: list[int] = []

    def answer(_: httpx.Request) -> httpx.Response:
        asked.append(1)
        return httpx.Response(status)

    line = Line("http://x.example", pace=Pace("h", 0, folder=tmp_path), transport=httpx.MockTransport(answer))
    with pytest.raises(NotThere) as refusal:
        line.get("/e-print/x", lambda _: None)
    assert refusal.value.reason == reason and len(asked) == 1


def test_a_feed_with_entities_is_not_read() -> None:
    with pytest.raises(NotFetched, match="document type"):
        read_feed(b'<!DOCTYPE feed [<!ENTITY a "aaaa">]><feed xmlns="http://www.w3.org/2005/Atom">&a;</feed>')


def test_a_killed_fetch_goes_on_where_it_was(arxiv: FakeArxiv, store: Store, tmp_path: Path) -> None:
    found = sources(tmp_path, "2401.00001v1", "hep-th/9901999v1")
    ingested(store, found[0])
    store.close()
    again = open_store(tmp_path / "store.duckdb")
    arxiv.log.clear()
    assert all(ingested(again, source).family is not None for source in found)
    assert arxiv.paths() == ["/e-print/hep-th/9901999v1"]
    assert {step.step for step in again.load(Step)} == {"arxiv_paper", "arxiv_source", "ingest"}
    assert len(again.load(Family)) == 2
    again.close()
