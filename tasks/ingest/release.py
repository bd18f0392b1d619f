"""A RobustReview release, read: papers as PDFs with their rewrites, human reviews, and the judgements of others.

Here belongs the layout (``data/meta.json``, ``papers/ID/original.pdf``, ``papers/ID/rewrites/condition_NN.pdf``,
reviews as JSON lines). Writing one is the report stage's matter.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from storage.errors import InputError
from storage.keys import canonical_json, content_hash
from storage.records import HumanScore
from storage.store import Store
from storage.vocabulary import CONDITIONS, ORIGINAL
from tasks.ingest.sources import ImportedVersion, Material

_OUR_NAMES = {condition.release_name: condition.name for condition in CONDITIONS}
_FOLDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_DIMENSIONS = {
    "overall_assessment": "overall", "soundness": "soundness", "presentation": "presentation",
    "contribution": "contribution", "confidence": "confidence",
}


class _Loose(BaseModel):
    """A part of a stranger's file: what we know is checked, what we do not know is left alone."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class ReleaseCondition(_Loose):
    """One of the columns of rewrites."""

    condition_id: str = Field(pattern=f"^{_FOLDER.pattern}$")
    rewrite_condition: str = Field(min_length=1)
    producer: str = Field(min_length=1)

    @property
    def condition(self) -> str:
        """Our name of the condition; one that we do not know keeps its own."""
        return _OUR_NAMES.get(self.rewrite_condition, self.rewrite_condition)


class ReleasedPaper(_Loose):
    """One paper of a release."""

    paper_id: str
    arxiv_id: str | None = None
    arxiv_source_url: str | None = None
    openreview_id: str | None = None
    score_stratum: Any = None
    reviews: list[dict[str, Any]] = Field(default_factory=list)
    average_overall_assessment: float | None = None


class _Meta(_Loose):
    schema_version: int | str | None = None
    rewrite_conditions: list[ReleaseCondition] = Field(default_factory=list)
    papers: list[ReleasedPaper] = Field(min_length=1)


@dataclass(frozen=True)
class Release:
    """A release's folder and what its ``meta.json`` says."""

    folder: Path
    conditions: tuple[ReleaseCondition, ...]
    papers: tuple[ReleasedPaper, ...]


@dataclass(frozen=True)
class ReleaseSource:
    """One paper of a release."""

    release: Release
    paper: ReleasedPaper

    @property
    def name(self) -> str:
        """The paper's id."""
        return self.paper.paper_id

    def look(self, store: Store) -> Material:  # noqa: ARG002 - a file needs no store
        """The paper and its rewrites."""
        return self._material()

    def read(
        self, store: Store, *, run_id: str | None = None, retry: Collection[str] = ()  # noqa: ARG002
    ) -> Material:
        """The paper and its rewrites."""
        return self._material()

    def _material(self) -> Material:
        folder = self.release.folder / "papers" / self.name
        original = folder / "original.pdf"
        if not original.is_file():
            return Material(
                "unusable", content_hash(f"missing {self.name}"), reason="missing_file",
                detail=f"{self.name}: the release has no papers/{self.name}/original.pdf",
            )
        versions = tuple(
            ImportedVersion(each.condition, each.producer, path, _hash_of(path) if path.is_file() else "")
            for each in self.release.conditions
            for path in (folder / "rewrites" / f"{each.condition_id}.pdf",)
        )
        parts = [_hash_of(original), *([each.condition, each.producer, each.content] for each in versions)]
        about = self.paper.model_dump(mode="json")
        content = content_hash(canonical_json(parts)) if versions else parts[0]
        return Material("pdf", str(content), pdf=original.read_bytes(), facts={"release": about}, versions=versions)


def _hash_of(path: Path) -> str:
    found = path.stat()
    return _hash_of_state(path, found.st_size, found.st_mtime_ns)


@lru_cache(maxsize=1 << 14)
def _hash_of_state(path: Path, size: int, changed_ns: int) -> str:  # noqa: ARG001 - both say whether it is the same
    return content_hash(path.read_bytes())


