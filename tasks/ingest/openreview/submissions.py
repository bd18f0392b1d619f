"""Submissions and their reviews, read from an export: OpenReview's notes as JSON, or the plain form that we write.

Here belongs reading: fields of both versions of OpenReview's notes, scores that are numbers or sentences. Nothing is
fetched here.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import Field, ValidationError

from storage.errors import InputError
from storage.records import HumanScore, Record

FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "overall_assessment": ("overall_assessment", "rating", "recommendation", "overall_rating", "overall", "score"),
    "soundness": ("soundness", "technical_soundness", "correctness"),
    "presentation": ("presentation", "clarity"),
    "contribution": ("contribution", "significance", "originality"),
    "confidence": ("confidence",),
}
"""Our name of a dimension -> the names that venues have used, the best first."""
_LEADING: Final = re.compile(r"\s*([-+]?\d+(?:\.\d+)?)\s*(?:$|[:/(\-–—.,]|\s)")
_NAME: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")


class Submission(Record):
    """One submission with its reviews."""

    id: str = Field(pattern=f"^{_NAME.pattern}$")
    title: str = Field(min_length=1)
    authors: tuple[str, ...] = ()
    """Empty where they are not shown."""
    abstract: str = ""
    reviews: tuple[dict[str, float], ...] = ()
    """By dimension; a dimension that a reviewer did not rate is not there."""
    pdf: str | None = None
    """File beside the export."""
    arxiv_id: str | None = None
    """Where it is known already."""

    @property
    def means(self) -> dict[str, float]:
        """The mean of the reviews by dimension, where there is any."""
        given: dict[str, list[float]] = {}
        for review in self.reviews:
            for dimension, score in review.items():
                given.setdefault(dimension, []).append(score)
        return {dimension: sum(scores) / len(scores) for dimension, scores in given.items()}


def score_of(value: Any) -> float | None:
    """A score as a number: ``8``, ``"8"``, ``"8: accept, good paper"``; None for what is none. 0 is a score."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, str) and (found := _LEADING.match(value)):
        return float(found[1])
    return None


def review_scores(content: dict[str, Any]) -> dict[str, float]:
    """The scores of one review by our names of the dimensions."""
    found: dict[str, float] = {}
    for dimension, names in FIELDS.items():
        scores = (score_of(_value(content, name)) for name in names if name in content)
        first = next((score for score in scores if score is not None), None)
        if first is not None:
            found[dimension] = first
    return found


def _value(content: dict[str, Any], name: str) -> Any:
    """A field of a note: OpenReview's newer notes wrap each value."""
    value = content.get(name)
    return value.get("value") if isinstance(value, dict) and "value" in value else value


def from_note(note: dict[str, Any]) -> Submission | None:
    """A submission from OpenReview's note with its replies; None for a withdrawn or rejected-at-the-desk one."""
    content = note.get("content") or {}
    venue = str(_value(content, "venueid") or "") + str(_value(content, "venue") or "")
    if re.search(r"withdrawn|desk.?reject", venue, re.I) or note.get("ddate"):
        return None
    details = note.get("details") or {}
    replies = details.get("replies") or details.get("directReplies") or []
    reviews = [review_scores(reply.get("content") or {}) for reply in replies if _is_review(reply)]
    authors = [str(name) for name in _value(content, "authors") or []]
    return Submission(
        id=str(note.get("forum") or note.get("id")),
        title=" ".join(str(_value(content, "title") or "").split()),
        authors=tuple(name for name in authors if "anonymous" not in name.lower()),
        abstract=str(_value(content, "abstract") or ""),
        reviews=tuple(review for review in reviews if review),
    )


def _is_review(reply: dict[str, Any]) -> bool:
    named = [*(reply.get("invitations") or []), str(reply.get("invitation") or "")]
    return not reply.get("ddate") and any(str(name).endswith("Official_Review") for name in named)


def read_submissions(path: Path) -> list[Submission]:
    """The submissions of an export, in its order.

    Args:
        path: JSON: a list, or an object with the list under ``notes`` or ``submissions``; each entry is OpenReview's
            note (with ``content``) or our plain form.

    Raises:
        InputError: naming the file and the entry that is wrong.
    """
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(
            f"{path}: there is no such file; make it with: evenhand import openreview VENUE --out {path.name}"
        ) from error
    except (UnicodeDecodeError, json.JSONDecodeError, IsADirectoryError) as error:
        raise InputError(f"{path}: it is no JSON file: {error}") from error
    entries = read.get("submissions", read.get("notes")) if isinstance(read, dict) else read
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InputError(f"{path}: it must hold a list of submissions")
    found: dict[str, Submission] = {}
    for place, entry in enumerate(entries):
        try:
            one = from_note(entry) if "content" in entry else _plain(entry)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(map(str, first["loc"]))
            raise InputError(f"{path}, entry {place + 1}: {field}: {first['msg']}") from error
        if one is not None and found.setdefault(one.id, one) is not one:
            raise InputError(f"{path}, entry {place + 1}: the submission {one.id} is there already")
    if not found:
        raise InputError(f"{path}: it holds no submission that was reviewed")
    return list(found.values())


def _plain(entry: dict[str, Any]) -> Submission:
    reviews = [review_scores(review) for review in entry.get("reviews") or [] if isinstance(review, dict)]
    known = {name: value for name, value in entry.items() if name in Submission.model_fields}
    return Submission.model_validate({**known, "reviews": [review for review in reviews if review]})


def human_scores_of(submissions: Sequence[Submission]) -> list[HumanScore]:
    """The mean of each submission's reviews by dimension."""
    return [
        HumanScore(
            family=one.id, dimension="overall" if dimension == "overall_assessment" else dimension, score=score,
            source="openreview",
        )
        for one in submissions
        for dimension, score in one.means.items()
    ]


def write_submissions(path: Path, submissions: Sequence[Submission]) -> None:
    """Writes our plain form; replaced in one step."""
    part = path.with_name(f".{path.name}.part")
    rows = [one.model_dump(mode="json", exclude_none=True) for one in submissions]
    part.write_text(json.dumps({"submissions": rows}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    part.replace(path)
