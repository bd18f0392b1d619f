"""What a built document refers to and defines: the sets that a rewrite must leave as they are.

Read from the auxiliary files, the log and the list of files that TeX opened. How a build is made is in ``compile.py``.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping

from pydantic import BaseModel, ConfigDict

from tasks.latex.log import undefined_citations, undefined_references

GRAPHICS = (".pdf", ".png", ".jpg", ".jpeg", ".eps", ".ps", ".svg", ".mps", ".jbig2", ".jp2", ".bmp", ".gif")
_LABEL = re.compile(r"^\\newlabel\{([^{}]+)\}", re.M)
_CITATION = re.compile(r"^\\citation\{([^{}]+)\}|^\\abx@aux@cite(?:\{\d+\})?\{([^{}]+)\}", re.M)
_BIBITEM = re.compile(r"^\\bibcite\{([^{}]+)\}", re.M)
_BBL_ENTRY = re.compile(r"^\s*\\entry\{([^{}]+)\}", re.M)
_NEWLABEL = re.compile(r"^\\newlabel\{([^{}]*)\}\{(.*)\}\s*$")
_NOT_TYPESET = (
    "\\@writefile",
    "\\citation",
    "\\abx@aux@cite",
    "\\providecommand",
    "\\setcounter",
    "\\@setckpt",
    "\\gdef \\@abspage",
    "\\abx@aux@page",
    "\\@input",
    "\\bibdata",
    "\\bibstyle",
    "}",
)
_PAGE_WORDS = re.compile(
    r"\\(?:pageref|vref|Vref|vpageref|cpageref|Cpageref|labelcpageref|autopageref|nameref|Nameref|titleref|zref|"
    r"zpageref|fullref)(?![A-Za-z])|\{varioref\}"
)


class Sets(BaseModel):
    """Names that a document defines and uses, sorted."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    labels: tuple[str, ...] = ()
    citations: tuple[str, ...] = ()
    undefined_references: tuple[str, ...] = ()
    undefined_citations: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    bibitems: tuple[str, ...] = ()


def read_sets(auxiliary: Mapping[str, str], log: str, inputs: Iterable[str]) -> Sets:
    """The sets of one build.

    Args:
        auxiliary: texts of the ``.aux`` and ``.bbl`` files, by path.
        log: the last pass's log.
        inputs: project files that TeX opened.
    """
    aux = "\n".join(text for name, text in auxiliary.items() if name.endswith(".aux"))
    bbl = "\n".join(text for name, text in auxiliary.items() if name.endswith(".bbl"))
    cited = {key.strip() for first, second in _CITATION.findall(aux) for key in (first or second).split(",")}
    return Sets(
        labels=_sorted(name for name in _LABEL.findall(aux) if not name.endswith("@cref")),
        citations=_sorted(cited - {"*", "REVTEX41Control", "biblatex-control"}),
        undefined_references=_sorted(undefined_references(log)),
        undefined_citations=_sorted(undefined_citations(log)),
        figures=_sorted(posixpath.normpath(name) for name in inputs if name.lower().endswith(GRAPHICS)),
        bibitems=_sorted([*_BIBITEM.findall(aux), *_BBL_ENTRY.findall(bbl)]),
    )


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))


def set_differences(before: Sets, after: Sets) -> list[str]:
    """One line for each set that is not the same: what was lost and what is new."""
    found: list[str] = []
    for name in Sets.model_fields:
        old, new = set(getattr(before, name)), set(getattr(after, name))
        lost, added = sorted(old - new), sorted(new - old)
        said = [
            f"{what} {', '.join(names[:5])}{' ...' if len(names) > 5 else ''}"
            for what, names in (("lost", lost), ("new", added))
            if names
        ]
        if said:
            found.append(f"{name}: {'; '.join(said)}")
    return found


def uses_pages(texts: Iterable[str]) -> bool:
    """Whether a source prints page numbers or titles by reference, so that a moved label changes what is typeset."""
    return any(_PAGE_WORDS.search(text) for text in texts)


def settled_form(aux: str, *, with_pages: bool) -> str:
    """What of an ``.aux`` file a further pass would typeset differently.

    Lists of figures and contents are judged by their own files, and citations make no difference without BibTeX.
    Without page references only the number of a label counts (its page and title are not printed); the order never
    does.
    """
    kept = set()
    for line in aux.splitlines():
        if not line.strip() or line.startswith(_NOT_TYPESET):
            continue
        found = None if with_pages or line.startswith("\\newlabel{LastPage}") else _NEWLABEL.match(line)
        kept.add(f"{found[1]}={_first_group(found[2])}" if found else line)
    return "\n".join(sorted(kept))


def _first_group(body: str) -> str:
    depth = 0
    for place, mark in enumerate(body):
        depth += (mark == "{") - (mark == "}")
        if depth == 0:
            return body[: place + 1]
    return body
