"""Faults that people met in the field (part L), as small inputs with the right value."""


from __future__ import annotations

import time

import pytest

from storage.errors import InputError
from tasks.latex.graph import flatten, parts
from tasks.latex.project import Project, load_project, make_project, to_tar
from tasks.latex.segments import apply, read_prose, segments

BODY = "We study the problem and show that the method works well."


def document(body: str, preamble: str = "") -> Project:
    text = f"\\documentclass{{article}}{preamble}\n\\begin{{document}}\n{body}\n\\end{{document}}\n"
    return make_project({"main.tex": text.encode()})


def texts(project: Project) -> list[str]:
    return [segment.text for segment in segments(project, headings=True)]


def protected(project: Project) -> str:
    return "\n".join(mask for segment in segments(project, headings=True) for mask in segment.masks)


@pytest.mark.parametrize(
    "preamble, body",
    [
        (
            "\\newcommand{\\abstract}[1]{\\section*{Abstract}#1}",
            "\\abstract{We study X \\cite{a} with care here.}\\section{Intro} Text.",
        ),
        ("", "\\begin{abstract}We study X \\cite{a} with care here.\\end{abstract}\\section{Intro} Text."),
        ("\\abstract{We study X \\cite{a} with care here.}", "\\maketitle\\section{Intro} Text."),
        ("\n\\begin{abstract}We study X \\cite{a} with care here.\\end{abstract}", "\\maketitle\\section{Intro} Text."),
    ],
)
def test_b05_abstract_as_command_or_environment(preamble: str, body: str) -> None:
    found = [segment for segment in segments(document(body, preamble)) if segment.kind == "abstract"]
    assert [segment.text for segment in found] == ["We study X ⟦1⟧ with care here."]


def test_b05_paper_without_abstract_is_allowed() -> None:
    assert texts(document(BODY)) == [BODY]


def test_abstract_in_a_file_of_its_own() -> None:
    main = b"\\documentclass{article}\\abstract{\\input{sec/abs}}\\begin{document}\\maketitle Some words of body text.\\end{document}"
    project = make_project({"main.tex": main, "sec/abs.tex": b"We study X with great care.\n"})
    assert [(s.kind, s.file) for s in segments(project)] == [("abstract", "sec/abs.tex"), ("paragraph", "main.tex")]


@pytest.mark.parametrize("name", ["notes9.tex", "PAPER.TEX", "old"])
def test_b06_only_file_is_the_main_one(name: str) -> None:
    project = make_project({name: b"\\documentstyle[12pt]{article}  \\begin{document} Old paper. \\end{document}"})
    assert (project.main, project.ambiguous) == (name, ())


def test_b06_plain_tex_is_a_document() -> None:
    project = make_project({"p.tex": b"\\magnification=1200 This is a plain paper.\n\\bye\n", "refs.bib": b"@a{b}"})
    assert project.main == "p.tex"


def test_b06_nothing_found_names_what_was_looked_at() -> None:
    with pytest.raises(InputError, match=r"a\.tex, b\.tex"):
        make_project({"a.tex": b"\\section{x}", "b.tex": b"\\section{y}"})


def test_b07_main_file_in_a_folder_and_its_inputs() -> None:
    files = {
        "anc/readme.txt": b"hello",
        "paper/main.tex": b"\\documentclass{article}\\begin{document}\\input{sec/a}\\end{document}",
        "paper/sec/a.tex": BODY.encode(),
        "paper/figs/x.pdf": b"%PDF-1.4",
    }
    project = make_project(files)
    assert project.main == "paper/main.tex"
    assert [segment.file for segment in segments(project)] == ["paper/sec/a.tex"]


def test_b08_order_of_files_makes_no_difference() -> None:
    front = b"\\documentclass{article}\\title{T}\\begin{document}\\begin{abstract}A.\\end{abstract}x\\end{document}"
    files = {"supp.tex": front + b" " * 500, "main.tex": front}
    first, second = make_project(files), make_project(dict(reversed(list(files.items()))))
    assert (first.main, second.main) == ("main.tex", "main.tex")


def test_b08_doubt_is_recorded() -> None:
    front = b"\\documentclass{article}\\title{T}\\begin{document}\\begin{abstract}A.\\end{abstract}x\\end{document}"
    project = make_project({"one.tex": front, "two.tex": front})
    assert (project.main, project.ambiguous) == ("one.tex", ("two.tex",))


