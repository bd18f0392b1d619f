"""Real builds of small documents: verdicts, sets, bibliographies, the fast path, and hostile sources."""


from __future__ import annotations

import time
from pathlib import Path

import pytest

from tasks.latex.baseline import build_facts, carry_archive, restored_build
from tasks.latex.compile import Build, Limits, build, differences
from tasks.latex.pdftext import pdf_text
from tasks.latex.project import Project, make_project
from tasks.latex.segments import apply, segments

BIB = b"@article{k1, author={A. Author}, title={A Title}, journal={J}, year={2020}}\n"


def document(body: str, preamble: str = "", **more: bytes) -> Project:
    text = f"\\documentclass{{article}}{preamble}\n\\begin{{document}}\n{body}\n\\end{{document}}\n"
    files = {name.replace("__", "."): data for name, data in more.items()}
    return make_project({"main.tex": text.encode(), **files}, "main.tex")


def text_of(made: Build) -> str:
    assert made.pdf is not None, made
    return " ".join(pdf_text(made.pdf).text.split())


def test_a_document_builds_and_its_sets_are_read() -> None:
    made = build(
        document(
            "\\section{A}\\label{s} Text \\cite{k1} and \\ref{s}.\\bibliographystyle{plain}\\bibliography{r}",
            r__bib=BIB,
        )
    )
    assert (made.ok, made.pages, made.flags) == (True, 1, ())
    assert (made.sets.labels, made.sets.citations, made.sets.bibitems) == (("s",), ("k1",), ("k1",))
    assert made.sets.undefined_references == made.sets.undefined_citations == ()


def test_equal_sources_give_equal_pdfs() -> None:
    project = document("Some text of it.")
    assert build(project).pdf == build(project).pdf


def test_b27_latin1_reads_right_in_the_pdf() -> None:
    source = b"\\documentclass{article}\\usepackage[latin1]{inputenc}\\usepackage[T1]{fontenc}\\begin{document} Caf\xe9 na\xefve words here. \\end{document}"
    project = make_project({"main.tex": source})
    (segment,) = segments(project)
    changed = apply(project, {segment.id: segment.text.replace("words", "phrases")})
    assert "Café naïve phrases here" in text_of(build(changed))


def test_b28_old_mac_line_ends_build() -> None:
    source = b"\\documentclass{article}\r% note\r\\begin{document}\rHello to you all.\r\\end{document}\r"
    assert "Hello to you all." in text_of(build(make_project({"main.tex": source})))


def test_b32_a_source_that_does_not_build_names_the_true_cause() -> None:
    made = build(make_project({"m.tex": b"\\documentclass{nosuchjournal}\\begin{document} Text. \\end{document}"}))
    assert (made.ok, made.reason, made.missing, made.pdf) == (False, "missing_package", "nosuchjournal.cls", None)


def test_b33_an_undefined_command_fails_though_there_is_a_pdf() -> None:
    original = build(document("\\cite{k1} shows it.\\bibliographystyle{plain}\\bibliography{r}", r__bib=BIB))
    variant = document("\\citet{k1} shows it.\\bibliographystyle{plain}\\bibliography{r}", r__bib=BIB)
    for made in (build(variant), build(variant, baseline=original)):
        assert (made.ok, made.reason) == (False, "undefined_macro")
        assert differences(original, made)[0].startswith("does not build: undefined_macro: ")
        assert "\\citet" in (made.detail or "")


def test_b35_new_undefined_references_are_differences() -> None:
    original = build(document("\\section{A}\\label{s} Text \\ref{s} here."))
    for body in (
        "\\section{A}\\label{s} Text \\ref{s} here \\ref{sec:gone}.",
        "\\section{A}\\label{s} Text \\ref{s} \\cite{nope} here.",
    ):
        for made in (build(document(body), baseline=original), build(document(body))):
            assert made.ok
            assert any(
                line.startswith(("undefined_references: new", "undefined_citations: new"))
                for line in differences(original, made)
            )


