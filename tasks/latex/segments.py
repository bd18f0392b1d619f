"""The prose of a project as segments, and a project with some of them in other words.

``segments`` and ``apply`` are each other's inverse: applying what is already there gives back every file byte for
byte, and this is checked for each segment when it is made. What a wording must satisfy is in ``guard.py``
(``problems``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise

from tasks.latex.graph import Part, macros_of, parts
from tasks.latex.guard import Problem, problems
from tasks.latex.masks import Segment, masked, unmask
from tasks.latex.project import Project
from tasks.latex.prose import CONTENT, LAYOUT, TEXT, Passage, Piece
from tasks.latex.source import unix_lines

__all__ = ["Problem", "Prose", "Segment", "apply", "problems", "read_prose", "segments", "unmask"]

MINIMUM_WORDS = {"title": 2, "heading": 1}
DEFAULT_MINIMUM_WORDS = 3


@dataclass
class Prose:
    """All prose of a project.

    Attributes:
        segments: in reading order.
        files: files of the document in reading order, those without prose included.
        sections: headings of the document, in order: (command, text).
        flags: file -> what was odd about it (``unclosed``, ``given_up``, ``catcodes``, ``round_trip``).
    """

    segments: list[Segment] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    sections: list[tuple[str, str]] = field(default_factory=list)
    flags: dict[str, list[str]] = field(default_factory=dict)


def read_prose(project: Project, *, captions: bool = True, footnotes: bool = True, headings: bool = False) -> Prose:
    """Find the prose of a project.

    Args:
        project: the LaTeX project.
        captions: whether captions are segments (else they are protected).
        footnotes: the same for footnotes.
        headings: the same for section headings.
    """
    left_out = {
        kind for kind, wanted in (("caption", captions), ("footnote", footnotes), ("heading", headings)) if not wanted
    }
    prose = Prose()
    placed: list[tuple[tuple[int, ...], Segment]] = []
    headed: list[tuple[tuple[int, ...], tuple[str, str]]] = []
    for part in parts(project, macros_of(project)):
        prose.files.append(part.file)
        headed += [((*part.place, at), (command, text)) for at, command, text in part.reading.headings]
        made, flags = _of_part(part, left_out)
        placed += [((*part.place, segment.start), segment) for segment in made]
        if flags:
            prose.flags[part.file] = sorted(flags)
    prose.segments = [segment for _, segment in sorted(placed, key=lambda pair: pair[0])]
    prose.sections = [heading for _, heading in sorted(headed, key=lambda pair: pair[0])]
    return prose


def _of_part(part: Part, left_out: Collection[str]) -> tuple[list[Segment], set[str]]:
    """The segments of one file and its flags; none where one of them would not give back its source."""
    flags = set(part.reading.flags)
    alphabet = frozenset(mark for mark in set(part.source.text) if not mark.isascii())
    found: list[Segment] = []
    for number, passage in enumerate(part.reading.passages, 1):
        made = None if passage.kind in left_out else _segment(part, passage, number, alphabet)
        if made is None:
            continue
        if unmask(made, made.text) != _as_written(part, made):
            return [], flags | {"round_trip"}
        found.append(made)
    return found, flags


def segments(
    project: Project, *, captions: bool = True, footnotes: bool = True, headings: bool = False
) -> list[Segment]:
    """The segments of a project in reading order; see ``read_prose`` for the options."""
    return read_prose(project, captions=captions, footnotes=footnotes, headings=headings).segments


def _as_written(part: Part, segment: Segment) -> str:
    """The segment's source with the file's prevailing line end, outside of masks, as ``unmask`` makes it."""
    text, newline, position, written = part.source.text, segment.newline, segment.start, []
    for start, end in (*segment.mask_ranges, (segment.end, segment.end)):
        written += [unix_lines(text[position:start]).replace("\n", newline), text[start:end]]
        position = end
    return "".join(written)


def _segment(part: Part, passage: Passage, number: int, alphabet: frozenset[str]) -> Segment | None:
    text = part.source.text
    pieces = _trimmed(text, passage.pieces)
    if not pieces or any(before.end != after.start for before, after in pairwise(pieces)):
        return None
    body, ranges = masked(text, _merged(text, pieces))
    segment = Segment(
        f"{part.file}#{number}",
        part.file,
        pieces[0].start,
        pieces[-1].end,
        body,
        tuple(text[start:end] for start, end in ranges),
        passage.section,
        passage.kind,
        ranges,
        part.source.encoding,
        part.source.newline,
        alphabet,
    )
    return segment if segment.words >= MINIMUM_WORDS.get(passage.kind, DEFAULT_MINIMUM_WORDS) else None


def _trimmed(text: str, pieces: Sequence[Piece]) -> list[Piece]:
    """Pieces without layout and white space at both edges."""

    def is_edge(piece: Piece) -> bool:
        return piece.kind == LAYOUT or (piece.kind == TEXT and not text[piece.start : piece.end].strip())

    first = next((place for place, piece in enumerate(pieces) if not is_edge(piece)), len(pieces))
    last = next((place for place in range(len(pieces), first, -1) if not is_edge(pieces[place - 1])), first)
    kept = list(pieces[first:last])
    if kept and kept[0].kind == TEXT:
        kept[0] = kept[0]._replace(start=kept[0].end - len(text[kept[0].start : kept[0].end].lstrip()))
    if kept and kept[-1].kind == TEXT:
        kept[-1] = kept[-1]._replace(end=kept[-1].start + len(text[kept[-1].start : kept[-1].end].rstrip()))
    return kept


def _merged(text: str, pieces: Sequence[Piece]) -> list[tuple[int, int, bool]]:
    """Neighbouring masks, and masks with only white space between them, as one."""
    flat = list(pieces)
    for place in range(1, len(flat) - 1):
        piece = flat[place]
        if (
            piece.kind == TEXT
            and flat[place - 1].kind != TEXT
            and flat[place + 1].kind != TEXT
            and (not text[piece.start : piece.end].strip())
        ):
            flat[place] = piece._replace(kind=CONTENT)
    merged: list[tuple[int, int, bool]] = []
    for is_prose, group in groupby(flat, key=lambda piece: piece.kind == TEXT):
        run = list(group)
        merged.append((run[0].start, run[-1].end, is_prose))
    return merged


def apply(project: Project, replacements: Mapping[str, str], *, of: Iterable[Segment] | None = None) -> Project:
    """The project with segments in other words; all else is byte for byte as it was.

    Args:
        project: the project that the segments are of.
        replacements: segment id -> new text with masks, checked by ``problems``.
        of: the project's segments where the caller has them already (with every kind that is replaced).

    Raises:
        KeyError: for an id that the project does not have, or a mask that its segment does not have.
        UnicodeEncodeError: for a character that the file's encoding cannot write.
    """
    known = {segment.id: segment for segment in (read_prose(project, headings=True).segments if of is None else of)}
    changed = [known[name] for name, text in replacements.items() if text.strip() != known[name].text]
    edited: dict[str, bytes] = {}
    for file in sorted({segment.file for segment in changed}):
        source = project.source(file)
        inside = sorted(
            (segment for segment in changed if segment.file == file), key=lambda segment: (segment.start, -segment.end)
        )
        edited[file] = source.encode(_render(source.text, 0, len(source.text), inside, replacements))
    return project.with_files(edited)


def _render(text: str, start: int, end: int, inside: Sequence[Segment], replacements: Mapping[str, str]) -> str:
    """``text[start:end]`` with the segments that lie in it replaced; a segment may lie in a mask of another."""
    made: list[str] = []
    position = start
    for segment in inside:
        if segment.start < position or segment.end > end:
            continue
        within = [
            other
            for other in inside
            if other is not segment and segment.start <= other.start and other.end <= segment.end
        ]
        masks = [_render(text, *span, within, replacements) for span in segment.mask_ranges]
        made += [text[position : segment.start], unmask(segment, replacements[segment.id].strip(), masks)]
        position = segment.end
    made.append(text[position:end])
    return "".join(made)
