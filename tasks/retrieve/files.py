"""Works from files: a local corpus that is searched, or the fixed pool of a domain.

JSON lines, JSON, CSV and Parquet are read; columns go by any of several names, so that the published layouts of
IdeaBench (``filtered_references.csv``: paperId, title, abstract, venue, year, externalIds), of OpenAlex and Crossref
exports, and lists of title and abstract alone are read as they are. Here belongs that reading.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import polars as pl

from storage.errors import InputError
from storage.ideas import Idea
from storage.keys import content_hash
from tasks.retrieve.cleaning import clean, doi_key
from tasks.retrieve.openalex import read_work
from tasks.retrieve.queries import ranking_text
from tasks.retrieve.ranking import Index
from tasks.retrieve.works import Answer, Found

VERSION: Final = 1
"""Raised by hand when other records come out of the same file."""
_NAMES: Final[dict[str, tuple[str, ...]]] = {
    "title": ("title", "display_name", "paper_title", "name"),
    "abstract": ("abstract", "summary", "paper_abstract", "description"),
    "year": ("year", "publication_year", "pub_year", "date", "published", "publication_date"),
    "doi": ("doi",),
    "authors": ("authors", "author"),
    "venue": ("venue", "source", "journal", "container-title"),
    "id": ("id", "paperid", "paper_id", "work_id", "arxiv_id"),
}
_LISTS: Final = ("papers", "works", "references", "data", "results", "items")


def read_works(path: Path | str, provider: str) -> list[Found]:
    """The works of a file, in its order.

    Args:
        path: ``.jsonl``, ``.ndjson``, ``.json``, ``.csv``, ``.tsv`` or ``.parquet``.
        provider: ``corpus`` or ``pool``.

    Raises:
        InputError: names the file and the row of what cannot be read.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: there is no such file with works")
    try:
        records = list(_records(path))
    except (UnicodeDecodeError, json.JSONDecodeError, pl.exceptions.PolarsError, OSError) as error:
        said = " ".join(str(error).split())
        raise InputError(f"{path}: cannot be read as {path.suffix or 'a file with works'}: {said}") from error
    works = []
    for row, record in enumerate(records, 1):
        found = _work(record, provider, row)
        if found is None:
            raise InputError(f"{path}: record {row}: has no title; give one of {', '.join(_NAMES['title'])}")
        works.append(found)
    if not works:
        raise InputError(f"{path}: holds no work")
    return works


def _records(path: Path) -> Iterator[Any]:
    kind = path.suffix.lower()
    if kind in (".jsonl", ".ndjson"):
        yield from (json.loads(line) for line in path.read_text("utf-8-sig").splitlines() if line.strip())
    elif kind == ".json":
        value = json.loads(path.read_text("utf-8-sig"))
        if isinstance(value, dict):
            value = next((value[name] for name in _LISTS if isinstance(value.get(name), list)), [value])
        yield from value
    elif kind == ".parquet":
        yield from pl.read_parquet(path).iter_rows(named=True)
    elif kind in (".csv", ".tsv"):
        frame = pl.read_csv(path, separator="\t" if kind == ".tsv" else ",", infer_schema=False, encoding="utf8")
        yield from frame.iter_rows(named=True)
    else:
        raise InputError(f"{path}: unknown kind of file {kind!r}; give .jsonl, .json, .csv, .tsv or .parquet")


def _literal(value: Any) -> Any:
    """A cell that holds a list or mapping as text, as data."""
    if not isinstance(value, str) or value[:1] not in "[{":
        return value
    for read in (json.loads, ast.literal_eval):
        try:
            return read(value)
        except (ValueError, SyntaxError):
            continue
    return value


def _authors(value: Any) -> tuple[str, ...]:
    value = _literal(value)
    if isinstance(value, str):
        return tuple(part.strip() for part in value.replace(" and ", ";").split(";") if part.strip())
    names = []
    for each in value if isinstance(value, list | tuple) else []:
        if isinstance(each, Mapping):
            names.append(str(each.get("name") or each.get("display_name")
                             or " ".join(str(each[part]) for part in ("given", "family") if each.get(part))))
        elif each:
            names.append(str(each))
    return tuple(name for name in names if name)


def _year(value: Any) -> int | None:
    text = str(value).strip()[:4] if value is not None and not isinstance(value, bool) else ""
    return int(text) if len(text) == 4 and text.isdigit() else None


def _work(record: Any, provider: str, row: int) -> Found | None:
    if not isinstance(record, Mapping):
        return None
    if "abstract_inverted_index" in record:
        exported = read_work(record, "", row)
        return exported and exported.model_copy(update={"provider": provider})
    lower = {str(name).lower(): value for name, value in record.items()}

    def given(name: str) -> Any:
        return next((lower[known] for known in _NAMES[name] if lower.get(known) not in (None, "")), None)

    outside = _literal(lower.get("externalids"))
    doi = given("doi") or (outside.get("DOI") if isinstance(outside, Mapping) else None)
    title = given("title")
    title = title[0] if isinstance(title, list) and title else title
    if not isinstance(title, str) or not clean(title):
        return None
    abstract = given("abstract")
    said = clean(abstract) if isinstance(abstract, str) else ""
    venue = given("venue")
    return Found(
        title=clean(title), abstract=said, year=_year(given("year")), authors=_authors(given("authors")),
        doi=doi_key(str(doi)) if doi else "", venue=clean(venue) if isinstance(venue, str) else "", provider=provider,
        provider_id=str(given("id") or f"{provider}-{row:05d}"), rank=row, flags=() if said else ("no_abstract",),
    )


@lru_cache(maxsize=16)
def _index(path: str, content: str, provider: str) -> Index:  # noqa: ARG001 - a changed file is another index
    return Index(read_works(path, provider))


class FileWorks:
    """A file of works as a provider."""

    def __init__(self, path: Path, provider: str) -> None:
        if not path.is_file():
            raise InputError(f"{path}: there is no such file with works")
        self.name = provider
        self._path = path
        self._content = content_hash(path.read_bytes())

    @property
    def identity(self) -> dict[str, str | int]:
        """The file's content: a changed file is another corpus."""
        return {"provider": self.name, "version": VERSION, "content": self._content}

    def for_idea(self, idea: Idea, wanted: int, order: str) -> Answer:
        """The works for an idea.

        Args:
            idea: as ingested.
            wanted: how many are enough to choose from.
            order: ``relevance``, or ``file`` for the file's own order.
        """
        index = _index(str(self._path), self._content, self.name)
        query = ranking_text(idea)
        if order == "file":
            chosen = index.works
        else:
            best = index.ranked(query)
            # Without a word in common with the idea a work is no literature for it.
            chosen = [each.found for each in best if each.score > 0]
        works = [found.model_copy(update={"query": query[:200], "rank": place})
                 for place, found in enumerate(chosen[:wanted], 1)]
        return Answer(works=tuple(works), count=len(chosen))