def test_b35_undefined_in_both_is_no_difference() -> None:
    original = build(document("Text \\cite{nope} and \\ref{sec:gone}."))
    assert original.ok and original.sets.undefined_references == ("sec:gone",)
    assert differences(original, build(document("Words \\cite{nope} and \\ref{sec:gone}."), baseline=original)) == []


def test_b36_references_that_never_settle_are_accepted_and_flagged() -> None:
    body = "\\makeatletter\\immediate\\write\\@auxout{\\string\\gdef\\string\\tog{\\ifnum\\tog=0 1\\else 0\\fi}} Value \\tog."
    project = document(body, "\\makeatletter\\providecommand\\tog{0}\\makeatother")
    original = build(project)
    assert original.ok and "not_settled" in original.flags
    variant = build(project, baseline=original)
    assert variant.ok and differences(original, variant) == []


def test_b37_only_a_bbl() -> None:
    bbl = b"\\begin{thebibliography}{1}\\bibitem{k1} A. Author. A Title.\\end{thebibliography}"
    project = document("As \\cite{k1} says in it.\\bibliographystyle{plain}\\bibliography{refs}", main__bbl=bbl)
    original = build(project)
    assert original.ok and "As [1] says" in text_of(original) and "A. Author" in text_of(original)
    (segment,) = segments(project)
    variant = build(apply(project, {segment.id: "So ⟦1⟧ states in it."}), baseline=original)
    assert differences(original, variant) == [] and "So [1] states in it" in text_of(variant)


def test_b38_bbl_of_another_biblatex_is_flagged_in_both() -> None:
    bbl = b"% $ biblatex auxiliary file $\n% $ biblatex bbl format version 2.8 $\n\\begingroup\\endgroup\n"
    project = document(
        "As \\cite{k1} says it.\\printbibliography",
        "\\usepackage[backend=biber]{biblatex}\\addbibresource{r.bib}",
        main__bbl=bbl,
    )
    original = build(project)
    assert original.ok and "bibliography_not_rendered" in original.flags
    (segment,) = segments(project)
    variant = build(apply(project, {segment.id: "So ⟦1⟧ says it."}), baseline=original)
    assert "bibliography_not_rendered" in variant.flags and differences(original, variant) == []


def test_errors_of_bibtex_alone_do_not_stop_a_paper() -> None:
    twice = BIB + BIB
    made = build(document("As \\cite{k1} says.\\bibliographystyle{plain}\\bibliography{r}", r__bib=twice))
    assert made.ok and "bibliography_errors" in made.flags
    assert made.sets.bibitems == ("k1",) and "As [1] says" in text_of(made)


def test_b07_main_file_in_a_folder() -> None:
    files = {
        "paper/main.tex": b"\\documentclass{article}\\begin{document}\\input{sec/a}\\end{document}",
        "paper/sec/a.tex": b"Some words of text.",
    }
    made = build(make_project(files))
    assert made.ok and made.inputs == ("paper/main.tex", "paper/sec/a.tex")


def test_b11_import_builds_and_its_inputs_are_known() -> None:
    files = {
        "main.tex": b"\\documentclass{article}\\usepackage{import}\\begin{document}\\import{sections/}{intro}\\end{document}",
        "sections/intro.tex": b"\\section{Intro} Body of it. \\subimport{./}{deep}",
        "sections/deep.tex": b"\\subsection{Deep} More of it.",
    }
    made = build(make_project(files))
    assert made.ok and set(files) <= set(made.inputs)


def test_plain_tex_builds() -> None:
    assert "A plain paper." in text_of(build(make_project({"p.tex": b"A plain paper.\n\\bye\n"})))


