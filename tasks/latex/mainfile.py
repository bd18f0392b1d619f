"""Which file of a project is the paper: decided by content, never by the order in which files are listed.

Candidates are files that hold a document, whatever they are called. They are ranked by what tells a paper from its
supplement; an equal rank of two is reported as an ambiguity, and the name decides.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Mapping

from storage.errors import InputError
from tasks.latex.includes import includes_in, resolve
from tasks.latex.source import decode

_NOT_TEX = frozenset(
    re.findall(
        r"\S+",
        ".bib .bst .cls .sty .clo .def .cfg .fd .ldf .log .aux .toc .out .bbl .blg .md .py .r .jl .js "
        ".css .html .htm .json .yaml .yml .csv .tsv .pdf .png .jpg .jpeg .gif .eps .ps .svg .zip .gz "
        ".tar .dtx .ins .sh .ipynb .fls .synctex .bcf .xml .rst .dvi .ttf .otf .pfb .tikz .pgf .lua .c "
        ".h .cpp .java .split",
    )
)
_TOKEN = re.compile(
    r"%[^\r\n]*|\\(documentclass|documentstyle|begin\s*\{document\}|bye|end|title|icmltitle|maketitle|"
    r"begin\s*\{abstract\}|abstract|section|standalone)(?![A-Za-z@])|\\(?:[A-Za-z@]+|.)",
    re.S,
)
_CLASS = re.compile(r"\\document(?:class|style)\s*(?:\[[^\]]{0,500}\])?\s*\{\s*([^{}]+?)\s*\}", re.S)
_GOOD_NAME = re.compile(r"^(?:main|ms|paper|manuscript|article|root)$", re.I)
_ARXIV_NAME = re.compile(r"(?:^|[_-])arxiv(?:$|[_-])", re.I)
_FAIR_NAME = re.compile(r"main|paper|manuscript|arxiv|camera", re.I)
_BAD_NAME = re.compile(
    r"supp|appendi|response|rebuttal|reply|cover|letter|slides|poster|talk|template|sample|example|"
    r"diff|review|readme|instructions|checklist|old|backup|^_|si$",
    re.I,
)
_PARTS = frozenset({"standalone", "subfiles", "beamer", "letter"})
SIZE_LIMIT = 5_000_000


class _Candidate:
    def __init__(self, name: str, text: str, files: Mapping[str, bytes]) -> None:
        self.name, self.text = name, text
        words = {found[1].replace(" ", "") for found in _TOKEN.finditer(text) if found[1]}
        self.is_latex = bool(words & {"documentclass", "documentstyle"}) and "begin{document}" in words
        self.is_plain = not self.is_latex and bool(words & {"bye", "end"}) and "documentclass" not in words
        self.has_title = bool(words & {"title", "icmltitle", "maketitle"})
        self.has_abstract = bool(words & {"begin{abstract}", "abstract"})
        found = _CLASS.search(text)
        self.document_class = found[1] if found else ""
        stem = posixpath.splitext(name)[0]
        self.has_bbl = stem + ".bbl" in files
        self.stem = posixpath.basename(stem)

    def rank(self, readme: str | None, included: frozenset[str]) -> tuple[int | bool, ...]:
        """Smaller is likelier to be the paper."""
        patterns = (_ARXIV_NAME, _GOOD_NAME, _FAIR_NAME)
        good = next((place for place, pattern in enumerate(patterns) if pattern.search(self.stem)), len(patterns))
        return (
            self.name != readme,
            not self.is_latex,
            self.name in included,
            self.document_class in _PARTS,
            bool(_BAD_NAME.search(self.stem)),
            not (self.has_title and self.has_abstract),
            not self.has_bbl,
            good,
            not self.has_title,
            self.name.count("/"),
        )


def choose_main(files: Mapping[str, bytes], project: str) -> tuple[str, tuple[str, ...]]:
    """The main file and, where another one ranks like it, the others, best first.

    Args:
        files: path -> bytes.
        project: what to call the project in an error.

    Raises:
        InputError: no file holds a document; names what was looked at.
    """
    texts = {name: decode(data).text for name, data in files.items() if _may_be_tex(name, data)}
    candidates = [_Candidate(name, text, files) for name, text in texts.items()]
    documents = [candidate for candidate in candidates if candidate.is_latex or candidate.is_plain]
    if not documents:
        tex = [candidate for candidate in candidates if candidate.name.lower().endswith((".tex", ".ltx", ".latex"))]
        if len(tex) == 1:
            return tex[0].name, ()
        looked = ", ".join(sorted(texts)[:5]) or "no text file"
        raise InputError(f"{project}: no file holds a LaTeX document (looked at {looked}); add the main file")
    included = frozenset(target for candidate in documents for target in _included_by(candidate, files))
    readme = _toplevel(files)
    ranked = sorted(documents, key=lambda candidate: (candidate.rank(readme, included), candidate.name))
    best = ranked[0]
    # Only another complete paper is a doubt; a figure or a supplement that ranks below is not.
    rivals = tuple(
        other.name for other in ranked[1:] if other.rank(readme, included)[:6] == best.rank(readme, included)[:6]
    )
    return best.name, rivals


def _may_be_tex(name: str, data: bytes) -> bool:
    suffix = posixpath.splitext(name)[1].lower()
    return suffix not in _NOT_TEX and len(data) <= SIZE_LIMIT and b"\\" in data and b"\0" not in data[:4096]


def _included_by(candidate: _Candidate, files: Mapping[str, bytes]) -> list[str]:
    root = posixpath.dirname(candidate.name)
    found = (
        resolve(include, root, candidate.name, files) for include in includes_in(candidate.text, 0, len(candidate.text))
    )
    return [name for name in found if name is not None and name != candidate.name]


def _toplevel(files: Mapping[str, bytes]) -> str | None:
    """The top-level file that arXiv's 00README (text, JSON or YAML) names."""
    for name, data in sorted(files.items()):
        base = posixpath.basename(name)
        if not base.upper().startswith("00README"):
            continue
        text = decode(data).text
        if base.lower().endswith(".json"):
            try:
                sources = json.loads(text).get("sources", [])
            except (ValueError, AttributeError):
                continue
            named = [
                str(entry.get("filename"))
                for entry in sources
                if isinstance(entry, dict) and entry.get("usage") == "toplevel"
            ]
        else:
            named = re.findall(r"^\s*([^\s#]+)\s+toplevelfile\s*$", text, re.M)
            named += re.findall(r"filename:\s*[\"']?([^\s\"']+)[\"']?\s*\n\s*usage:\s*[\"']?toplevel", text)
            named += re.findall(r"usage:\s*[\"']?toplevel[\"']?\s*\n\s*filename:\s*[\"']?([^\s\"']+)", text)
        for wanted in named:
            path = posixpath.normpath(posixpath.join(posixpath.dirname(name), wanted))
            if path in files:
                return path
    return None
