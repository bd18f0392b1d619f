"""Which TeX is used, and what is said where there is none."""


from __future__ import annotations

from pathlib import Path

import pytest

from storage.errors import EnvironmentProblem
from tasks.latex import compile as compiling
from tasks.latex import engines
from tasks.latex.engines import TexInstall, Wanted, wanted
from tasks.latex.project import make_project

FULL = TexInstall(
    "latexmk", ("pdflatex", "xelatex", "lualatex", "latex", "pdftex"), ("biber", "bibtex", "dvips", "ps2pdf"), "TeX"
)
BARE = TexInstall("latexmk", ("pdflatex", "pdftex"), ("bibtex",), "TeX")


def want(preamble: str, install: TexInstall = FULL, **more: bytes) -> Wanted:
    text = f"\\documentclass{{article}}\n{preamble}\n\\begin{{document}}x\\end{{document}}"
    return wanted(
        make_project(
            {"m.tex": text.encode(), **{name.replace("__", "."): data for name, data in more.items()}}, "m.tex"
        ),
        install,
    )


@pytest.mark.parametrize(
    "preamble, engine",
    [
        ("", "pdflatex"),
        ("\\usepackage{fontspec}", "xelatex"),
        ("%\\usepackage{fontspec}", "pdflatex"),
        ("% !TEX program = lualatex", "lualatex"),
        ("\\ifPDFTeX\\else\n\\usepackage{unicode-math}\n\\fi", "pdflatex"),
        ("\\usepackage{pstricks}", "latex"),
    ],
)
def test_engine_of_a_document(preamble: str, engine: str) -> None:
    assert want(preamble).engine == engine


def test_what_is_missing_is_named() -> None:
    assert want("\\usepackage{fontspec}", BARE).problem == "xelatex"
    assert want("\\usepackage{biblatex}\\addbibresource{r.bib}", BARE, r__bib=b"@a{b}").problem == "biber"
    assert want("\\usepackage{biblatex}\\addbibresource{r.bib}", BARE, r__bib=b"@a{b}", m__bbl=b"x").problem is None
    assert want("\\usepackage[backend=bibtex]{biblatex}", BARE, r__bib=b"@a{b}") == Wanted("pdflatex", "bibtex", None)


def test_lua_code_is_not_run() -> None:
    install = TexInstall("latexmk", ("pdflatex", "lualatex"), (), "TeX")
    assert want("\\usepackage{fontspec}", install).engine == "lualatex"
    assert want("\\usepackage{fontspec}\\directlua{io.open('/etc/passwd')}", install).problem == "xelatex"


def test_no_tex_is_one_line_that_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines.shutil, "which", lambda name: None)
    with pytest.raises(EnvironmentProblem, match="latexmk texlive-latex-extra"):
        engines.tex_available.__wrapped__()


FAKE = """#!/bin/sh
case "$*" in *--untrusted*main.tex) ;; *) exit 9 ;; esac
echo "Output written on main.pdf (2 pages, 9 bytes)." > main.log
printf '%s\\n' '\\newlabel{s}{{1}{1}}' > main.aux
printf '%%PDF-1.5 made by a stand-in' > main.pdf
"""


def test_tectonic_is_used_when_it_is_what_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tectonic").write_text(FAKE)
    (tmp_path / "tectonic").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(compiling, "tex_available", lambda: TexInstall("tectonic", ("tectonic",), (), "Tectonic"))
    made = compiling.build(
        make_project({"main.tex": b"\\documentclass{article}\\begin{document}x\\label{s}\\end{document}"})
    )
    assert (made.ok, made.pages, made.sets.labels, made.engine) == (True, 2, ("s",), "tectonic")