def test_the_fast_path_takes_a_second_pass_when_the_contents_list_moves() -> None:
    body = "\\tableofcontents\\newpage\\section{One}\\label{a} Text of it here.\\newpage\\section{Two} See \\ref{a}."
    project = document(body)
    original = build(project)
    (first, *_) = [s for s in segments(project) if s.text.startswith("Text")]
    longer = apply(project, {first.id: first.text + " Many more words." * 900})
    fast, slow = build(longer, baseline=original), build(longer)
    assert fast.ok and fast.passes >= 2
    assert (fast.pages, fast.sets) == (slow.pages, slow.sets)
    assert text_of(fast) == text_of(slow)


def test_a_remembered_baseline_serves_as_the_build_does() -> None:
    project = document("\\section{A}\\label{s} Text in \\ref{s} here.")
    original = build(project)
    restored = restored_build(build_facts(original, "x"), carry_archive(original))
    (segment,) = segments(project)
    variant = build(apply(project, {segment.id: "Words in ⟦1⟧ here."}), baseline=restored)
    assert variant.ok and variant.passes == 1 and differences(restored, variant) == []


# Hostile sources: contained and reported.


@pytest.mark.parametrize(
    "how", ["\\immediate\\write18{touch %s}", '\\input{|"touch %s"}', "\\immediate\\write18{:(){ :|:& };: ; touch %s}"]
)
def test_no_program_is_run(how: str, tmp_path: Path) -> None:
    mark = tmp_path / "was-here"
    made = build(document(how % mark + " Text."))
    assert not mark.exists()
    assert "asked_for_shell" in made.flags or made.reason is not None


def test_a_shipped_latexmkrc_never_runs(tmp_path: Path) -> None:
    mark = tmp_path / "was-here"
    project = document("Text.")
    hostile = project.with_files(
        {name: f"system('touch {mark}');\n".encode() for name in (".latexmkrc", "latexmkrc", "LatexMk")}
    )
    assert build(hostile).ok and not mark.exists()


@pytest.mark.parametrize("path", ["/etc/passwd", "../../../../../etc/passwd"])
@pytest.mark.parametrize(
    "command", ["\\input{%s}", "\\newread\\r\\openin\\r=%s \\read\\r to\\x\\x", "\\verbatiminput{%s}"]
)
def test_no_file_outside_is_read(path: str, command: str) -> None:
    made = build(document("Text. " + command % path, "\\usepackage{verbatim}"))
    assert made.pdf is None or "root:" not in text_of(made)
    if command.startswith("\\input"):
        assert made.reason == "outside_project"


def test_no_file_outside_is_written(tmp_path: Path) -> None:
    mark = tmp_path / "was-here.tex"
    build(document(f"\\newwrite\\w\\immediate\\openout\\w={mark} \\immediate\\write\\w{{x}} Text."))
    assert not mark.exists()


def test_an_endless_loop_is_ended() -> None:
    started = time.monotonic()
    made = build(document("\\loop\\iftrue\\repeat"), limits=Limits(seconds=3))
    assert (made.ok, made.reason) == (False, "timed_out")
    assert time.monotonic() - started < 15


def test_an_endless_output_is_ended() -> None:
    body = (
        "\\newwrite\\w\\immediate\\openout\\w=big.txt \\loop\\immediate\\write\\w{" + "x" * 2000 + "}\\iftrue\\repeat"
    )
    made = build(document(body), limits=Limits(seconds=60, file_bytes=4 << 20, folder_bytes=8 << 20))
    assert (made.ok, made.reason) == (False, "too_big")


def test_many_files_are_counted_together() -> None:
    body = (
        "\\newwrite\\w\\newcount\\n\\loop\\advance\\n1 \\immediate\\openout\\w=f\\the\\n.txt "
        "\\immediate\\write\\w{" + "x" * 5000 + "}\\immediate\\closeout\\w\\iftrue\\repeat"
    )
    made = build(document(body), limits=Limits(seconds=60, file_bytes=4 << 20, folder_bytes=2 << 20))
    assert (made.ok, made.reason) == (False, "too_big")


def test_memory_is_bounded() -> None:
    made = build(document("\\def\\x{\\x\\x}\\x"), limits=Limits(seconds=30))
    assert (made.ok, made.reason) == (False, "tex_capacity")