@pytest.mark.parametrize(
    "readme, content",
    [
        ("00README.XXX", b"two.tex toplevelfile\n"),
        ("00README.json", b'{"sources": [{"usage": "toplevel", "filename": "two.tex"}]}'),
        ("00README.yaml", b"sources:\n- filename: two.tex\n  usage: toplevel\n"),
    ],
)
def test_b08_readme_decides(readme: str, content: bytes) -> None:
    front = b"\\documentclass{article}\\title{T}\\begin{document}\\begin{abstract}A.\\end{abstract}x\\end{document}"
    assert make_project({"main.tex": front, "two.tex": front, readme: content}).main == "two.tex"


def test_b08_matching_bbl_decides() -> None:
    front = b"\\documentclass{article}\\title{T}\\begin{document}\\begin{abstract}A.\\end{abstract}x\\end{document}"
    assert make_project({"a.tex": front, "b.tex": front, "b.bbl": b"\\begin{thebibliography}{1}"}).main == "b.tex"


@pytest.mark.parametrize("name", ["paper.txt", "paper"])
def test_b10_tex_under_another_suffix(name: str) -> None:
    files = {
        name: b"\\documentclass{article}\\begin{document}\nWe say three things here.\n\\end{document}",
        "fig1.eps": b"%!PS",
    }
    project = make_project(files)
    assert project.main == name
    assert texts(project) == ["We say three things here."]


def test_b11_import_and_subimport_are_followed() -> None:
    project = make_project(
        {
            "main.tex": b"\\documentclass{article}\\usepackage{import}\\begin{document}\\import{sections/}{intro}\\end{document}",
            "sections/intro.tex": b"\\section{Intro} Body of the intro. \\subimport{./}{deep}",
            "sections/deep.tex": b"\\subsection{Deep} More of the text.",
        }
    )
    prose = read_prose(project)
    assert prose.files == ["main.tex", "sections/intro.tex", "sections/deep.tex"]
    assert [segment.text for segment in prose.segments] == ["Body of the intro.", "More of the text."]
    assert prose.segments[1].section == "Deep"
    assert "More of the text." in flatten(project)


@pytest.mark.parametrize(
    "include",
    [
        "\\input sec",
        "\\input{sec.tex}",
        "\\include{sec}",
        "\\subfile{sec}",
        "\\InputIfFileExists{sec}{}{}",
        '\\input{"sec"}',
    ],
)
def test_includes_of_every_form(include: str) -> None:
    files = {
        "main.tex": f"\\documentclass{{article}}\\begin{{document}}\n{include}\n\\end{{document}}".encode(),
        "sec.tex": BODY.encode(),
    }
    assert texts(make_project(files)) == [BODY]


def test_subfiles_own_preamble_is_protected() -> None:
    sub = f"\\documentclass[main.tex]{{subfiles}}\n\\newcommand{{\\x}}{{not prose of ours}}\\begin{{document}}{BODY}\\end{{document}}"
    files = {"main.tex": b"\\documentclass{article}\\begin{document}\\subfile{s}\\end{document}", "s.tex": sub.encode()}
    assert texts(make_project(files)) == [BODY]


def test_b12_literal_name_first_and_no_prose_in_bbl_or_tikz() -> None:
    files = {
        "main.tex": b"\\documentclass{article}\\begin{document}As said \\cite{k} we go on. \\input{main.bbl} \\input{fig.tikz}\\end{document}",
        "main.bbl": b"\\begin{thebibliography}{1}\\bibitem{k} Some Author, a work.\\end{thebibliography}",
        "fig.tikz": b"\\node {three words here};",
        "fig.tikz.tex": b"wrong file with many words",
    }
    project = make_project(files)
    assert [part.file for part in parts(project)] == ["main.tex", "main.bbl", "fig.tikz"]
    assert texts(project) == ["As said ⟦1⟧ we go on."]


def test_b14_comments_are_not_obeyed() -> None:
    body = "First part is here. %\\end{document}\n% \\input{old_draft}\nSecond part is here."
    project = make_project(
        {
            "main.tex": f"\\documentclass{{article}}\\begin{{document}}\n{body}\n\\end{{document}}".encode(),
            "old_draft.tex": BODY.encode(),
        }
    )
    assert [part.file for part in parts(project)] == ["main.tex"]
    assert texts(project) == ["First part is here. ⟦1⟧Second part is here."]


