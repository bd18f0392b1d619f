"""The answer of arXiv's query API: an Atom feed, read into one record a paper.

Here belongs reading. The feed is a stranger's XML: one that declares a document type or entities is refused.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

from pydantic import Field

from storage.errors import InputError
from storage.records import Record
from tasks.ingest.arxiv.faults import NotFetched
from tasks.ingest.arxiv.ids import ArxivId, parse_arxiv_id

_ATOM = "{http://www.w3.org/2005/Atom}"
_ARXIV = "{http://arxiv.org/schemas/atom}"


class Metadata(Record):
    """What arXiv says of one version of a paper."""

    paper: str
    version: int
    """The newest one where no version was asked for."""
    title: str
    authors: list[str] = Field(default_factory=list)
    abstract: str = ""
    published: str = ""
    updated: str = ""
    categories: list[str] = Field(default_factory=list)
    doi: str = ""
    comment: str = ""

    @property
    def id(self) -> ArxivId:
        """The version's identifier."""
        return ArxivId(self.paper, self.version)


def read_feed(data: bytes) -> list[Metadata]:
    """The papers of a feed; entries that are errors, or hold no paper, are left out.

    Raises:
        NotFetched: it is no feed that may be read.
    """
    if re.search(rb"<!(?:DOCTYPE|ENTITY)", data, re.I):
        raise NotFetched("html_page_instead", "the query's answer declares a document type; a feed has none")
    try:
        feed = ElementTree.fromstring(data)  # noqa: S314 - without a document type there are no entities to expand
    except ElementTree.ParseError as error:
        raise NotFetched("broken_answer", f"the query's answer is no XML: {error}") from error
    if feed.tag != f"{_ATOM}feed":
        raise NotFetched("html_page_instead", f"the query's answer is no Atom feed but <{feed.tag[:60]}>")
    found = (_entry(entry) for entry in feed.iter(f"{_ATOM}entry"))
    return [each for each in found if each is not None]


def _entry(entry: ElementTree.Element) -> Metadata | None:
    try:
        which = parse_arxiv_id(_said(entry, f"{_ATOM}id"))
    except InputError:
        return None
    title = _said(entry, f"{_ATOM}title")
    if which.version is None or not title:
        return None
    return Metadata(
        paper=which.paper,
        version=which.version,
        title=title,
        authors=[_said(author, f"{_ATOM}name") for author in entry.iter(f"{_ATOM}author")],
        abstract=_said(entry, f"{_ATOM}summary"),
        published=_said(entry, f"{_ATOM}published"),
        updated=_said(entry, f"{_ATOM}updated"),
        categories=[each.get("term", "") for each in entry.iter(f"{_ATOM}category")],
        doi=_said(entry, f"{_ARXIV}doi"),
        comment=_said(entry, f"{_ARXIV}comment"),
    )


def _said(entry: ElementTree.Element, tag: str) -> str:
    return " ".join((entry.findtext(tag) or "").split())
