"""Folders of papers: what is a paper, what it is called, what cannot be used."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from storage.errors import InputError
from tasks.ingest.sources import PaperSource, find_sources, read_source

TEX = b"\\documentclass{article}\\begin{document}Some words here.\\end{document}"


def fill(folder: Path, **files: bytes) -> Path:
    for name, data in files.items():
        path = folder / name.replace("__", ".").replace("--", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def test_entries_become_families_named_after_them(tmp_path: Path) -> None:
    (tmp_path / "2401.00001.tar.gz").write_bytes(gzip.compress(TEX))
    (tmp_path / "2401.00002v3").write_bytes(gzip.compress(TEX + b"%"))
    (tmp_path / "b paper").mkdir()
    (tmp_path / "b paper" / "main.tex").write_bytes(TEX)
    (tmp_path / "LICENSES").mkdir()
    (tmp_path / "LICENSES" / "MIT.txt").write_text("Permission is hereby granted")
    fill(tmp_path, c__tex=TEX, d__pdf=b"%PDF-1.4", README__md=b"# hi", human__csv=b"family,score\n", __hidden=b"x")
    found = find_sources(tmp_path)
    assert [source.name for source in found] == ["2401.00001", "2401.00002v3", "b paper", "c", "d"]
    assert [read_source(source).kind for source in found] == ["latex", "latex", "latex", "latex", "pdf"]


def test_equal_papers_have_equal_content_whatever_holds_them(tmp_path: Path) -> None:
    (tmp_path / "x.tar.gz").write_bytes(gzip.compress(TEX))
    (tmp_path / "y").mkdir()
    (tmp_path / "y" / "main.tex").write_bytes(TEX)
    assert len({read_source(source).content for source in find_sources(tmp_path)}) == 1


def test_twice_the_same_name_is_an_error(tmp_path: Path) -> None:
    fill(tmp_path, a__tex=TEX, a__pdf=b"%PDF-1.4")
    with pytest.raises(InputError, match=r"a\.pdf and a\.tex would both be the family a"):
        find_sources(tmp_path)


def test_missing_and_empty_folders(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        find_sources(tmp_path / "nowhere")
    with pytest.raises(InputError, match="holds no paper"):
        find_sources(tmp_path)


@pytest.mark.parametrize(
    "data, reason",
    [(b"<!DOCTYPE html><title>x</title>", "html_page"), (b"", "empty"), (gzip.compress(b"\0\1"), "not_an_archive")],
)
def test_unusable_papers_are_materials_with_a_reason(tmp_path: Path, data: bytes, reason: str) -> None:
    (tmp_path / "p.tar.gz").write_bytes(data)
    found = read_source(PaperSource("p", tmp_path / "p.tar.gz"))
    assert (found.kind, found.reason) == ("unusable", reason)
    assert found.detail.startswith("p: ")


def test_a_folder_without_a_main_file_says_so(tmp_path: Path) -> None:
    fill(tmp_path, **{"p--a__tex": b"\\section{x}", "p--b__tex": b"\\section{y}"})
    found = read_source(find_sources(tmp_path)[0])
    assert (found.kind, found.reason) == ("unusable", "no_main_file")
    assert "a.tex, b.tex" in found.detail


def test_a_folder_with_one_pdf_is_a_pdf(tmp_path: Path) -> None:
    fill(tmp_path, **{"p--paper__pdf": b"%PDF-1.4", "p--notes__txt": b"x"})
    assert read_source(find_sources(tmp_path)[0]).kind == "pdf"
