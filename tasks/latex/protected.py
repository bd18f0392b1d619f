"""The protected content of a paper as a listing: what every wording of it shares.

One item a line, ``kind<TAB>item<TAB>count``, sorted. Two texts with equal listings state the same numbers, cite the
same works and hold the same formulas; the listing's hash is a fingerprint of the science.
"""

from __future__ import annotations

import re
from collections import Counter

from tasks.latex.graph import macros_of, parts
from tasks.latex.guard import numbers
from tasks.latex.macros import group_end
from tasks.latex.project import Project
from tasks.latex.scan import scan
from tasks.latex.segments import segments

_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*(?:\s?%)?(?!\w)")
_BRACKET_CITATION = re.compile(r"\[(\d+(?:\s*[,;–-]\s*\d+)*)\]")
_NAME_CITATION = re.compile(
    r"\(?([A-Z][\w'-]+(?: et al\.?| and [A-Z][\w'-]+| & [A-Z][\w'-]+)?),? \(?((?:19|20)\d\d[a-z]?)\)?"
)
_CITE = re.compile(r"\\(\w*[cC]ite\w*)\*?\s*(?:\[[^\]]{0,200}\]\s*){0,2}(?=\{)")
_REFERENCE = re.compile(r"\\(\w*ref|label)\*?\s*\{([^{}]{1,200})\}")


def project_listing(project: Project) -> str:
    """The protected content of a LaTeX project: formulas, citations, references and labels, numbers of its prose."""
    found: Counter[tuple[str, str]] = Counter()
    macros = macros_of(project)
    for part in parts(project, macros):
        if part.body is None:
            continue
        text = part.source.text
        for token in scan(text, macros, *part.body).tokens:
            if token.kind == "math":
                found["math", _squeezed(text[token.start : token.end])] += 1
        body = text[slice(*part.body)]
        for cited in _CITE.finditer(body):
            end = group_end(body, cited.end(), min(cited.end() + 2000, len(body)))
            for key in body[cited.end() + 1 : end - 1].split(","):
                found["citation", key.strip()] += 1
        for reference in _REFERENCE.finditer(body):
            found["label" if reference[1] == "label" else "reference", reference[2]] += 1
    for segment in segments(project):
        for number, count in numbers(segment.text).items():
            found["number", number] += count
    return _listing(found)


def text_listing(text: str) -> str:
    """The protected content of a plain text (of a PDF): its numbers and its citations."""
    found: Counter[tuple[str, str]] = Counter()
    for number in _NUMBER.findall(text):
        found["number", number.replace(" ", "")] += 1
    for bracket in _BRACKET_CITATION.findall(text):
        found["citation", _squeezed(bracket)] += 1
    for name, year in _NAME_CITATION.findall(text):
        found["citation", f"{name} {year}"] += 1
    return _listing(found)


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def _listing(found: Counter[tuple[str, str]]) -> str:
    return "".join(f"{kind}\t{item}\t{count}\n" for (kind, item), count in sorted(found.items()))
