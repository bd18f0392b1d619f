"""JudgeBiasBench: denominators, the unparsed, pooled and paired numbers, refusals."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from storage.errors import InputError
from tasks.metrics.bias import VERDICTS, Table, bias_frame, bias_json
from tasks.metrics.position import position_json
from tasks.metrics.scores import ROW


def verdicts(*rows: tuple[str, ...], columns=("item", "bias", "original", "injected")) -> pl.DataFrame:
    data = {name: [row[at] for row in rows] for at, name in enumerate(columns)}
    return pl.DataFrame({ROW: list(range(2, len(rows) + 2)), **data})


def test_every_rate_has_its_own_denominator() -> None:
    table = Table(np.array([[5, 2, 1], [3, 4, 0], [1, 1, 2]]))
    rates = table.rates()
    assert {name: (rate.value, rate.n) for name, rate in rates.items()} == {
        "acc_ori": (8 / 15, 15), "acc_inj": (9 / 19, 19), "bsr": (2 / 8, 8),
        "symmetric_flip_rate": (5 / 14, 14), "reversal": (3 / 7, 7),
    }
    counts = table.counts()
    assert (counts["unparsed"], counts["original_unparsed"], counts["injected_unparsed"]) == (5, 4, 3)


def test_undefined_rates_say_why() -> None:
    document = bias_json(verdicts(("q", "race", "unparsed", "unparsed")), draws=50)["configurations"]["default"]
    assert document["acc_ori"]["value"] is None and document["acc_ori"]["reason"] == "no original answer was parsed"
    assert document["acc_inj"] | {"high": 0} == {"value": 0.0, "low": 0.0, "high": 0, "n": 1, "reason": None}
    assert document["bsr"]["value"] is None and document["acc_change"]["value"] is None
    json.dumps(document, allow_nan=False)


def random_frame(seed: int, judges: int, items: int, biases: int = 3) -> pl.DataFrame:
    generator = np.random.default_rng(seed)
    rows = [(f"j{j}", f"q{i}", f"bias{i % biases}", *generator.choice(VERDICTS, 2, p=[0.6 - j / 10, 0.3 + j / 10, 0.1]))
            for j in range(judges) for i in range(items)]
    return pl.DataFrame(rows, orient="row", schema=["configuration", "item", "bias", "original", "injected"])


def test_pooled_is_the_sum_and_draws_follow_the_definition() -> None:
    document = bias_json(random_frame(1, 3, 90), draws=400)
    for one in document["configurations"].values():
        for name in ("n", "correct_incorrect", "unparsed"):
            assert one["counts"][name] == sum(part["counts"][name] for part in one["biases"].values())
        change = one["acc_change"]
        assert change["value"] == pytest.approx(one["acc_inj"]["value"] - one["acc_ori"]["value"])
        assert change["low"] < change["value"] < change["high"]
    assert len(document["comparisons"]) == 3
    first = document["comparisons"][0]
    values = [document["configurations"][first[side]]["bsr"]["value"] for side in ("first", "second")]
    assert first["difference"]["value"] == pytest.approx(values[0] - values[1]) and first["p_holm"] >= first["p_value"]
    assert bias_json(random_frame(1, 3, 90), draws=400) == document


def test_an_empty_side_is_a_missing_pair() -> None:
    frame = verdicts(("q1", "race", "correct", "wrong"), ("q2", "race", "correct", ""))
    one = bias_json(frame, draws=50)["configurations"]["default"]
    assert one["counts"]["n"] == 1 and one["counts"]["missing"] == 1 and one["bsr"]["value"] == 1.0


@pytest.mark.parametrize(("row", "column", "words"), [
    (("q2", "race", "correct", "maybe"), "injected", "'maybe' is not one of correct, wrong, unparsed"),
    (("q2", "race", "Correct", "wrong"), "original", "'Correct' is not one of"),
    (("q1", "race", "correct", "wrong"), "original", "a second value for configuration 'default', item 'q1'"),
    (("", "race", "correct", "wrong"), "item", "is empty"),
])
def test_wrong_cells_are_named(row: tuple[str, ...], column: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        bias_frame(verdicts(("q1", "race", "correct", "wrong"), row), "bias.csv")
    assert f"bias.csv: row 3, column '{column}'" in str(caught.value) and words in str(caught.value)


def test_position_probe() -> None:
    """first-first and second-second prefer a place; first-second and second-first an answer."""
    rows = [("q1", "first", "first"), ("q2", "first", "second"), ("q3", "second", "first"), ("q4", "unparsed", "first")]
    (found,) = position_json(verdicts(*rows, columns=("item", "forward", "swapped")))["configurations"].values()
    assert (found["p_first_forward"]["value"], found["p_first_forward"]["n"]) == (2 / 3, 3)
    assert (found["p_first_swapped"]["value"], found["p_first_swapped"]["n"]) == (3 / 4, 4)
    assert (found["p_first"]["value"], found["consistency"]["value"], found["consistency"]["n"]) == (4 / 6, 2 / 3, 3)
    assert found["counts"] == {"pairs": 4, "both_parsed": 3, "unparsed": 1}
