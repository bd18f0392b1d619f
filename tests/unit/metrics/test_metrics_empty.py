"""Frames in which every cell is missing still give whole documents, with reasons instead of numbers."""

from __future__ import annotations

import json

import polars as pl

from tasks.metrics.assemble import robust_json, robust_results
from tasks.metrics.bias import bias_json
from tasks.metrics.style_results import style_json


def test_no_score_at_all() -> None:
    frame = pl.DataFrame({"family": ["a", "a", "b"], "version": ["original", "x", "original"], "score": [None] * 3},
                         schema_overrides={"score": pl.Float64})
    numbers = robust_json(robust_results(frame, {"a": 4.0}, draws=20))["configurations"]["default"]
    assert all(number["value"] is None and number["reason"] for number in numbers.values())
    one = frame.with_columns(pl.Series("score", [5.0, None, None]))
    numbers = robust_json(robust_results(one, {"a": 4.0}, draws=20))["configurations"]["default"]
    assert numbers["human_mae"]["value"] == 1.0 and numbers["human_mae"]["reason"].startswith("one family")
    assert all(numbers[name]["value"] is None for name in ("mad", "icc_a1", "spr", "discriminability"))


def test_a_configuration_without_scores_beside_one_with() -> None:
    rows = [(c, f"f{i}", v, float(i + k) if c == "m" else None) for c in ("m", "k") for i in range(6)
            for k, v in enumerate(("original", "a/p", "b/p"))]
    frame = pl.DataFrame(rows, orient="row", schema={"configuration": pl.String, "family": pl.String,
                                                    "version": pl.String, "score": pl.Float64})
    results = robust_results(frame, draws=20)
    json.dumps(robust_json(results), allow_nan=False)
    assert results.configurations["k"].metrics["mad"].value is None
    assert results.configurations["m"].metrics["mad"].value == 1.5
    assert all(c.difference.reason and c.p_value is None for c in results.comparisons)


def test_no_style_score_and_no_verdict() -> None:
    style = pl.DataFrame({"idea": ["i"], "variant": ["A3"], "dimension": ["overall"], "score": [None]},
                         schema_overrides={"score": pl.Float64})
    document = style_json(style, draws=20)
    assert document["configurations"]["default"]["sbi"]["value"] is None
    json.dumps(document, allow_nan=False)
    bias = pl.DataFrame({"item": ["q"], "bias": ["race"], "original": [None], "injected": ["wrong"]},
                        schema_overrides={"original": pl.String})
    document = bias_json(bias, draws=20)
    assert document["configurations"]["default"]["counts"]["missing"] == 1
    assert document["configurations"]["default"]["bsr"]["value"] is None
    json.dumps(document, allow_nan=False)
