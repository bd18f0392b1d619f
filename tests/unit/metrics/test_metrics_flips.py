"""Flips with position taken out, planted rates, bias turned round, and the agreement of verifiers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from flows.score_files import bias_document
from storage.errors import InputError
from tasks.metrics.bias import bias_json
from tasks.metrics.flips import SIDES, agreement_json, corrected_json, one_way, planted_rates


def test_the_oracle_comes_out_of_a_file_of_verdicts(root: Path, tmp_path: Path) -> None:
    oracle = json.loads((root / "tests" / "fixtures" / "oracles" / "bias.json").read_text("utf-8"))
    words = {True: "correct", False: "wrong", None: "unparsed"}
    lines = ["item,bias,original,injected"]
    lines += [f"i{at},length,{words[one]},{words[two]}"
              for at, (one, two) in enumerate(zip(oracle["original"], oracle["injected"], strict=True))]
    path = tmp_path / "verdicts.csv"
    path.write_text("\n".join(lines) + "\n")
    (found,) = bias_document(path)["configurations"].values()
    for name, value in oracle["expected"].items():
        got = found["counts"][name] if name in found["counts"] else found[name]["value"]
        assert got == pytest.approx(value, abs=1e-9), name


def _frame(*rows: tuple[str, ...]) -> pl.DataFrame:
    return pl.DataFrame([(f"i{at}", "length", *row) for at, row in enumerate(rows)], schema=["item", "bias", *SIDES],
                        orient="row")


def test_only_verdicts_that_hold_in_both_orders_count() -> None:
    frame = _frame(
        ("correct", "correct", "wrong", "wrong"),
        ("correct", "correct", "correct", "wrong"),
        ("correct", "wrong", "wrong", "wrong"),
        ("wrong", "wrong", "correct", "correct"),
        ("unparsed", "unparsed", "correct", "correct"),
    )
    (found,) = corrected_json(frame).values()
    counts = found["counts"]
    assert (counts["correct_incorrect"], counts["incorrect_correct"], counts["correct_unparsed"]) == (1, 1, 1)
    assert counts["original_unparsed"] == 2
    assert (found["bsr"]["value"], found["bsr"]["n"]) == (0.5, 2)
    assert found["symmetric_flip_rate"]["value"] == 1.0


def test_a_wrong_verdict_in_the_frame_is_named() -> None:
    with pytest.raises(InputError, match="injected_swapped"):
        corrected_json(_frame(("correct", "correct", "wrong", "maybe")))


def test_planted_rates_are_those_of_a_large_simulation() -> None:
    rng = np.random.default_rng(1)
    before, after = rng.uniform(size=40), rng.uniform(size=40)
    chance = rng.uniform(size=(20000, 40))
    original, injected = chance < before, chance < after
    names = np.array(["wrong", "correct"])
    rows = pl.DataFrame({
        "item": [str(at) for at in range(original.size)], "bias": ["b"] * original.size,
        "original": names[original.ravel().astype(int)], "injected": names[injected.ravel().astype(int)],
    })
    (found,) = bias_json(rows, draws=100)["configurations"].values()
    for name, planted in planted_rates(before, after).items():
        assert found[name]["value"] == pytest.approx(planted, abs=0.005), name
    assert set(planted_rates(np.array([]), np.array([])).values()) == {None}
    assert planted_rates(np.ones(3), np.ones(3))["reversal"] is None


@pytest.mark.parametrize(("lost", "won", "reverses"), [(0, 20, True), (20, 0, False), (5, 8, False), (0, 0, False)])
def test_a_bias_turned_round_is_told_from_a_bias(lost: int, won: int, reverses: bool) -> None:
    found = one_way({"correct_incorrect": lost, "incorrect_correct": won})
    assert found["reverses"] is reverses
    assert (found["p_value"] is None) == (lost + won == 0)


def test_verifiers_agreement_by_bias() -> None:
    votes = [("length", ["kept", "kept", "changed"]), ("length", ["kept", "kept", "kept"]),
             ("race", ["changed", None, "equal"]), ("race", [None, None, None])]
    found = agreement_json(votes, ["a", "b", "c"])
    assert found["pooled"]["pairs"] == 4
    assert found["biases"]["length"]["kept"]["value"] == 1.0
    assert found["biases"]["length"]["unanimous"]["value"] == 0.5
    assert found["biases"]["length"]["pairwise_agreement"]["value"] == pytest.approx(4 / 6)
    assert found["biases"]["race"]["kept"]["value"] == 0.0
    assert found["biases"]["race"]["by_verifier"]["b"] == {
        "value": None, "low": None, "high": None, "n": 0, "reason": "cast no vote"}
