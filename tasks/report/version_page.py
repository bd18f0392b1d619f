"""A page for each version: what changed by section, the checks, the fallbacks, pages and build time; and their index.

Records in, self-contained HTML out; the pages run no script. What a version is compared with is read by the flows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

from markupsafe import Markup

from storage.results import Exclusion
from tasks.report.changes import Run, changed_words
from tasks.report.environment import environment, stylesheet
from tasks.report.links import versions_link
from tasks.report.words import condition_title, plain

STYLES = ("tokens.css", "versions.css")


class Passage(NamedTuple):
    """One passage that changed."""

    kind: str
    runs: list[Run]
    note: str = ""
    """Why it kept its wording, where a rewrite of it was refused."""


class Part(NamedTuple):
    """A section: its changed passages, and how many were left as they were."""

    heading: str
    passages: list[Passage]
    unchanged: int


class Wording(NamedTuple):
    """A version as its page shows it."""

    family: str
    title: str
    condition: str
    producer: str
    facts: list[tuple[str, str]]
    """Name and value: words, pages, build time, checks."""
    parts: list[Part]

    @property
    def file(self) -> str:
        """The page's name: readable, and distinct whatever the names hold."""
        return page_file(self.family, self.condition, self.producer)

    @property
    def words(self) -> tuple[int, int]:
        """Words gone and words new, over all passages."""
        counts = [changed_words(passage.runs) for part in self.parts for passage in part.passages]
        return sum(gone for gone, _ in counts), sum(new for _, new in counts)


class Row(NamedTuple):
    """A line of the index."""

    condition: str
    producer: str
    file: str
    gone: int
    new: int


class Reason(NamedTuple):
    """Exclusions of one kind."""

    name: str
    entries: list[Exclusion]


def anchor(family: str) -> str:
    """The place of a family on the index."""
    return versions_link(family).partition("#")[2]


def version_page(wording: Wording) -> str:
    """The page of one version."""
    gone, new = wording.words
    return (
        environment()
        .get_template("version.html.j2")
        .render(wording=wording, gone=gone, new=new, style=Markup(stylesheet(STYLES)))  # noqa: S704 - our own file
    )


def versions_index(
    title: str, rows: dict[str, list[Row]], exclusions: Sequence[Exclusion], left_out: int
) -> str:
    """The page that leads to all others.

    Args:
        title: of the report.
        rows: family -> its versions.
        exclusions: what was excluded, in any order.
        left_out: versions that have no page because there would be too many.
    """
    by_reason: dict[str, list[Exclusion]] = {}
    for entry in exclusions:
        by_reason.setdefault(entry.reason, []).append(entry)
    reasons = [Reason(plain(name), each) for name, each in sorted(by_reason.items(), key=lambda pair: -len(pair[1]))]
    return (
        environment()
        .get_template("versions.html.j2")
        .render(
            title=title, rows=rows, anchors={family: anchor(family) for family in rows}, reasons=reasons,
            left_out=left_out, style=Markup(stylesheet(STYLES)),  # noqa: S704 - our own file
        )
    )


def page_file(family: str, condition: str, producer: str) -> str:
    """The name of a version's page; condition and producer as the page shows them (no producer is an empty text)."""
    place = (family, condition, producer)
    readable = "-".join(re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower() or "x" for name in place)[:120]
    return f"{readable}-{sha256(repr(place).encode()).hexdigest()[:8]}.html"


def named(condition: str, producer: str) -> tuple[str, str]:
    """Condition and producer as a reader sees them."""
    return condition_title(condition), producer or "–"
