"""New wordings put into the paper so that it still builds like its original: check, and repair by taking wordings back.

Here belongs the search for the wordings that break a build. How a build is made and compared is the latex workshop's
matter, what becomes of the result is ``variants.py``'s.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tasks.latex.compile import Build, Limits, build, differences
from tasks.latex.masks import Segment
from tasks.latex.project import Project
from tasks.latex.segments import apply, segments

MAX_BUILDS: Final = 24
"""Builds that one repair may take: three culprits among some hundred wordings."""
MAX_CULPRITS: Final = 3
_AT_LINE: Final = re.compile(r"(?:\./)?([^\s:()\[\]]+\.\w+):(\d+):")


@dataclass(frozen=True)
class Paper:
    """A paper that is being rewritten: what it is made from, and how its original builds."""

    project: Project
    baseline: Build
    limits: Limits | None = None


@dataclass
class Fit:
    """The state of one fitting.

    Attributes:
        texts: the wordings that are in place.
        project: the project with them.
        build: its build.
        faults: why it does not match the original; empty when it does.
        reverted: segments that were given back their wording, in the order they were found.
        builds: how many builds it took.
        seconds: what they took.
    """

    texts: dict[str, str]
    project: Project
    build: Build
    faults: list[str]
    reverted: list[str] = field(default_factory=list)
    builds: int = 1
    seconds: float = 0.0


def fit(paper: Paper, parts: Sequence[Segment], texts: Mapping[str, str]) -> Fit:
    """Put wordings in place; where the paper then differs from its original, take back the ones that are at fault.

    Args:
        paper: the project that the segments are of, and the original's build.
        parts: the project's segments.
        texts: segment id -> wording.

    Returns:
        The fit; its ``faults`` are not empty when the repair did not succeed.
    """
    order = [part.id for part in parts if part.id in texts]
    found = _try(paper, parts, {name: texts[name] for name in order})
    while found.faults and found.texts and len(found.reverted) < MAX_CULPRITS and found.builds < MAX_BUILDS:
        named = _named_by_log(found)
        tried = _without(paper, parts, found, named) if named else None
        if tried is None or (tried.faults and tried.faults == found.faults):
            culprit = _bisected(paper, parts, tried or found)
            tried = _without(paper, parts, found, culprit, builds=(tried or found).builds) if culprit else None
        if tried is None:
            break
        found = tried
    return found


def _try(paper: Paper, parts: Sequence[Segment], texts: dict[str, str]) -> Fit:
    project = apply(paper.project, texts, of=parts)
    made = build(project, baseline=paper.baseline, limits=paper.limits)
    return Fit(texts, project, made, differences(paper.baseline, made), seconds=made.seconds)


def _without(paper: Paper, parts: Sequence[Segment], found: Fit, culprit: str, *, builds: int = 0) -> Fit:
    tried = _try(paper, parts, {name: text for name, text in found.texts.items() if name != culprit})
    tried.reverted = [*found.reverted, culprit]
    tried.builds = max(found.builds, builds) + 1
    tried.seconds += found.seconds
    return tried


def suspects(found: Fit, parts: Sequence[Segment], limit: int) -> list[Segment]:
    """Segments whose wordings may be at fault when taking back did not help: the one the log names first."""
    named = _named_by_log(found)
    changed = [part for part in parts if part.id in found.texts]
    return sorted(changed, key=lambda part: part.id != named)[:limit]


def _named_by_log(found: Fit) -> str | None:
    """The changed segment at or just before the line where TeX stopped."""
    said = f"{found.build.detail or ''}\n{found.build.log_tail}"
    places = [(file, int(line)) for file, line in _AT_LINE.findall(said)]
    if found.build.ok or not places:
        return None
    file, line = places[0]
    best: str | None = None
    for part in segments(found.project):
        if part.file != file or part.id not in found.texts:
            continue
        text = found.project.source(file).text
        first = text.count(part.newline, 0, part.start) + 1
        if first > line:
            break
        best = part.id
    return best


def _bisected(paper: Paper, parts: Sequence[Segment], found: Fit) -> str | None:
    """The wording with which the first wordings, in reading order, begin to fail; None where builds run out."""
    order = list(found.texts)
    passes, fails = 0, len(order)
    while fails - passes > 1:
        if found.builds >= MAX_BUILDS:
            return None
        middle = (passes + fails) // 2
        tried = _try(paper, parts, {name: found.texts[name] for name in order[:middle]})
        found.builds += 1
        found.seconds += tried.seconds
        if tried.faults:
            fails = middle
        else:
            passes = middle
    return order[fails - 1] if order else None
