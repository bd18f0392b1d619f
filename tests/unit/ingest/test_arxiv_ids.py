"""arXiv identifiers in every form, and files of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.errors import InputError
from tasks.ingest.arxiv.ids import ArxivId, parse_arxiv_id, read_ids

FORMS = {
    "cs/0001001": "cs/0001001",
    "hep-th/9901999v2": "hep-th/9901999v2",
    "https://arxiv.org/abs/math.GT/0001999v1": "math/0001999v1",
    "2401.00001v12": "2401.00001v12",
    "arXiv:2401.00001": "2401.00001",
    "ARXIV: 2401.00001v2 [cs.CL]": "2401.00001v2",
    "http://www.arxiv.org/pdf/2401.00001v3.pdf": "2401.00001v3",
    "https://arxiv.org/pdf/2401.00001": "2401.00001",
    "https://export.arxiv.org/e-print/hep-th/9901999/": "hep-th/9901999",
    "arxiv.org/src/0704.0001?context=cs": "0704.0001",
    "https://arxiv.org/abs/cs%2F0701188#top": "cs/0701188",
    "https://doi.org/10.48550/arXiv.2401.00001": "2401.00001",
    "10.48550/ARXIV.2401.00001": "2401.00001",
    " <2401.00001> ": "2401.00001",
}


@pytest.mark.parametrize("text, wanted", FORMS.items())
def test_b31_every_form_is_read(text: str, wanted: str) -> None:
    assert parse_arxiv_id(text).text == wanted


@pytest.mark.parametrize(
    "text", ["", "2413.00001", "2401.001", "2401.00001v0", "cs/0013001", "cs/000100", "../2401.00001", "2401.00001/..",
             "https://evil.example/abs/2401.00001", "2401.00001 2401.00002", "hep-th/99019990"],
)
def test_what_is_no_identifier_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="no arXiv identifier"):
        parse_arxiv_id(text)


def test_versions_are_different_papers_and_names_have_no_slash() -> None:
    first, second = parse_arxiv_id("hep-th/9901999v1"), parse_arxiv_id("hep-th/9901999v2")
    assert first != second and "/" not in first.name and first.name != second.name


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = parse_arxiv_id(text)
    except InputError:
        return
    assert parse_arxiv_id(found.text) == found
    assert parse_arxiv_id(f"https://arxiv.org/abs/{found.text}") == found


def test_files_of_lines_and_of_columns(tmp_path: Path) -> None:
    lines = tmp_path / "ids.txt"
    lines.write_text("# ours\n2401.00001v2  # the one\n\nhttps://arxiv.org/abs/hep-th/9901999#s\n", "utf-8")
    assert read_ids(lines) == [ArxivId("2401.00001", 2), ArxivId("hep-th/9901999")]
    table = tmp_path / "ids.csv"
    table.write_text('title,arXiv_ID\n"A, B",2401.00001\n,2401.00002v1\n', "utf-8-sig")
    assert read_ids(table) == [ArxivId("2401.00001"), ArxivId("2401.00002", 1)]


@pytest.mark.parametrize(
    "text, said",
    [("2401.00001\nnonsense\n", "row 2: 'nonsense'"), ("2401.00001\n\narXiv:2401.00001\n", "row 3: .* row 1"),
     ("# nothing\n", "holds no arXiv"), ("id,title\n2401.00001\n", "row 2: it has 1 cells")],
)
def test_wrong_files_name_the_row(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "ids.txt"
    path.write_text(text, "utf-8")
    with pytest.raises(InputError, match=said):
        read_ids(path)
    with pytest.raises(InputError, match="there is no such file"):
        read_ids(tmp_path / "other")
