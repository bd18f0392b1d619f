"""The numbers that a slow literal implementation gave, to 1e-9, through the definitions, the kernels and the frames."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tasks.metrics import fast, robust, style
from tasks.metrics.assemble import robust_json, robust_results
from tasks.metrics.bias import bias_json
from tasks.metrics.style_frame import ADVERSARIAL_PAIRS, SUBSTANCE_PAIRS, style_frame, style_grids
from tasks.metrics.style_results import style_json

ORACLES = Path(__file__).resolve().parents[2] / "fixtures" / "oracles"
ROBUST = json.loads((ORACLES / "robustness.json").read_text())
METRICS = ("mad", "drift_sd", "spr", "icc_a1", "discriminability", "human_mae", "human_spearman")


def close(value: float | None, wanted: float | None) -> bool:
    return value is None if wanted is None else value is not None and abs(value - wanted) < 1e-9


def matrix(case: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    y = np.array([[np.nan if v is None else v for v in row] for row in case["scores"]], dtype=float)
    return y, np.array(case["human"], dtype=float)


@pytest.mark.parametrize("case", ROBUST, ids=lambda case: case["name"])
def test_robust_oracles(case: dict[str, Any]) -> None:
    y, human = matrix(case)
    kernels = fast.robust_kernels(y, human)
    rows = [
        {"family": f"f{i}", "version": "original" if k == 0 else f"c{k}", "score": score}
        for i, row in enumerate(case["scores"]) for k, score in enumerate(row)
    ]
    by_family = {f"f{i}": float(h) for i, h in enumerate(human)}
    document = robust_json(robust_results(pl.DataFrame(rows), by_family, draws=50))
    numbers = document["configurations"]["default"]
    for name in METRICS:
        wanted = case["expected"][name]
        definition = getattr(robust, name)
        point = definition(y, human) if name.startswith("human") else definition(y)
        assert close(point.value, wanted), name
        assert (point.value is None) == (point.reason is not None)
        kernel = float(kernels[name].value(np.ones((1, y.shape[0])))[0])
        assert np.isnan(kernel) if wanted is None else close(kernel, wanted), name
        assert close(numbers[name]["value"], wanted), name
    assert numbers["icc_a1"]["n"] == numbers["discriminability"]["n"] == case["expected"]["n_complete"]
    assert numbers["spr"]["n"] == case["expected"]["n_families"]


def style_rows(oracle: dict[str, Any]) -> list[dict[str, Any]]:
    rows = []
    for variant, ideas in oracle["scores"].items():
        for i, scores in enumerate(ideas):
            named = {**dict(zip(oracle["dimensions"], scores, strict=True)), "overall": oracle["overall"][variant][i]}
            rows += [{"idea": f"i{i}", "variant": variant, "dimension": d, "score": s} for d, s in named.items()]
    return rows


def test_style_oracle() -> None:
    oracle = json.loads((ORACLES / "style.json").read_text())
    frame = pl.DataFrame(style_rows(oracle))
    (grid,) = style_grids(style_frame(frame))
    wanted = oracle["expected"]
    for variant, value in wanted["sbi"].items():
        assert close(style.sbi(grid, (variant,))[0].value, value), variant
    for variant, value in wanted["sbi_plain"].items():
        assert close(style.sbi_plain(grid, (variant,))[0].value, value), variant
    assert close(style.sbi(grid)[0].value, wanted["sbi_style_only_mean"])
    assert close(style.win_rates(grid, SUBSTANCE_PAIRS)["wins"][0].value, wanted["srr"])
    assert close(style.win_rates(grid, ADVERSARIAL_PAIRS)["wins"][0].value, wanted["awr"])
    numbers = style_json(frame, draws=200)["configurations"]["default"]
    assert close(numbers["sbi"]["value"], 1.0) and close(numbers["srr"]["value"], 1.0)
    net = wanted["sbi_plain"]["B1"] - wanted["sbi_plain"]["A2"]
    assert close(numbers["contexts"]["default"]["variants"]["B1"]["sbi_net"]["value"], net)


def test_bias_oracle() -> None:
    oracle = json.loads((ORACLES / "bias.json").read_text())
    word = {True: "correct", False: "wrong", None: "unparsed"}
    frame = pl.DataFrame([
        {"item": f"q{i}", "bias": "length", "original": word[o], "injected": word[b]}
        for i, (o, b) in enumerate(zip(oracle["original"], oracle["injected"], strict=True))
    ])
    numbers = bias_json(frame, draws=200)["configurations"]["default"]
    counts, wanted = numbers["counts"], oracle["expected"]
    for name in ("n", "correct_correct", "correct_incorrect", "incorrect_correct", "incorrect_incorrect", "unparsed"):
        assert counts[name] == wanted[name], name
    for name in ("acc_ori", "acc_inj", "bsr", "symmetric_flip_rate"):
        assert close(numbers[name]["value"], wanted[name]), name
        assert close(numbers["biases"]["length"][name]["value"], wanted[name]), name
