"""How the files of a project make one document: bodies, preambles, inclusions, in reading order.

Inclusions that a macro makes are not seen by reading; they are known from the ``.fls`` of the baseline build and hold
no prose of ours. What the passages become is ``segments.py``'s matter.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tasks.latex.includes import Include, includes_in, resolve
from tasks.latex.macros import Macros, collect, group_end
from tasks.latex.project import Project
from tasks.latex.prose import Reading, read
from tasks.latex.source import Source

_DOCUMENT = re.compile(r"\\(begin|end)\s*\{document\}|%[^\r\n]*|\\[A-Za-z@]+|\\.", re.S)
_FRONT = re.compile(
    r"\\(?P<title>title|icmltitle)\s*(?:\[[^\]\r\n]{0,200}\]\s*)?(?=\{)|\\(?P<command>abstract)\s*(?=\{)"
    r"|\\begin\s*\{(?P<env>abstract\*?)\}|\\(?:re)?newcommand\*?\s*\{?\\[A-Za-z@]+|\\[gex]?def\s*\\[A-Za-z@]+"
    r"|\\(?:re)?newenvironment\*?\s*\{[^{}]*\}|%[^\r\n]*|\\[A-Za-z@]+|\\.",
    re.S,
)
_CATCODE = re.compile(r"\\catcode\s*`\\?[%\\${}&#~^_]|\\obeylines(?![A-Za-z])|\\ExplSyntaxOn|\\UseRawInputEncoding")
_NOT_PROSE = (
    ".bbl",
    ".tikz",
    ".pgf",
    ".pdf_tex",
    ".eps_tex",
    ".sty",
    ".cls",
    ".def",
    ".cfg",
    ".bib",
    ".aux",
    ".ind",
    ".gls",
)
_DEFINES = (".sty", ".cls", ".tex", ".ltx", ".def", ".cfg", ".txt", "")
MAX_DEPTH = 20
FLATTEN_LIMIT = 20_000_000


@dataclass
class Part:
    """One file of the document as it was read.

    ``body`` is the range that is body text (None: the file is preamble or protected content), ``reading`` its content.
    ``place`` says where it is included (positions in the files that lead to it), so that passages sort as they are
    read.
    """

    file: str
    source: Source
    body: tuple[int, int] | None
    reading: Reading = field(default_factory=Reading)
    place: tuple[int, ...] = ()


def macros_of(project: Project) -> Macros:
    """Definitions in all files of a project that TeX could read, the main file's last."""
    names = [
        name
        for name in sorted(project.files)
        if name != project.main
        and posixpath.splitext(name)[1].lower() in _DEFINES
        and b"\0" not in project.files[name][:2048]
    ]
    order = sorted(names, key=lambda name: not name.endswith((".sty", ".cls", ".def", ".cfg")))
    return collect(project.source(name).text for name in [*order, project.main])


def body_range(text: str) -> tuple[int, int] | None:
    r"""From after ``\\begin{document}`` to ``\\end{document}`` (or the end); None when there is no document."""
    start = None
    for found in _DOCUMENT.finditer(text):
        if found[1] == "begin" and start is None:
            start = found.end()
        elif found[1] == "end" and start is not None:
            return start, found.start()
    return None if start is None else (start, len(text))


def parts(project: Project, macros: Macros | None = None) -> list[Part]:
    """The files of the document in reading order; a file that is included twice comes once."""
    known = macros_of(project) if macros is None else macros
    made: list[Part] = []
    _visit(project, known, _Visit(project.main, ""), made)
    return made


@dataclass(frozen=True)
class _Visit:
    """How a file is come to: under which heading, as what, and where it is included."""

    file: str
    section: str
    prose: bool = True
    kind: str = "paragraph"
    place: tuple[int, ...] = ()


