"""Pages of versions out of a store: what is on them, that nothing of a paper is read as markup, how many there are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from flows.version_pages import write_version_pages
from storage.records import Family, Version, now
from storage.results import Exclusion, Results, VersionResult
from storage.store import Store, open_store
from tasks.latex.project import make_project, to_tar
from tasks.report.links import versions_link

TAR = "application/x-tar"
BEFORE = (
    "\\documentclass{article}\\begin{document}\\section{Intro \\& more} We show that it works for $x<y$ here.\n\n"
    "This paragraph stays as it is.\n\\section{End} The end is <script>alert(1)</script> near.\\end{document}\n"
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "store.duckdb")
    yield opened
    opened.close()


def tar(store: Store, text: str) -> str:
    return store.blobs.put(to_tar(make_project({"main.tex": text.encode()})), TAR)


def put(store: Store, key: str, condition: str, after: str, **facts: object) -> VersionResult:
    version = Version(
        key=key, family_key="f", condition=condition, text_hash=store.put_text(after), source_hash=tar(store, after),
        pages=2, words=30, segments=3, segments_changed=1, facts={"build_seconds": 1.25, "passes": 1, **facts},
    )
    store.append(version)
    return VersionResult(
        family="<b>paper</b>", condition=condition, producer="rules <a>", pages=2, words=30, segments=3,
        segments_changed=1, segments_fallback=0, key=key,
    )


def results(versions: list[VersionResult], **fields: object) -> Results:
    base = {
        "suite": "s", "benchmark": "robust_review", "title": "T <i>", "made_at": now(), "state": "complete",
        "families": [], "versions": versions, "conditions": [], "producers": [], "configurations": [],
    }
    return Results.model_validate({**base, **fields})


@pytest.fixture
def family(store: Store) -> Family:
    made = Family(
        key="f", family="<b>paper</b>", source_kind="latex", source_hash=tar(store, BEFORE), title="A <u>title</u>",
        main_file="main.tex", text_hash=store.put_text("one\n\ntwo words\n\nthree"), words=20,
    )
    store.append(made)
    return made


def test_a_page_shows_changes_by_section(store: Store, family: Family, tmp_path: Path) -> None:
    after = BEFORE.replace("We show that it works", "We convincingly show that it works")
    shown = put(store, "v", "novelty_stance", after, fallbacks={"main.tex#2": "number_changed"}, reverted=["x"])
    excluded = [Exclusion(family="<b>p", condition="joint", producer="q", reason="sets_differ", detail="<img src=x>")]
    index = write_version_pages(results([shown], exclusions=excluded), store, tmp_path)
    assert index == tmp_path / versions_link()
    (page,) = [path for path in index.parent.glob("*.html") if path != index]
    text, listing = page.read_text(), index.read_text()
    assert "<ins>convincingly </ins>" in text and "1 passage unchanged" in text
    assert "Intro &amp; more" in text or "Intro \\&amp; more" in text
    assert "1.2 s" in text and "Taken back" in text and "number changed" in text
    for each in (text, listing):
        assert not re.search(r"<(?:b|i|u|script|img|a>)\b[^>]*>", each.partition("<body>")[2]), each
        assert "http" not in each.partition("<body>")[2] and "default-src 'none'" in each
    assert page.name in listing and "&lt;img src=x&gt;" in listing and "Excluded, by reason" in listing
    assert versions_link("<b>paper</b>").partition("#")[2] in listing


def test_a_version_without_source_is_compared_as_text(store: Store, family: Family, tmp_path: Path) -> None:
    version = Version(
        key="v", family_key="f", condition="joint", text_hash=store.put_text("one\n\ntwo new words\n\nthree"),
        facts={"imported": True},
    )
    store.append(version)
    shown = put(store, "w", "joint_r2", BEFORE).model_copy(update={"key": "v"})
    index = write_version_pages(results([shown]), store, tmp_path)
    assert index is not None
    (page,) = [path for path in index.parent.glob("*.html") if path != index]
    assert "<ins>new </ins>" in page.read_text() and "2 passages unchanged" in page.read_text()


def test_more_than_a_number_of_pages_is_said(store: Store, family: Family, tmp_path: Path) -> None:
    shown = [put(store, f"v{number}", "joint", BEFORE + "%" * number) for number in range(3)]
    shown = [each.model_copy(update={"producer": f"p{number}"}) for number, each in enumerate(shown)]
    index = write_version_pages(results(shown), store, tmp_path, most=2)
    assert index is not None and len(list(index.parent.glob("*.html"))) == 3
    assert "1 further wordings have no page" in index.read_text()
    write_version_pages(results(shown[:1]), store, tmp_path)
    assert len(list(index.parent.glob("*.html"))) == 2, "pages of versions that are gone do not stay"


def test_a_report_without_versions_has_no_pages(store: Store, tmp_path: Path) -> None:
    assert write_version_pages(results([]), store, tmp_path) is None
