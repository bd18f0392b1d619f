"""What is prose, what is a mask, and how a segment is put back."""


from __future__ import annotations

import pytest

from tasks.latex.masks import unmask
from tasks.latex.project import Project, make_project
from tasks.latex.segments import apply, read_prose, segments


def document(body: str, preamble: str = "") -> Project:
    text = f"\\documentclass{{article}}{preamble}\n\\begin{{document}}\n{body}\n\\end{{document}}\n"
    return make_project({"main.tex": text.encode()})


@pytest.mark.parametrize(
    "body, text",
    [
        ("As \\citet{a} show in Figure~\\ref{f}, it works.", "As ⟦1⟧ show in Figure⟦2⟧, it works."),
        ("We gain 5\\% in the R\\&D of it.", "We gain 5\\% in the R\\&D of it."),
        ("This is \\emph{very important} for us.", "This is ⟦1⟧very important⟦2⟧ for us."),
        ("A {\\bf bold claim} is made here.", "A ⟦1⟧bold claim⟦2⟧ is made here."),
        ('The M\\"uller--Na\\"{\\i}ve test is passed.', "The ⟦1⟧--⟦2⟧ test is passed."),
        ("We have $x$ and \\(y\\) and\n\\[ z \\]\nhere.", "We have ⟦1⟧ and ⟦2⟧ and\n⟦3⟧\nhere."),
        ("The name \\ours{} is used by \\oursb too.", "The name ⟦1⟧ is used by ⟦2⟧ too."),
        ("See the \\textcolor{red}{marked words here} of it.", "See the ⟦1⟧marked words here⟦2⟧ of it."),
        ("Some text here\\footnote{A note of some words.} goes on.", "Some text here⟦1⟧ goes on."),
        ("\\noindent Layout \\vspace{2pt} is left out here.\\label{x}", "Layout ⟦1⟧ is left out here."),
        ("A literal ⟦9⟧ is a mask here.", "A literal ⟦1⟧9⟦2⟧ is a mask here."),
    ],
)
def test_masks(body: str, text: str) -> None:
    found = [segment for segment in segments(document(body)) if segment.kind == "paragraph"]
    assert [segment.text for segment in found] == [text]
    assert unmask(found[0], text) == body.strip().removeprefix("\\noindent ").removesuffix("\\label{x}")


def test_floats_are_protected_but_for_captions() -> None:
    body = (
        "\\begin{figure}\\includegraphics{a}\\caption[s]{The caption of it.}\\label{f}\\end{figure}\n"
        "\\begin{table}\\caption{A table of numbers.}\\begin{tabular}{>{$}r<{$}}1 & some words in it\\end{tabular}\\end{table}\n"
        "\\begin{tikzpicture}\\node {words in a picture};\\end{tikzpicture}\n"
        "\\begin{algorithm}\\caption{How the thing works.}\\begin{algorithmic}\\State do some work\\end{algorithmic}\\end{algorithm}"
    )
    project = document(body)
    assert [s.text for s in segments(project)] == ["The caption of it.", "A table of numbers.", "How the thing works."]
    assert segments(project, captions=False) == []


def test_items_quotes_theorems_are_prose_and_lists_of_works_are_not() -> None:
    body = (
        "\\begin{itemize}\\item[a)] The first item here.\\item The second item here.\\end{itemize}"
        "\\begin{theorem}[Name] It holds that so.\\end{theorem}\\begin{proof}This is the proof.\\end{proof}"
        "\\begin{thebibliography}{1}\\bibitem{a} A. Author, a title of work.\\end{thebibliography}"
    )
    found = segments(document(body, "\\newtheorem{theorem}{T}"))
    assert [(s.kind, s.text) for s in found] == [
        ("item", "The first item here."), ("item", "The second item here."), ("paragraph", "It holds that so."),
        ("paragraph", "This is the proof."),
    ]  # fmt: skip


def test_title_sections_and_headings() -> None:
    project = document(
        "\\maketitle\\section{First Part}Text of the part.",
        "\\title[Short]{A Title of \\\\ Words\\thanks{Money from them}}",
    )
    prose = read_prose(project, headings=True)
    assert [(s.kind, s.section) for s in prose.segments] == [
        ("title", ""),
        ("heading", ""),
        ("paragraph", "First Part"),
    ]
    assert prose.sections == [("section", "First Part")]
    assert "Money" not in prose.segments[0].text


def test_unknown_environments_are_protected_unless_they_hold_sections() -> None:
    assert segments(document("\\begin{mystery}Words that are in it.\\end{mystery}")) == []
    found = segments(document("\\begin{mystery}\\section{S} Words that are in it.\\end{mystery}"))
    assert [segment.text for segment in found] == ["Words that are in it."]


def test_a_rewritten_footnote_inside_a_rewritten_paragraph() -> None:
    project = document("Some text here\\footnote{A note of some words.} goes on.")
    paragraph, note = segments(project)
    assert note.kind == "footnote"
    changed = apply(project, {paragraph.id: "The text there⟦1⟧ goes on.", note.id: "One note of some words."})
    assert b"The text there\\footnote{One note of some words.} goes on." in changed.files["main.tex"]
    only_note = apply(project, {note.id: "One note of some words."})
    assert b"Some text here\\footnote{One note of some words.} goes on." in only_note.files["main.tex"]


def test_a_macro_mask_does_not_grow_into_the_next_word() -> None:
    project = document("The name \\ours, as said, is used.")
    (segment,) = segments(project)
    assert (
        b"The name \\ours is used, as said."
        in apply(project, {segment.id: "The name ⟦1⟧is used, as said."}).files["main.tex"]
    )


def test_ids_survive_a_rewrite() -> None:
    project = document("First paragraph is here.\n\nSecond paragraph is here.")
    before = segments(project)
    after = segments(apply(project, {before[0].id: "The first paragraph, in other words, stands here."}))
    assert [s.id for s in before] == [s.id for s in after]


def test_catcode_changes_leave_the_file_alone() -> None:
    prose = read_prose(document("\\catcode`\\%=12 This % is text of it."))
    assert (prose.segments, prose.flags) == ([], {"main.tex": ["catcodes"]})


def test_short_verbs() -> None:
    found = segments(document("The call |f(%x)| is made here.", "\\usepackage{fancyvrb}\\DefineShortVerb{\\|}"))
    assert [segment.masks for segment in found] == [("|f(%x)|",)]


def test_apply_refuses_unknown_segments() -> None:
    with pytest.raises(KeyError):
        apply(document("Some words are here."), {"main.tex#99": "x"})