def _visit(project: Project, macros: Macros, visit: _Visit, made: list[Part]) -> None:
    if len(visit.place) > MAX_DEPTH or any(part.file == visit.file for part in made):
        return
    source = project.source(visit.file)
    text = source.text
    document = body_range(text)
    is_main = visit.file == project.main
    body = document or ((0, len(text)) if not is_main or "\\documentclass" not in text else None)
    if not visit.prose or visit.file.lower().endswith(_NOT_PROSE):
        body = None
    part = Part(visit.file, source, body, place=visit.place)
    made.append(part)
    if body and _CATCODE.search(text, *body):
        part.body, part.reading.flags = None, {"catcodes"}
    elif body:
        part.reading = read(text, macros, *body, section=visit.section, kind=visit.kind)
    front: list[Include] = []
    if is_main and document:
        _read_front(text, document[0], macros, part.reading)
        front = includes_in(text, 0, document[0], prose=False)
    elif part.body is None:
        front = includes_in(text, 0, len(text), prose=False)
    known = {include.start for include in part.reading.includes}
    for include in [*(include for include in front if include.start not in known), *part.reading.includes]:
        target = resolve(include, posixpath.dirname(project.main), visit.file, project.files)
        if target is not None:
            under = next((name for at, _, name in reversed(part.reading.headings) if at < include.start), visit.section)
            _visit(
                project, macros, _Visit(target, under, include.prose, include.kind, (*visit.place, include.start)), made
            )


def _read_front(text: str, limit: int, macros: Macros, reading: Reading) -> None:
    """Title and abstract that stand in the preamble, as a command or an environment."""
    position = 0
    passages = []
    while (found := _next_front(text, position, limit)) is not None:
        if found["env"]:
            close = text.find(f"\\end{{{found['env']}}}", found.end(), limit)
            end = close + len(found["env"]) + 6 if close >= 0 else -1
        else:
            end = group_end(text, found.end(), limit)
        if end < 0:
            break
        if found["title"] or found["command"] or found["env"]:
            front = read(text, macros, found.start(), end)
            passages += front.passages
            reading.includes += front.includes
        position = end
    reading.passages = sorted([*passages, *reading.passages], key=lambda passage: passage.pieces[0].start)


def _next_front(text: str, position: int, limit: int) -> re.Match[str] | None:
    """The next title, abstract or definition (whose body is to be skipped) of a preamble."""
    for found in _FRONT.finditer(text, position, limit):
        if found.lastgroup:
            return found
        definition = found[0].startswith(("\\newcommand", "\\renewcommand", "\\def", "\\gdef", "\\edef", "\\xdef"))
        if definition and text.startswith("{", _after_signature(text, found.end(), limit)):
            end = group_end(text, _after_signature(text, found.end(), limit), limit)
            return None if end < 0 else _next_front(text, end, limit)
    return None


def _after_signature(text: str, position: int, limit: int) -> int:
    found = re.compile(r"[^{}\r\n]{0,80}").match(text, position + text.startswith("}", position), limit)
    return found.end() if found else position


def flatten(project: Project) -> str:
    """The whole document as one LaTeX text: inclusions replaced by what they include, line ends as line feeds.

    Inclusions inside macros, and files that the project lacks, stay as they are written.
    """
    included = {part.file: part for part in parts(project)}
    pieces: list[str] = []
    budget = [FLATTEN_LIMIT]
    for piece in _flat(project, project.main, included, 0):
        budget[0] -= len(piece)
        if budget[0] < 0:
            break
        pieces.append(piece)
    return "".join(pieces).replace("\r\n", "\n").replace("\r", "\n")


def _flat(project: Project, name: str, included: Mapping[str, Part], depth: int) -> Iterator[str]:
    part = included[name]
    text = part.source.text
    is_main = name == project.main
    document = body_range(text)
    start, end = (0, len(text)) if is_main or document is None else document
    front_end = document[0] if document and is_main else (0 if part.body else len(text))
    found = [*includes_in(text, 0, front_end, prose=False), *part.reading.includes]
    position = start
    for include in sorted(set(found)):
        target = resolve(include, posixpath.dirname(project.main), name, project.files)
        if (
            target is None
            or include.start < position
            or include.end > end
            or target not in included
            or target == name
            or depth >= MAX_DEPTH
        ):
            continue
        yield text[position : include.start]
        yield from _flat(project, target, included, depth + 1)
        position = include.end
    yield text[position:end]
