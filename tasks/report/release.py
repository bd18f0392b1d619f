"""The RobustReview release layout, written: papers as PDFs, ``data/meta.json``, reviews as JSON lines.

Works on records and a way to get a blob's bytes, so it knows no store. Reading a release is the ingest stage's matter.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from storage.errors import InputError
from storage.records import Record
from storage.vocabulary import CONDITIONS, ORIGINAL

SCHEMA_VERSION = 1
_RELEASE_NAMES = {condition.name: condition.release_name for condition in CONDITIONS}
_FOLDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class ReleaseRewrite(Record):
    """One rewritten PDF of a paper."""

    condition: str
    producer: str
    pdf_hash: str


class ReleasePaper(Record):
    """One paper of a release; what is not known stays None."""

    paper_id: str
    original_pdf_hash: str
    rewrites: list[ReleaseRewrite] = Field(default_factory=list)
    arxiv_id: str | None = None
    arxiv_source_url: str | None = None
    openreview_id: str | None = None
    score_stratum: str | None = None
    reviews: list[dict[str, float | None]] = Field(default_factory=list)
    """Human reviews: overall_assessment, soundness, presentation, contribution, confidence."""
    average_overall_assessment: float | None = None


class ReleaseReview(Record):
    """One answered judgement of one PDF."""

    paper_id: str
    condition: str
    producer: str = ""
    provider: str
    model: str
    prompt_template: str
    model_rating: float
    configuration_fingerprint: str


def export_release(
    papers: Sequence[ReleasePaper], reviews: Sequence[ReleaseReview], get_blob: Callable[[str], bytes], out: Path
) -> Path:
    """Writes a release.

    Args:
        papers: the papers with the hashes of their PDFs.
        reviews: answered judgements only; a failed one has no place in the layout.
        get_blob: bytes of a blob by its hash; raises where it is not there.
        out: the folder; files of the same names are replaced.

    Returns:
        ``data/meta.json``.

    Raises:
        InputError: for a paper id that is no folder name, or a review of a PDF that the release does not have.
    """
    ids = _condition_ids(papers)
    hashes: dict[str, str] = {}
    for paper in papers:
        hashes |= _write_paper(paper, ids, get_blob, out)
    meta = out / "data" / "meta.json"
    meta.parent.mkdir(parents=True, exist_ok=True)
    meta.write_text(
        json.dumps(_meta(papers, ids), indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8"
    )
    rows = [json.dumps(_review(review, ids, hashes), ensure_ascii=False, allow_nan=False) for review in reviews]
    (meta.parent / "reviews.jsonl").write_text("".join(row + "\n" for row in rows), encoding="utf-8")
    return meta


def _condition_ids(papers: Sequence[ReleasePaper]) -> dict[tuple[str, str], str]:
    """``condition_01`` and so on: all conditions of the first producer, then of the next."""
    seen = dict.fromkeys((rewrite.condition, rewrite.producer) for paper in papers for rewrite in paper.rewrites)
    producers = list(dict.fromkeys(producer for _, producer in seen))
    order = {name: place for place, name in enumerate(_RELEASE_NAMES)}
    pairs = sorted(seen, key=lambda pair: (producers.index(pair[1]), order.get(pair[0], len(order)), pair[0]))
    return {pair: f"condition_{place:02d}" for place, pair in enumerate(pairs, 1)}


def _write_paper(
    paper: ReleasePaper, ids: dict[tuple[str, str], str], get_blob: Callable[[str], bytes], out: Path
) -> dict[str, str]:
    """The PDFs of one paper; returns their SHA-256 by pdf id."""
    if not _FOLDER.fullmatch(paper.paper_id):
        raise InputError(
            f"paper {paper.paper_id!r} cannot be a folder of a release: use letters, digits, '.', '_' and '-'"
        )
    folder = out / "papers" / paper.paper_id
    (folder / "rewrites").mkdir(parents=True, exist_ok=True)
    files = {ORIGINAL: (folder / "original.pdf", paper.original_pdf_hash)}
    for rewrite in paper.rewrites:
        name = ids[rewrite.condition, rewrite.producer]
        files[name] = (folder / "rewrites" / f"{name}.pdf", rewrite.pdf_hash)
    found = {}
    for name, (path, blob) in files.items():
        data = get_blob(blob)
        path.write_bytes(data)
        found[f"{paper.paper_id}/{name}"] = hashlib.sha256(data).hexdigest()
    return found


def _meta(papers: Sequence[ReleasePaper], ids: dict[tuple[str, str], str]) -> dict[str, Any]:
    kept = {
        "paper_id",
        "arxiv_id",
        "arxiv_source_url",
        "openreview_id",
        "score_stratum",
        "reviews",
        "average_overall_assessment",
    }
    return {
        "schema_version": SCHEMA_VERSION,
        "rewrite_conditions": [
            {"condition_id": name, "rewrite_condition": _RELEASE_NAMES.get(condition, condition), "producer": producer}
            for (condition, producer), name in ids.items()
        ],
        "papers": [paper.model_dump(include=kept) for paper in papers],
    }


def _review(review: ReleaseReview, ids: dict[tuple[str, str], str], hashes: dict[str, str]) -> dict[str, Any]:
    variant = ORIGINAL if review.condition == ORIGINAL else ids.get((review.condition, review.producer), "")
    pdf_id = f"{review.paper_id}/{variant}"
    if pdf_id not in hashes:
        raise InputError(
            f"a review of {review.paper_id} ({review.condition}, {review.producer}) has no PDF in this release: "
            "export that version too"
        )
    return {
        "pdf_id": pdf_id,
        "paper_id": review.paper_id,
        "variant": variant,
        "provider": review.provider,
        "model": review.model,
        "prompt_template": review.prompt_template,
        "status": "ok",
        "model_rating": review.model_rating,
        "configuration_fingerprint": review.configuration_fingerprint,
        "pdf_sha256": hashes[pdf_id],
    }
