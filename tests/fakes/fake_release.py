"""A small RobustReview release: PDFs made on the spot, in the layout that was published."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pymupdf

CONDITIONS = [
    ("condition_01", "claim_novelty_stance_positive", "GPT-5.5"),
    ("condition_02", "combo_rewrite_round_01", "GPT-5.5"),
    ("condition_11", "claim_novelty_stance_positive", "Claude Opus 4.8"),
]
WORDS = {
    "original": "We study a plain method and report that it works in some of the cases we tried.",
    "condition_01": "We introduce an entirely novel method and report that it works in some of the cases we tried.",
    "condition_02": "We introduce a groundbreaking novel method and it demonstrably works in every case we tried.",
    "condition_11": "We propose the first method of its kind and report that it works in some of the cases we tried.",
}


def pdf(title: str, sentence: str, lines: int = 30) -> bytes:
    """One page of text."""
    document = pymupdf.open()
    page = document.new_page()
    page.insert_text((60, 50), title, fontsize=18)
    for line in range(lines):
        page.insert_text((60, 80 + 20 * line), sentence, fontsize=9)
    return document.tobytes(no_new_id=True)


def make_release(folder: Path, count: int = 2, **changes: Any) -> Path:
    """Writes a release of ``count`` papers; ``changes`` replace fields of its ``meta.json``."""
    listed, reviews = [], []
    for number in range(count):
        name = f"paper{number:02d}"
        place = folder / "papers" / name
        (place / "rewrites").mkdir(parents=True)
        for variant, sentence in WORDS.items():
            path = place / ("original.pdf" if variant == "original" else f"rewrites/{variant}.pdf")
            path.write_bytes(pdf(f"Paper Number {number}", f"{number}: {sentence}"))
            reviews.append(
                {
                    "pdf_id": f"{name}/{variant}", "paper_id": name, "variant": variant, "provider": "openai",
                    "model": "gpt-5.5", "prompt_template": "standard", "status": "ok", "model_rating": 3 + number,
                    "configuration_fingerprint": "abc", "pdf_sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
                }
            )
        listed.append(
            {
                "paper_id": name, "arxiv_id": f"2401.0000{number}v1", "arxiv_source_url": None,
                "openreview_id": f"or{number}", "score_stratum": "[3,4)",
                "reviews": [
                    {"overall_assessment": score, "soundness": 3, "confidence": 4} for score in (0, 2 * number)
                ],
                "average_overall_assessment": float(number),
            }
        )
    reviews.append({**reviews[0], "status": "failed", "model_rating": None})
    conditions = [
        {"condition_id": each, "rewrite_condition": name, "producer": producer} for each, name, producer in CONDITIONS
    ]
    meta = {"schema_version": 1, "rewrite_conditions": conditions, "papers": listed} | changes
    (folder / "data").mkdir()
    (folder / "data" / "meta.json").write_text(json.dumps(meta), "utf-8")
    (folder / "data" / "reviews.jsonl").write_text("".join(json.dumps(row) + "\n" for row in reviews), "utf-8")
    return folder
