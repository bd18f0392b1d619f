"""The release layout: names, hashes and reviews fit together."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from storage.errors import InputError
from tasks.report.release import ReleasePaper, ReleaseReview, ReleaseRewrite, export_release

BLOBS = {"sha256:o": b"%PDF original", "sha256:a": b"%PDF a", "sha256:b": b"%PDF b"}


def _paper(**changes: object) -> ReleasePaper:
    rewrites = [
        ReleaseRewrite(condition="scope_framing", producer="b", pdf_hash="sha256:b"),
        ReleaseRewrite(condition="novelty_stance", producer="b", pdf_hash="sha256:a"),
    ]
    fields: dict[str, object] = {
        "paper_id": "p1",
        "original_pdf_hash": "sha256:o",
        "rewrites": rewrites,
        "average_overall_assessment": 5.5,
        "reviews": [{"overall_assessment": 6, "soundness": 3}],
    }
    return ReleasePaper.model_validate(fields | changes)


def _review(condition: str, producer: str = "") -> ReleaseReview:
    return ReleaseReview(
        paper_id="p1",
        condition=condition,
        producer=producer,
        provider="openai",
        model="m",
        prompt_template="strict",
        model_rating=6,
        configuration_fingerprint="f",
    )


def test_layout(tmp_path: Path) -> None:
    meta = export_release([_paper()], [_review("original"), _review("scope_framing", "b")], BLOBS.__getitem__, tmp_path)
    data = json.loads(meta.read_text(encoding="utf-8"))
    assert data["rewrite_conditions"] == [
        {"condition_id": "condition_01", "rewrite_condition": "claim_novelty_stance_positive", "producer": "b"},
        {"condition_id": "condition_02", "rewrite_condition": "scope_generalization_positive", "producer": "b"},
    ]
    assert data["papers"][0]["paper_id"] == "p1" and "original_pdf_hash" not in data["papers"][0]
    assert (tmp_path / "papers/p1/original.pdf").read_bytes() == b"%PDF original"
    assert (tmp_path / "papers/p1/rewrites/condition_02.pdf").read_bytes() == b"%PDF b"
    rows = [json.loads(line) for line in (tmp_path / "data/reviews.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["pdf_id"] for row in rows] == ["p1/original", "p1/condition_02"]
    assert rows[1]["pdf_sha256"] == hashlib.sha256(b"%PDF b").hexdigest()


def test_a_paper_id_cannot_leave_its_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be a folder"):
        export_release([_paper(paper_id="../x")], [], BLOBS.__getitem__, tmp_path)


def test_a_review_without_its_pdf_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="joint"):
        export_release([_paper()], [_review("joint", "b")], BLOBS.__getitem__, tmp_path)
