"""Which TeX is installed and which engine a document wants.

Finding programs and reading a source's preamble for hints; nothing is run here but ``--version`` and ``kpsewhich``.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache

from storage.errors import EnvironmentProblem
from tasks.latex.graph import parts
from tasks.latex.project import Project

INSTALL_HINT = (
    "install TeX Live (Debian: apt-get install latexmk texlive-latex-extra texlive-science "
    "texlive-fonts-recommended texlive-bibtex-extra lmodern; for papers from the field also biber texlive-publishers "
    "texlive-fonts-extra) or Tectonic"
)
_MAGIC = re.compile(r"^%\s*!\s*TEX\s+(?:TS-)?program\s*=\s*(\w+)", re.I | re.M)
_UNICODE_ENGINE = re.compile(
    r"^[^%\n]*\\(?:usepackage|RequirePackage)\s*(?:\[[^\]]{0,400}\])?\s*\{[^}]{0,400}(?:fontspec|unicode-math|"
    r"polyglossia|xeCJK|luatexja|luacode)",
    re.M,
)
_ENGINE_TEST = re.compile(r"\\if(?:PDFTeX|pdftex|pdf|xetex|XeTeX|luatex|LuaTeX|tutex|xetexorluatex)(?![A-Za-z])")
_POSTSCRIPT = re.compile(
    r"^[^%\n]*\\(?:usepackage|RequirePackage)\s*(?:\[[^\]]{0,400}\])?\s*\{[^}]{0,400}(?:pstricks|pst-\w+|psfrag|auto-pst-pdf)",
    re.M,
)
_BIBLATEX = re.compile(r"^[^%\n]*\\(?:usepackage|RequirePackage)\s*(?:\[([^\]]{0,400})\])?\s*\{biblatex\}", re.M)
_LUA = re.compile(r"directlua|latelua|luaexec|luadirect|luacode|\\lua\w*:|\^\^")


@dataclass(frozen=True)
class TexInstall:
    """A TeX that can build papers.

    Attributes:
        driver: ``latexmk`` or ``tectonic``.
        engines: names of the engines found.
        tools: of biber, bibtex, dvips, ps2pdf, those found.
        version: the first line of the engine's ``--version``.
    """

    driver: str
    engines: tuple[str, ...]
    tools: tuple[str, ...]
    version: str


@cache
def tex_available() -> TexInstall:
    """The TeX of this machine.

    Raises:
        EnvironmentProblem: there is none; the message says what to install.
    """
    engines = tuple(name for name in ("pdflatex", "xelatex", "lualatex", "latex", "pdftex") if shutil.which(name))
    tools = tuple(name for name in ("biber", "bibtex", "dvips", "ps2pdf", "kpsewhich") if shutil.which(name))
    if shutil.which("latexmk") and "pdflatex" in engines:
        return TexInstall("latexmk", engines, tools, _version("pdflatex"))
    if shutil.which("tectonic"):
        return TexInstall("tectonic", ("tectonic",), tools, _version("tectonic"))
    lacking = "latexmk" if "pdflatex" in engines else "LaTeX"
    raise EnvironmentProblem(f"{lacking} was not found on this machine: {INSTALL_HINT}")


def _version(program: str) -> str:
    try:
        shown = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=30, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return program
    return (shown.stdout.splitlines() or [program])[0].strip()


def is_installed(name: str) -> bool:
    """Whether TeX finds a file of this name (a package, a class) or the machine a program of this name."""
    if shutil.which(name):
        return True
    if not shutil.which("kpsewhich"):
        return False
    found = subprocess.run(
        ["kpsewhich", "--", name], capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL
    )
    return found.returncode == 0 and bool(found.stdout.strip())


@dataclass(frozen=True)
class Wanted:
    """What a document needs: its engine, and the program for its bibliography (None: it runs none)."""

    engine: str
    bibliography: str | None
    problem: str | None = None


def wanted(project: Project, install: TexInstall) -> Wanted:
    """The engine and bibliography program of a document.

    ``problem`` names a program that is missing and without which the document cannot be built.
    """
    text = "\n".join(part.source.text for part in parts(project))
    if install.driver == "tectonic":
        return Wanted("tectonic", None)
    engine, problem = _engine(text, install)
    stem = project.main.rsplit(".", 1)[0]
    shipped = stem + ".bbl" in project.files
    databases = any(name.lower().endswith(".bib") for name in project.files)
    found = _BIBLATEX.search(text)
    if found and not re.search(r"backend\s*=\s*bibtex", found[1] or ""):
        if not databases or "biber" not in install.tools:
            return Wanted(engine, None, problem or (None if shipped or not databases else "biber"))
        return Wanted(engine, "biber", problem)
    return Wanted(engine, "bibtex" if databases else None, problem)


def _engine(text: str, install: TexInstall) -> tuple[str, str | None]:
    if "\\documentclass" not in text and "\\documentstyle" not in text and "\\begin{document}" not in text:
        return "pdftex", None if "pdftex" in install.engines else "pdftex"
    named = _MAGIC.search(text)
    asked = named[1].lower() if named else None
    # A source that asks which engine runs it (as pandoc's do) builds with the usual one.
    if asked in ("xelatex", "lualatex") or (_UNICODE_ENGINE.search(text) and not _ENGINE_TEST.search(text)):
        order = [asked] if asked in ("xelatex", "lualatex") else []
        order += ["xelatex", "lualatex"]
        usable = [name for name in order if name in install.engines and (name != "lualatex" or not _LUA.search(text))]
        if usable:
            return usable[0], None
        return "pdflatex", "xelatex"
    if _POSTSCRIPT.search(text) and "latex" in install.engines and "dvips" in install.tools:
        return "latex", None if "ps2pdf" in install.tools else "ps2pdf"
    return "pdflatex", None
