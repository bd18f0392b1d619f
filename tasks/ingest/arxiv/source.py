"""A paper on arXiv as a source of a family: what is here of it, and how it is got."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from storage.records import Step
from storage.store import Store
from tasks.ingest.arxiv.ids import ArxivId, read_ids
from tasks.ingest.arxiv.papers import Shelf
from tasks.ingest.sources import Material, read_bytes


@dataclass(frozen=True)
class ArxivSource:
    """One paper of a file of identifiers."""

    name: str
    id: ArxivId
    shelf: Shelf

    def look(self, store: Store) -> Material | Step | None:
        """What was fetched of it; asks nobody."""
        return self._material(store, self.shelf.known(store, self.id))

    def read(self, store: Store, *, run_id: str | None = None, retry: Collection[str] = ()) -> Material | Step:
        """The paper, fetched where it is not here; or the step that says why it could not be."""
        found = self._material(store, self.shelf.fetch(store, self.id, run_id=run_id, retry=retry))
        if found is None:
            raise ValueError(f"{self.name}: a fetch gave neither a source nor a reason")
        return found

    def _material(self, store: Store, known: bytes | Step | None) -> Material | Step | None:
        if known is None or isinstance(known, Step):
            return known
        about = self.shelf.facts(store, self.id)
        material = read_bytes(known, self.name)
        return material if about is None else replace(material, title=about.title, facts={"arxiv": about.model_dump()})


def arxiv_sources(path: Path, url: str | None = None) -> list[ArxivSource]:
    """The papers that a file names, in its order.

    Args:
        path: one identifier a line, or a CSV with a column ``arxiv_id``.
        url: the host to ask; None for the variable's or arXiv's own.

    Raises:
        InputError: naming the row that is wrong.
    """
    ids = read_ids(path)
    shelf = Shelf(tuple(ids), url)
    return [ArxivSource(each.name, each, shelf) for each in ids]