def read_release(folder: Path) -> Release:
    """A release's ``data/meta.json``, checked.

    Raises:
        InputError: it is missing or unreadable, names the field that is wrong, or a paper or condition comes twice.
    """
    meta = folder / "data" / "meta.json"
    try:
        read = _Meta.model_validate(json.loads(meta.read_text(encoding="utf-8")))
    except FileNotFoundError as error:
        raise InputError(f"{meta}: there is no such file; give the folder of a release, with data/ and papers/") from (
            error
        )
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"{meta}: it is no JSON: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise InputError(f"{meta}: {place}: {first['msg']}") from error
    for paper in read.papers:
        if not _FOLDER.fullmatch(paper.paper_id):
            raise InputError(f"{meta}: paper_id {paper.paper_id!r} is no folder name")
    _distinct(meta, "paper_id", [paper.paper_id for paper in read.papers])
    _distinct(meta, "condition_id", [each.condition_id for each in read.rewrite_conditions])
    _distinct(meta, "condition", [f"{each.condition} by {each.producer}" for each in read.rewrite_conditions])
    return Release(folder, tuple(read.rewrite_conditions), tuple(read.papers))


def _distinct(meta: Path, what: str, names: list[str]) -> None:
    if doubled := {name for name in names if names.count(name) > 1}:
        raise InputError(f"{meta}: the {what} {min(doubled)} comes twice")


def release_sources(release: Release) -> list[ReleaseSource]:
    """The papers of a release, in its order."""
    return [ReleaseSource(release, paper) for paper in release.papers]


def release_human_scores(release: Release) -> list[HumanScore]:
    """The mean of each paper's reviews on each dimension; ``overall`` as the release states it, where it does."""
    found: list[HumanScore] = []
    for paper in release.papers:
        for field, dimension in _DIMENSIONS.items():
            given = [float(review[field]) for review in paper.reviews if _is_number(review.get(field))]
            mean = sum(given) / len(given) if given else None
            if field == "overall_assessment" and paper.average_overall_assessment is not None:
                mean = paper.average_overall_assessment
            if mean is not None:
                found.append(HumanScore(family=paper.paper_id, dimension=dimension, score=mean, source="release"))
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


@dataclass(frozen=True)
class ReleasedRating:
    """A rating that came with a release: a row of anyone's scores."""

    family: str
    version: str
    """``original`` or ``condition/producer``."""
    configuration: str
    score: float


def release_ratings(release: Release) -> list[ReleasedRating]:
    """The ratings in the release's JSON lines that ended well, the mean where a PDF was rated more than once.

    Raises:
        InputError: naming the file and the line that is wrong.
    """
    labels = {each.condition_id: f"{each.condition}/{each.producer}" for each in release.conditions}
    labels[ORIGINAL] = ORIGINAL
    found: dict[tuple[str, str, str], list[float]] = {}
    for path in sorted((release.folder / "data").rglob("*.jsonl")):
        for row, record in _lines(path):
            if record.get("status") != "ok" or not _is_number(record.get("model_rating")):
                continue
            paper, _, variant = str(record.get("pdf_id", "")).partition("/")
            if variant not in labels:
                raise InputError(f"{path}, line {row}: pdf_id {record.get('pdf_id')!r} is not in meta.json")
            judge = "/".join(str(record.get(field, "")) for field in ("provider", "model", "prompt_template"))
            found.setdefault((paper, labels[variant], judge), []).append(float(record["model_rating"]))
    return [ReleasedRating(*cell, score=sum(given) / len(given)) for cell, given in found.items()]


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with path.open(encoding="utf-8") as lines:
        for row, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except json.JSONDecodeError as error:
                raise InputError(f"{path}, line {row}: it is no JSON: {error}") from error
            if not isinstance(record, dict):
                raise InputError(f"{path}, line {row}: it is no JSON object")
            yield row, record
