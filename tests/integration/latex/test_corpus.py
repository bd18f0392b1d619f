"""The corpus of real projects: byte-exact reading, and ingestion with the verdicts of its manifest."""

from __future__ import annotations

import csv
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from storage.store import open_store
from tasks.ingest.archive import unpack
from tasks.ingest.family import Ingested, ingest_family
from tasks.ingest.sources import find_sources
from tasks.latex.baseline import load_paper
from tasks.latex.compile import build, differences
from tasks.latex.graph import macros_of
from tasks.latex.project import Project, make_project
from tasks.latex.scan import scan
from tasks.latex.segments import apply, read_prose
from tasks.latex.source import decode

pytestmark = pytest.mark.corpus
CAUSES = {
    "tau-voice-icml": ("missing_package", "fontawesome5.sty"),
    "nve-outside-figs": ("outside_project", "../evidence/"),
    "syco-bench-icml": ("undefined_macro", "\\theHalgorithm"),
    "selective-minted": ("needs_shell_escape", "-shell-escape"),
}
"""The true causes: who is at fault and what is named. A machine with more packages gets further with the first one."""


def manifest(shared: Path) -> dict[str, dict[str, str]]:
    with (shared / "corpus" / "MANIFEST.tsv").open(encoding="utf-8", newline="") as lines:
        return {row["name"]: row for row in csv.DictReader(lines, delimiter="\t")}


@pytest.fixture(scope="module")
def projects(shared: Path) -> dict[str, Project]:
    return {
        name: make_project(unpack((shared / "corpus" / f"{name}.tar.gz").read_bytes()).files, name=name)
        for name in manifest(shared)
    }


def test_main_files_are_those_of_the_manifest(shared: Path, projects: dict[str, Project]) -> None:
    wanted = {name: row["main_tex"] for name, row in manifest(shared).items()}
    assert {name: project.main for name, project in projects.items()} == wanted


def test_every_file_round_trips(projects: dict[str, Project]) -> None:
    read = 0
    for project in projects.values():
        macros = macros_of(project)
        for name, data in project.files.items():
            if not re.search(r"\.(?:tex|sty|cls|bbl|bib|bst)$", name):
                continue
            source = decode(data)
            assert source.encode(source.text) == data
            position = 0
            for token in scan(source.text, macros).tokens:
                assert position <= token.start < token.end
                position = token.end
            assert position <= len(source.text)
            read += 1
    assert read > 400


def test_prose_is_found_and_goes_back_byte_for_byte(shared: Path, projects: dict[str, Project]) -> None:
    rows = manifest(shared)
    for name, project in projects.items():
        prose = read_prose(project, headings=True)
        assert prose.flags == {}, name
        assert apply(project, {s.id: s.text for s in prose.segments}, of=prose.segments).files == project.files
        words = sum(segment.words for segment in prose.segments)
        assert words > 0.4 * int(rows[name]["prose_words_approx"]), name
        changed = apply(project, {s.id: s.text + " so" for s in prose.segments}, of=prose.segments)
        again = read_prose(changed, headings=True)
        assert [s.id for s in again.segments] == [s.id for s in prose.segments], name


@pytest.fixture(scope="module")
def ingested(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ingested]:
    store = open_store(tmp_path_factory.mktemp("corpus") / "store.duckdb")
    sources = find_sources(shared / "corpus")
    with ThreadPoolExecutor(2) as pool:
        return {one.name: one for one in pool.map(lambda source: ingest_family(store, source), sources)}


@pytest.mark.slow
def test_projects_that_build_are_ingested_and_the_others_excluded_with_the_cause(
    shared: Path, ingested: dict[str, Ingested], capsys: pytest.CaptureFixture[str]
) -> None:
    rows = manifest(shared)
    assert set(ingested) == set(rows)
    told = {
        name: f"ingested: {one.family.pages} pages, {one.family.words:,} words, flags: {' '.join(one.family.flags) or '-'}"
        if one.family is not None
        else f"{one.step.outcome}: {one.step.reason}: {one.step.detail}"
        for name, one in sorted(ingested.items())
    }
    with capsys.disabled():
        print("\n" + "\n".join(f"{name:24s} {said[:150]}" for name, said in told.items()))
    for name, one in ingested.items():
        if rows[name]["compiles"] == "yes":
            assert one.family is not None, one.step.detail
            assert one.family.pages == int(rows[name]["pages"])
            assert one.family.title and one.family.words > 2000
        else:
            reason, named = CAUSES[name]
            assert (one.step.outcome, one.step.reason) == ("excluded", reason)
            assert named in (one.step.detail or "")


@pytest.mark.slow
def test_variants_build_alike_on_the_fast_path_and_from_nothing(
    ingested: dict[str, Ingested], tmp_path_factory: pytest.TempPathFactory, shared: Path
) -> None:
    store = open_store(next(tmp_path_factory.getbasetemp().glob("corpus*")) / "store.duckdb")

    def check(one: Ingested) -> str | None:
        assert one.family is not None
        project, baseline = load_paper(store, one.family)
        prose = read_prose(project)
        reworded = {s.id: s.text.replace(" the ", " the very ") for s in prose.segments[::3]}
        variant = apply(project, reworded, of=prose.segments)
        fast, slow = build(variant, baseline=baseline), build(variant)
        found = [differences(baseline, fast), differences(baseline, slow)]
        return (
            None if found == [[], []] and fast.pages == slow.pages else f"{one.name}: {found} {fast.pages} {slow.pages}"
        )

    small = [one for one in ingested.values() if one.family is not None and (one.family.pages or 0) <= 30]
    with ThreadPoolExecutor(2) as pool:
        assert [said for said in pool.map(check, small) if said] == []
