"""Tokens joined are the source, and what is not rewritten stays byte for byte, for any input."""


from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tasks.latex.macros import Macros, collect
from tasks.latex.project import Project
from tasks.latex.scan import scan
from tasks.latex.segments import apply, read_prose
from tasks.latex.source import decode

FRAGMENTS = st.sampled_from(
    ["word ", "two words ", "\n", "\n\n", "\r\n", "\r", "% c\n", "\\%", "$", "$$", "\\[", "\\]", "\\(", "\\)", "{", "}", "[", "]",
     "\\begin{equation}", "\\end{equation}", "\\begin{figure}", "\\end{figure}", "\\caption{a b c d}", "\\begin{itemize}",
     "\\item ", "\\end{itemize}", "\\footnote{", "\\emph{", "\\cite{k}", "~", "\\verb|%|", "\\iffalse", "\\iftrue", "\\else",
     "\\fi", "\\input{x}", "\\newcommand{\\q}{", "\\def\\beq{\\begin{equation}}", "\\beq", "\\section{A b}", "\\'e", "\\\"{u}",
     "é", "⟦1⟧", "⟧", "&", "#", "^", "_", "\\", "\\begin", "\\end", "\\begin{verbatim}", "\\end{verbatim}", "\t", "\\url{a%b}",
     "\\begin{document}", "\\end{document}", "\\\\[2pt]", "\\textcolor{red}{x y z}", "\\hskip 2pt plus 1pt", "\\abstract{a b c}"]
)  # fmt: skip
SOURCES = st.lists(FRAGMENTS | st.text(max_size=4), max_size=40).map("".join)


@given(SOURCES)
@settings(max_examples=400, deadline=None)
def test_tokens_follow_each_other_inside_the_text(text: str) -> None:
    position = 0
    for token in scan(text, collect([text])).tokens:
        assert token.start >= position
        assert token.end > token.start
        position = token.end
    assert position <= len(text)


@given(SOURCES, st.sampled_from(["utf-8", "latin-1"]))
@example("word word word \\iffalseAÀ", "utf-8")
@settings(max_examples=400, deadline=None)
def test_nothing_changes_where_nothing_is_rewritten(text: str, encoding: str) -> None:
    data = ("\\documentclass{article}\\begin{document}" + text).encode(encoding, "replace")
    project = Project({"main.tex": data, "x.tex": b"included words are here"}, "main.tex")
    prose = read_prose(project, headings=True)
    assert apply(project, {s.id: s.text for s in prose.segments}, of=prose.segments).files == project.files
    assert not any("round_trip" in flags for flags in prose.flags.values())


@given(SOURCES)
@settings(max_examples=400, deadline=None)
def test_only_prose_changes(text: str) -> None:
    data = ("\\documentclass{article}\\begin{document}" + text).encode("utf-8", "replace")
    project = Project({"main.tex": data}, "main.tex")
    prose = read_prose(project, headings=True)
    changed = apply(project, {s.id: s.text.replace("word", "term") for s in prose.segments}, of=prose.segments)
    before, after = data.decode(), changed.files["main.tex"].decode()
    lines = str.maketrans({"\r": "\n"})
    squeezed_before, squeezed_after = (
        "".join(one.replace("\r\n", "\n").translate(lines).replace("term", "word").split()) for one in (before, after)
    )
    assert squeezed_before == squeezed_after


@given(st.binary(max_size=200))
def test_any_bytes_decode_to_what_encodes_back(data: bytes) -> None:
    source = decode(data)
    assert source.encode(source.text) == data


def test_declared_encoding_is_used_and_never_loses_a_byte() -> None:
    assert decode(b"\xa4", "iso8859-15").text == "€"
    assert decode(b"\x81", "cp1252").encoding != "cp1252"


def test_shorthand_definitions_are_read_outside_comments() -> None:
    macros: Macros = collect(
        [
            "%\\def\\no{\\begin{equation}}\n\\newcommand{\\be}[1]{\\begin{align}\\label{#1}}\\newcommand{\\ee}{\\end{align}}"
        ]
    )
    assert (dict(macros.opens), dict(macros.closes)) == ({"be": "align"}, {"ee": "align"})


def test_kinds_of_the_authors_environments() -> None:
    macros = collect(
        ["\\newtheorem{thm}{Theorem}\\newenvironment{code}{\\verbatim}{\\endverbatim}\\newenvironment{wide}{\\begin{table}}{\\end{table}}"
         "\\newenvironment{tip}{\\begin{quote}}{\\end{quote}}\\lstnewenvironment{py}{}{}\\newenvironment{m}{\\begin{equation}}{\\end{equation}}"]
    )  # fmt: skip
    assert dict(macros.environments) == {
        "thm": "prose", "code": "verbatim", "wide": "float", "tip": "prose", "py": "verbatim", "m": "opaque",
    }  # fmt: skip
