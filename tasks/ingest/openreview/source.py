"""A submission as a source of a family: its LaTeX on arXiv, its reviews as facts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from storage.records import Step
from storage.store import Store
from tasks.ingest.arxiv.ids import parse_arxiv_id
from tasks.ingest.arxiv.line import Line, base_url
from tasks.ingest.arxiv.papers import Shelf
from tasks.ingest.arxiv.source import ArxivSource
from tasks.ingest.openreview.match import Match, known_match, match
from tasks.ingest.openreview.submissions import Submission, read_submissions
from tasks.ingest.sources import Material


@dataclass(frozen=True)
class OpenReviewSource:
    """One submission of an export."""

    submission: Submission
    folder: Path
    """Where the export lies."""
    url: str | None = None
    """arXiv's host."""

    @property
    def name(self) -> str:
        """The submission's id."""
        return self.submission.id

    def look(self, store: Store) -> Material | Step | None:
        """What was matched and fetched of it; asks nobody."""
        step = known_match(store, self.submission, self.folder)
        if step is None or step.outcome != "done":
            return step
        return self._with_reviews(step, self._paper(step).look(store))

    def read(self, store: Store, *, run_id: str | None = None, retry: Collection[str] = ()) -> Material | Step:
        """The paper, matched and fetched where that was not done; or the step that says why it could not be."""
        step = known_match(store, self.submission, self.folder)
        if step is None or step.outcome == "failed" or (step.outcome == "excluded" and step.reason in retry):
            step = match(store, Line(base_url(self.url)), self.submission, self.folder, run_id)
        if step.outcome != "done":
            return step
        found = self._with_reviews(step, self._paper(step).read(store, run_id=run_id, retry=retry))
        if found is None:
            raise ValueError(f"{self.name}: a fetch gave neither a source nor a reason")
        return found

    def _paper(self, step: Step) -> ArxivSource:
        version = parse_arxiv_id(Match.model_validate(step.output).arxiv_id)
        return ArxivSource(self.name, version, Shelf((version,), self.url))

    def _with_reviews(self, step: Step, found: Material | Step | None) -> Material | Step | None:
        if not isinstance(found, Material):
            return found
        matched = Match.model_validate(step.output)
        about = {
            "openreview_id": self.submission.id, "arxiv_id": matched.arxiv_id,
            "reviews": [dict(review) for review in self.submission.reviews], "match": matched.model_dump(),
        }
        return replace(found, facts={**found.facts, "openreview": about})


def openreview_sources(path: Path, url: str | None = None) -> list[OpenReviewSource]:
    """The submissions of an export, in its order; those without any overall score are left out.

    Raises:
        InputError: naming the entry that is wrong.
    """
    return sources_for(read_submissions(path), path.parent, url)


def sources_for(submissions: Sequence[Submission], folder: Path, url: str | None = None) -> list[OpenReviewSource]:
    """The same for submissions that were read already."""
    return [OpenReviewSource(one, folder, url) for one in submissions if "overall_assessment" in one.means]