@pytest.mark.parametrize(
    "span",
    [
        "\\begin{lstlisting}\nx = a % b   # keep me\n\\end{lstlisting}",
        "\\begin{verbatim}\n$x % \\begin{itemize}\n\\end{verbatim}",
        "\\begin{minted}{python}\nx = a % b {\n\\end{minted}",
        "\\verb|50% {|",
        "\\lstinline!a%b!",
        "\\url{http://h/a%20b}",
        "\\href{http://h/a%20b#c}{link}",
    ],
)
def test_b15_verbatim_is_never_prose(span: str) -> None:
    project = document(f"Words before it are here. {span} Words after it are here.")
    assert "% b" not in "".join(texts(project)) and "%20" not in "".join(texts(project))
    changed = apply(project, {s.id: s.text.replace("here", "there") for s in segments(project)})
    assert span.encode() in changed.files["main.tex"]
    assert changed.files["main.tex"].count(b"there") == 2


@pytest.mark.parametrize("indent", ["\t\t", "    "])
def test_b17_comment_lines_in_math_stay(indent: str) -> None:
    align = f"\\begin{{align}}\n{indent}%old\n{indent}X &= 1\n\\end{{align}}"
    project = document(f"We write that\n{align}\nand it is so.")
    changed = apply(project, {s.id: s.text.replace("so", "thus") for s in segments(project)})
    assert align.encode() in changed.files["main.tex"]


def test_b18_a_command_on_its_own_line_keeps_the_paragraph() -> None:
    project = document("First sentence is here.\n\\marginnote{x}\nSecond sentence is here.")
    (segment,) = segments(project)
    assert segment.text == "First sentence is here.\n⟦1⟧\nSecond sentence is here."


def test_comment_mask_followed_by_a_new_line_makes_no_paragraph() -> None:
    project = document("First sentence is here. % note\nSecond sentence is here.")
    (segment,) = segments(project)
    changed = apply(project, {segment.id: "First one is here. ⟦1⟧\nSecond one is here."})
    assert b"% note\nSecond one" in changed.files["main.tex"]


def test_b19_only_the_live_branch() -> None:
    project = document("\\iffalse old text here \\figref{a} \\else live text is here \\cite{k} \\fi Tail of the text.")
    assert texts(project) == ["live text is here ⟦1⟧ Tail of the text."]
    assert "\\cite{k}" in protected(project)


@pytest.mark.parametrize(
    "setting, live", [("\\drafttrue", "draft words are here"), ("\\draftfalse", "final words are here")]
)
def test_b19_conditionals_that_the_source_settles(setting: str, live: str) -> None:
    project = document("\\ifdraft draft words are here \\else final words are here \\fi", f"\\newif\\ifdraft{setting}")
    assert [text.strip() for text in texts(project)] == [live]


@pytest.mark.parametrize("tail", ["", "\n"])
def test_b20_last_line_survives(tail: str) -> None:
    source = f"\\documentclass{{article}}\\begin{{document}}\nAll is done now\\iffalse note\\fi.{tail}"
    project = make_project({"main.tex": source.encode()})
    (segment,) = segments(project)
    assert apply(project, {segment.id: segment.text}).files["main.tex"] == source.encode()
    assert (
        apply(project, {segment.id: "All is over now⟦1⟧."}).files["main.tex"] == source.replace("done", "over").encode()
    )


@pytest.mark.parametrize(
    "definitions",
    [
        "\\def\\beq{\\begin{equation}}\\def\\eeq{\\end{equation}}",
        "\\newcommand{\\beq}{\\begin{equation}}\\newcommand{\\eeq}{\\end{equation}}",
        "\\newcommand\\beq{\\begin{equation}}\\newcommand\\eeq{\\end{equation}}",
        "\\let\\beq\\equation\\let\\eeq\\endequation",
        "\\def\\beq{\\[}\\def\\eeq{\\]}",
        "\\def\\beq{$$}\\def\\eeq{$$}",
    ],
)
def test_b22_shorthands_of_environments(definitions: str) -> None:
    project = document(
        "We get now \\beq a=b+c \\label{e1} \\eeq as in Eq.~\\ref{e1}. Next sentence is here.", definitions
    )
    (segment,) = segments(project)
    assert segment.text == "We get now ⟦1⟧ as in Eq.⟦2⟧. Next sentence is here."
    assert segment.masks[0] == "\\beq a=b+c \\label{e1} \\eeq"


