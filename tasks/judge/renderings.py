"""A paper in the forms that reviewers read: its LaTeX as one text, or its extracted text with Markdown headings.

Here belongs the deriving, as pure functions of stored content. Markdown is made from the text layer by the numbering of
headings: 1, 2, 2.1 ... in their order, so that no table row or page number becomes one.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from storage.store import Store
from tasks.latex.graph import flatten
from tasks.latex.project import load_project

_NUMBERED = re.compile(
    r"(?m)^(?P<number>[A-Z]|\d{1,2})(?P<minor>\.\d{1,2})?\.?(?:[ \t]+|[ \t]*\n)(?P<title>[A-Z][^\n]{1,90})$"
)
_PLAIN = re.compile(
    r"(?im)^[ \t]*(?P<title>abstract|references|bibliography|acknowledge?ments?|appendix|appendices|"
    r"supplementary material|reproducibility statement|ethics statement)[ \t]*[.:]?[ \t]*$"
)
_REFERENCES = re.compile(r"r\s?e\s?f\s?e\s?r\s?e\s?n\s?c\s?e\s?s\b", re.I)
_HEADING = re.compile(r"(?m)^(#{1,6})[ \t]+(\S.*?)[ \t]*$")


class Section(NamedTuple):
    """A piece of a Markdown text: from its heading to the next one of any level."""

    level: int
    """0 for what stands before the first heading."""
    title: str
    text: str
    """With the heading's line."""


def latex_of(store: Store, source_hash: str) -> str:
    """The LaTeX of an archived project as one text, inputs in their places.

    Raises:
        StoreDamaged: when the archive is not in the store.
    """
    return flatten(load_project(store.blobs.get(source_hash)))


class _Numbering:
    """Which heading number may come next."""

    def __init__(self) -> None:
        self.major = "0"
        self.minor = 0

    def takes(self, number: str, minor: str | None) -> bool:
        """Whether a heading may carry this number here; then it is the current one."""
        if minor is not None:
            if number != self.major or int(minor[1:]) != self.minor + 1:
                return False
            self.minor += 1
            return True
        if number.isdigit():
            follows = self.major.isdigit() and int(number) == int(self.major) + 1
        else:
            follows = number == "A" if self.major.isdigit() else ord(number) == ord(self.major) + 1
        if follows:
            self.major, self.minor = number, 0
        return follows


def markdown_of(text: str) -> str:
    """Extracted text with its headings marked: title ``#``, sections ``##``, subsections ``###``."""
    numbering = _Numbering()
    marks: list[tuple[int, int, str]] = []
    for found in _NUMBERED.finditer(text):
        title = found["title"].strip()
        if title.endswith((".", ",", ";", ":", "?", "!")) and not title.endswith("etc."):
            continue
        # A letter numbers a section only behind the references.
        if found["number"].isalpha() and not _REFERENCES.search(text, 0, found.start()):
            continue
        if numbering.takes(found["number"], found["minor"]):
            level = "###" if found["minor"] else "##"
            marks.append((found.start(), found.end(), f"{level} {found['number']}{found['minor'] or ''} {title}"))
    marks += [(found.start(), found.end(), f"## {found['title'].strip().title()}") for found in _PLAIN.finditer(text)]
    pieces: list[str] = []
    place = 0
    for start, end, heading in sorted(marks):
        if start < place:
            continue
        pieces += [text[place:start], f"\n{heading}\n"]
        place = end
    made = "".join([*pieces, text[place:]]).lstrip()
    title, _, rest = made.partition("\n\n")
    if title.startswith("#") or len(title) > 300:
        return made
    return f"# {' '.join(title.split())}\n\n{rest.lstrip()}"


def sections(markdown: str) -> list[Section]:
    """A Markdown text cut at its headings; joined they are the text."""
    marks = list(_HEADING.finditer(markdown))
    first = marks[0].start() if marks else len(markdown)
    made = [Section(0, "", markdown[:first])] if markdown[:first].strip() else []
    for place, mark in enumerate(marks):
        end = marks[place + 1].start() if place + 1 < len(marks) else len(markdown)
        made.append(Section(len(mark[1]), mark[2], markdown[mark.start() : end]))
    return made


def main_text(markdown: str) -> str:
    """Everything up to and with the first section whose heading says References; the whole text without one."""
    kept: list[str] = []
    for section in sections(markdown):
        kept.append(section.text)
        if section.level and _REFERENCES.search(section.title):
            return "".join(kept)
    return markdown
