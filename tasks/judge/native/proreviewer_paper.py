"""The paper as ProReviewer sees it: sections that can be read one by one, and searched.

Here belongs cutting a Markdown or LaTeX text into sections: title, abstract, headings of the second and third level.
Deeper levels stay inside their parents, the references are left out.
"""

from __future__ import annotations

import re

from rapidfuzz import fuzz, process

from tasks.judge.renderings import sections

SNIPPETS = 3
AROUND = 200
_CLOSE_ENOUGH = 70.0
_LATEX_HEADING = re.compile(r"\\(section|subsection|subsubsection|title)\*?\{((?:[^{}]|\{[^{}]*\})*)\}")
_LATEX_ABSTRACT = re.compile(r"\\begin\{abstract\}(.*?)\\end\{abstract\}", re.S)
_LEVEL = {"section": "##", "subsection": "###", "subsubsection": "####", "title": "#"}
_STATED_TITLE = re.compile(r"(?im)^title:[ \t]*(\S.*)$")


class Paper:
    """A title and named sections."""

    def __init__(self, title: str, parts: dict[str, str]) -> None:
        self.title = title
        self.parts = parts

    def find(self, name: str) -> str | None:
        """The name of the section that is meant; None when none is close."""
        if name in self.parts:
            return name
        found = process.extractOne(name, list(self.parts), scorer=fuzz.WRatio, score_cutoff=_CLOSE_ENOUGH,
                                   processor=str.casefold)
        return None if found is None else str(found[0])

    def search(self, query: str) -> dict[str, list[str]]:
        """Where the words stand: by section at most three snippets, each with what stands around it."""
        wanted = query.casefold().strip()
        hits: dict[str, list[str]] = {}
        for name, text in self.parts.items():
            folded = text.casefold()
            place = folded.find(wanted) if wanted else -1
            while place >= 0 and len(hits.get(name, [])) < SNIPPETS:
                start, end = max(place - AROUND, 0), place + len(wanted) + AROUND
                hits.setdefault(name, []).append(text[start:end].strip())
                place = folded.find(wanted, place + len(wanted))
        return hits


def _as_markdown(text: str) -> str:
    """LaTeX with its headings as Markdown ones; Markdown as it is."""
    if not re.search(r"\\section\*?\{|\\begin\{document\}", text):
        return text
    body = _LATEX_ABSTRACT.sub(lambda found: f"\n## Abstract\n{found[1]}\n", text)
    return _LATEX_HEADING.sub(lambda found: f"\n{_LEVEL[found[1]]} {' '.join(found[2].split())}\n", body)


def read_paper(text: str) -> Paper | None:
    """A paper from its Markdown or LaTeX; None when it has no title, which is needed."""
    markdown = _as_markdown(text)
    stated = _STATED_TITLE.search(markdown)
    title = stated[1].strip() if stated else None
    parts: dict[str, str] = {}
    current: str | None = None
    for section in sections(markdown):
        body = section.text.partition("\n")[2].strip() if section.level else section.text.strip()
        if section.level == 1 and title is None:
            title = section.title
        if section.level in (2, 3):
            current = None if re.match(r"(?:\d+\s*)?references\b", section.title, re.I) else section.title
            if current is not None:
                parts[current] = f"{parts[current]}\n\n{body}" if current in parts else body
        elif section.level > 3 and current is not None:
            parts[current] += f"\n\n{section.title}\n{body}"
    return None if title is None or not parts else Paper(title, parts)