@pytest.mark.parametrize(
    "broken",
    ["\\begin\n\\item x\n\\end", "\\begin{", "\\begin{equation} x", "$a", "\\verb|", "{{{", "}}}", "\\[", "\\iffalse"],
)
def test_b23_broken_sources_end_and_keep_their_bytes(broken: str) -> None:
    source = f"\\documentclass{{article}}\\begin{{document}}\nProse comes first here.\n\n{broken}".encode()
    project = make_project({"main.tex": source})
    found = segments(project)
    assert found[0].text == "Prose comes first here."
    assert apply(project, {s.id: s.text for s in found}).files["main.tex"] == source


@pytest.mark.parametrize(
    "unit", ["\\begin", "\\begin{a", "$", "${", "\\[", "{", "}", "[", "\\a[", "\\iffalse ", "\\ifnum ", "\\begin{equation}", "\\footnote{",
             "\\newcommand{\\a}{", "\\verb", "%", "\\url{", "\\emph{", "\\begin{q}\\end{r}", "\\def\\a", "\\section{", "\n\n"],
)  # fmt: skip
def test_b23_no_input_hangs(unit: str) -> None:
    source = b"\\documentclass{article}\\begin{document}" + unit.encode() * (200_000 // len(unit))
    started = time.process_time()
    read_prose(make_project({"main.tex": source}))
    assert time.process_time() - started < 10


def test_b24_half_pairs_in_definitions() -> None:
    half = "\\newcolumntype{M}{>{$}r<{$}}\\newenvironment{note}{\\begin{quote}}{\\end{quote}}"
    assert texts(document("Prose after the preamble.", half)) == ["Prose after the preamble."]
    assert texts(document(half + "\nProse after the definitions.")) == ["Prose after the definitions."]


def test_b26_half_open_interval_in_math() -> None:
    project = document("Let $x\\in\\dom[0,1)$ and $[a,b]\\cup[c,\\infty)$. Prose continues here.")
    assert texts(project) == ["Let ⟦1⟧ and ⟦2⟧. Prose continues here."]


def test_b27_latin1_is_written_back_in_latin1() -> None:
    source = b"\\documentclass{article}\\usepackage[latin1]{inputenc}\\begin{document}\nCaf\xe9 na\xefve text is here.\n\\end{document}"
    project = make_project({"main.tex": source})
    (segment,) = segments(project)
    assert segment.text == "Café naïve text is here."
    assert apply(project, {segment.id: "Café naïve text is there."}).files["main.tex"] == source.replace(
        b"is here", b"is there"
    )


@pytest.mark.parametrize("newline", ["\r", "\r\n", "\n"])
def test_b28_line_ends_are_kept(newline: str) -> None:
    lines = [
        "\\documentclass{article}",
        "% note",
        "\\begin{document}",
        "Hello to all,",
        "all of you.",
        "",
        "Second paragraph of it.",
        "\\end{document}",
        "",
    ]
    source = newline.join(lines).encode()
    project = make_project({"main.tex": source})
    first, second = segments(project)
    assert (first.text, second.text) == ("Hello to all,\nall of you.", "Second paragraph of it.")
    changed = apply(project, {first.id: "Welcome to all,\nall of you."})
    assert changed.files["main.tex"] == source.replace(b"Hello", b"Welcome")


def test_b43_arguments_of_unknown_macros_are_protected() -> None:
    project = document("In short \\revise{we gain a lot} with the method.", "\\newcommand{\\revise}[1]{\\hl{#1}}")
    (segment,) = segments(project)
    assert segment.masks == ("\\revise{we gain a lot}",)


def test_canonical_archive_is_deterministic_and_round_trips() -> None:
    files = {"main.tex": document(BODY).files["main.tex"], "b/a.bin": bytes(range(256))}
    first, second = make_project(files), make_project(dict(reversed(list(files.items()))))
    assert to_tar(first) == to_tar(second)
    assert dict(load_project(to_tar(first)).files) == files
