"""Which paper on arXiv a submission is: found by title and authors, believed when the texts are alike.

Here belongs the decision and what it is remembered by. Text similarity is rapidfuzz's ratio on normalised text, against
one version after the other, the newest first, until one is alike enough.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from storage.keys import content_hash, step_key
from storage.lazy import LazyModule
from storage.records import Record, Step
from storage.store import Store
from tasks.ingest.archive import sniff
from tasks.ingest.arxiv.atom import Metadata, read_feed
from tasks.ingest.arxiv.faults import NotFetched, NotThere
from tasks.ingest.arxiv.ids import ArxivId, parse_arxiv_id
from tasks.ingest.arxiv.line import Line, refuse_pages
from tasks.ingest.openreview.submissions import Submission
from tasks.latex.pdftext import pdf_text

if TYPE_CHECKING:
    from rapidfuzz import fuzz
else:
    fuzz = LazyModule("rapidfuzz.fuzz")

MATCH_VERSION: Final = 1
"""Raised by hand when another paper may be found for the same submission."""
ALIKE: Final = 0.8
TITLE_ALIKE: Final = 0.85
AUTHORS_ALIKE: Final = 0.5
CANDIDATES, VERSIONS = 3, 6
"""At most so many papers, and versions of each, are compared."""


class Match(Record):
    """The version that a submission was matched with."""

    arxiv_id: str
    similarity: float
    compared: str
    """``text`` of both PDFs, or ``abstract`` where the submission's PDF is not there."""
    title_similarity: float


def normalised(text: str) -> str:
    """Lower-case words with one blank between, hyphens at line ends mended, ligatures and accents folded."""
    mended = re.sub(r"(\w)[-\u00ad]\s*\n\s*(\w)", r"\1\2", text)
    folded = unicodedata.normalize("NFKD", mended).casefold()
    return " ".join(re.findall(r"\w+", "".join(c for c in folded if not unicodedata.combining(c))))


def alike(first: str, second: str) -> float:
    """Similarity of two texts, 0 to 1."""
    return fuzz.ratio(normalised(first), normalised(second)) / 100


def same_authors(first: tuple[str, ...] | list[str], second: tuple[str, ...] | list[str]) -> bool:
    """Whether the shorter list's family names are mostly in the longer; an unknown list fits every other."""
    names = [{normalised(name).rsplit(" ", 1)[-1] for name in given if normalised(name)} for given in (first, second)]
    fewer = min(map(len, names))
    return fewer == 0 or len(names[0] & names[1]) >= AUTHORS_ALIKE * fewer


@lru_cache(maxsize=256)
def _submitted(path: Path, size: int, changed_ns: int) -> str:  # noqa: ARG001 - both say whether it is the same file
    return pdf_text(path.read_bytes()).text


def submitted_text(submission: Submission, folder: Path) -> str | None:
    """The text of the submission's PDF; None where there is none."""
    path = folder / submission.pdf if submission.pdf else None
    if path is None or not path.is_file():
        return None
    found = path.stat()
    return _submitted(path, found.st_size, found.st_mtime_ns)


def match_key(submission: Submission, text: str | None) -> str:
    """The key of a submission's match: everything that was compared, no reviews."""
    return step_key(
        "openreview_match", MATCH_VERSION, title=submission.title, authors=list(submission.authors),
        abstract=submission.abstract, text=None if text is None else content_hash(text), given=submission.arxiv_id,
        alike=ALIKE,
    )


def known_match(store: Store, submission: Submission, folder: Path) -> Step | None:
    """The step that says what a submission was matched with, or why it was not; None: never tried."""
    steps = store.load(Step, [match_key(submission, submitted_text(submission, folder))])
    return steps[0] if steps else None


def match(store: Store, line: Line, submission: Submission, folder: Path, run_id: str | None = None) -> Step:
    """Find a submission on arXiv, or remember that it is not there.

    Args:
        store: where the step goes.
        line: to arXiv's host.
        submission: what is looked for.
        folder: where its PDF lies.
        run_id: enters the step.

    Returns:
        The step, appended: ``done`` with a ``Match``, ``excluded`` (``no_arxiv_match``), or ``failed``: tried again.
    """
    text = submitted_text(submission, folder)
    key = match_key(submission, text)
    told = {"key": key, "step": "openreview_match", "run_id": run_id}
    try:
        found, best = _search(line, submission, text)
    except NotFetched as fault:
        step = Step(outcome="failed", reason=fault.reason, detail=f"{submission.id}: {fault.detail}", **told)
    else:
        if found is not None:
            step = Step(outcome="done", output=found.model_dump(), **told)
        else:
            detail = f"{submission.id}: no paper on arXiv is like it (nearest: {best:.2f}, needed: {ALIKE})"
            step = Step(outcome="excluded", reason="no_arxiv_match", detail=detail, **told)
    store.append(step)
    return step


def _search(line: Line, submission: Submission, text: str | None) -> tuple[Match | None, float]:
    best = 0.0
    for candidate, title in _candidates(line, submission)[:CANDIDATES]:
        if text is None:
            similarity, version = alike(submission.abstract, candidate.abstract), candidate.id
            best = max(best, similarity)
            if similarity > ALIKE:
                return _match(version, similarity, "abstract", title), best
            continue
        for version in _versions(candidate):
            similarity = _against(line, version, text)
            best = max(best, similarity)
            if similarity > ALIKE:
                return _match(version, similarity, "text", title), best
    return None, best


def _match(version: ArxivId, similarity: float, compared: str, title: float) -> Match:
    return Match(
        arxiv_id=version.text, similarity=round(similarity, 4), compared=compared, title_similarity=round(title, 4)
    )


def _candidates(line: Line, submission: Submission) -> list[tuple[Metadata, float]]:
    """Papers with a like title and the same authors, the likest title first; the given one without question."""
    if submission.arxiv_id:
        wanted = parse_arxiv_id(submission.arxiv_id)
        data = line.get("/api/query", read_feed, id_list=wanted.text, max_results="1")
        return [(each, alike(submission.title, each.title)) for each in read_feed(data)]
    words = normalised(submission.title).split()[:20]
    query = " AND ".join(f"ti:{word}" for word in words if len(word) > 2) or f'ti:"{submission.title}"'
    data = line.get("/api/query", read_feed, search_query=query, max_results="10")
    found = [(each, alike(submission.title, each.title)) for each in read_feed(data)]
    fitting = [
        (each, title) for each, title in found
        if title >= TITLE_ALIKE and same_authors(submission.authors, each.authors)
    ]
    return sorted(fitting, key=lambda pair: -pair[1])


def _versions(candidate: Metadata) -> Iterator[ArxivId]:
    for number in range(candidate.version, max(candidate.version - VERSIONS, 0), -1):
        yield ArxivId(candidate.paper, number)


def _against(line: Line, version: ArxivId, text: str) -> float:
    """Likeness of a version's PDF; 0 for a version without one."""
    try:
        data = line.get(f"/pdf/{version.text}", refuse_pages)
    except NotThere:
        return 0.0
    return alike(text, pdf_text(data).text) if sniff(data) == "pdf" else 0.0
