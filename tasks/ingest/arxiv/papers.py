"""What arXiv has of a list of papers, fetched once: their metadata in batches, each source as a blob.

Here belongs resuming. An archive that is in the store is never fetched again; a web page or a broken answer never
becomes one. Steps: ``arxiv_paper`` (metadata and, where none was asked for, the version) and ``arxiv_source``.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from dataclasses import dataclass

from storage.errors import InputError
from storage.keys import step_key
from storage.records import Step
from storage.store import Store
from tasks.ingest.archive import ArchiveRefused, sniff, unpack
from tasks.ingest.arxiv.atom import Metadata, read_feed
from tasks.ingest.arxiv.faults import NotFetched, NotThere
from tasks.ingest.arxiv.ids import ArxivId, parse_arxiv_id
from tasks.ingest.arxiv.line import Line, base_url, refuse_pages
from tasks.latex.baseline import MEDIA_TYPE
from tasks.latex.pdftext import is_pdf

FETCH_VERSION = 1
BATCH = 50
"""Papers in one query."""
_BROKEN = frozenset({"damaged", "empty", "html_page"})


def paper_key(wanted: ArxivId) -> str:
    """The key of a paper's metadata."""
    return step_key("arxiv_paper", FETCH_VERSION, id=wanted.text)


def source_key(version: ArxivId) -> str:
    """The key of the source of one version."""
    return step_key("arxiv_source", FETCH_VERSION, id=version.text)


_fetching = threading.Lock()
"""One paper is fetched at a time in this process; ``pace.py`` sees to the others."""


@dataclass(frozen=True)
class Shelf:
    """The papers that a suite wants from one host."""

    ids: tuple[ArxivId, ...]
    url: str | None = None

    @property
    def line(self) -> Line:
        """The line to the host."""
        return Line(base_url(self.url))

    def known(self, store: Store, wanted: ArxivId) -> bytes | Step | None:
        """The source of a paper that is in the store, or the step that says why it is not; None: never asked for."""
        step = _last(store, paper_key(wanted))
        if step is not None and step.outcome == "done":
            step = _last(store, source_key(_version(step)))
        if step is None or step.outcome != "done":
            return step
        blob = str(step.output["blob"])
        return store.blobs.get(blob) if store.blobs.has(blob) else None

    def facts(self, store: Store, wanted: ArxivId) -> Metadata | None:
        """What arXiv says of a paper, as far as it was fetched."""
        about = _last(store, paper_key(wanted))
        return Metadata.model_validate(about.output) if about is not None and about.outcome == "done" else None

    def fetch(
        self, store: Store, wanted: ArxivId, *, run_id: str | None = None, retry: Collection[str] = ()
    ) -> bytes | Step:
        """The source of a paper, out of the store or from the host; or the step, appended, that says why not.

        Args:
            store: where everything is remembered.
            wanted: the paper.
            run_id: enters the steps.
            retry: reasons of final refusals to try again.
        """
        with _fetching:
            step, key = "arxiv_paper", paper_key(wanted)
            try:
                about = _last(store, key)
                if about is None or (about.outcome != "done" and not _is_final(about, retry)):
                    about = self._ask_about(store, wanted, run_id)
                known = self.known(store, wanted)
                if isinstance(known, bytes) or (known is not None and _is_final(known, retry)):
                    return known
                step, key = "arxiv_source", source_key(_version(about))
                return self._download(store, _version(about), run_id)
            except (NotThere, NotFetched) as fault:
                made = Step(
                    key=key, step=step, outcome="excluded" if isinstance(fault, NotThere) else "failed",
                    reason=fault.reason, detail=f"{wanted.text}: {fault.detail}", run_id=run_id,
                )
                store.append(made)
                return made

    def _ask_about(self, store: Store, wanted: ArxivId, run_id: str | None) -> Step:
        """Metadata of this paper, and in the same query of others that lack theirs."""
        keys = {paper_key(each): each for each in [wanted, *self.ids]}
        lacking = [keys[key] for key in store.missing("steps", list(keys)) if keys[key] != wanted]
        asked = [wanted, *lacking[: BATCH - 1]]
        data = self.line.get(
            "/api/query", read_feed, id_list=",".join(each.text for each in asked), max_results=str(len(asked))
        )
        exact = {each.id: each for each in read_feed(data)}
        # Where a paper was asked for both without and with a version, the newest one answers the first.
        found = {each.paper: each for each in sorted(exact.values(), key=lambda each: each.version)}
        steps: dict[ArxivId, Step] = {}
        for each in asked:
            about = found.get(each.paper) if each.version is None else exact.get(each)
            steps[each] = Step(
                key=paper_key(each), step="arxiv_paper", run_id=run_id, outcome="done" if about else "excluded",
                reason=None if about else "not_found",
                detail=None if about else f"{each.text}: arXiv knows no such paper",
                output=about.model_dump() if about else {},
            )
        store.append(*steps.values())
        if steps[wanted].outcome != "done":
            raise NotThere("not_found", "arXiv knows no such paper")
        return steps[wanted]

    def _download(self, store: Store, version: ArxivId, run_id: str | None) -> bytes:
        data = self.line.get(f"/e-print/{version.text}", check_source)
        blob = store.blobs.put(data, "application/pdf" if is_pdf(data) else MEDIA_TYPE)
        output = {"blob": blob, "id": version.text, "kind": sniff(data), "bytes": len(data)}
        store.append(
            Step(key=source_key(version), step="arxiv_source", outcome="done", output=output, run_id=run_id)
        )
        return data


def check_source(data: bytes) -> None:
    """Looks whether bytes are a whole source; one that is hostile or no paper is whole, and is refused later.

    Raises:
        NotFetched: they are a web page, nothing, or broken off.
    """
    refuse_pages(data)
    try:
        unpack(data)
    except ArchiveRefused as refused:
        if refused.reason in _BROKEN:
            raise NotFetched("broken_answer", f"what came cannot be unpacked: {refused.detail}") from refused


def _last(store: Store, key: str) -> Step | None:
    steps = store.load(Step, [key])
    return steps[0] if steps else None


def _is_final(step: Step, retry: Collection[str]) -> bool:
    return step.outcome == "excluded" and step.reason not in retry


def _version(about: Step) -> ArxivId:
    try:
        return parse_arxiv_id(str(about.output["paper"])).at(int(about.output["version"]))
    except (KeyError, InputError) as error:
        raise ValueError(f"the step {about.key} holds no version of a paper") from error
