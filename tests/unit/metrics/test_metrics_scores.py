"""What anyone's frame of scores may hold: missing cells stay missing, every wrong cell is named by row and column."""

from __future__ import annotations

import json
import math

import numpy as np
import polars as pl
import pytest

from storage.errors import InputError
from tasks.metrics.assemble import robust_json, robust_results
from tasks.metrics.scores import ROW, grids, human_scores, robust_frame

COLUMNS = ("family", "version", "score")


def text_frame(*rows: tuple[str | None, ...], columns: tuple[str, ...] = COLUMNS) -> pl.DataFrame:
    data = {name: [row[at] for row in rows] for at, name in enumerate(columns)}
    return pl.DataFrame({ROW: list(range(2, len(rows) + 2)), **data},
                        schema={ROW: pl.Int64, **dict.fromkeys(columns, pl.String)})


GOOD = (("a", "original", "5"), ("a", "v1", "6"), ("b", "original", "3"), ("b", "v1", ""))


@pytest.mark.parametrize(("bad", "column", "words"), [
    (("b", "v2", "good"), "score", "'good' is not a number"),
    (("b", "v2", "NaN"), "score", "'NaN' is not a number"),
    (("b", "v2", "nan"), "score", "not a number"),
    (("b", "v2", "inf"), "score", "not a number"),
    (("b", "v2", "1e999"), "score", "not finite"),
    (("b", "v2", "true"), "score", "not a number"),
    (("b", "v2", "NA"), "score", "not a number"),
    (("b", "v2", "1_0"), "score", "not a number"),
    (("b", "v2", "5,5"), "score", "not a number"),
    (("a", "v1", "6"), "score", "a second value for configuration 'default', family 'a', version 'v1'"),
    (("b", "v1", "4"), "score", "the first is in row 5"),
    (("", "v2", "4"), "family", "is empty"),
    ((None, "v2", "4"), "family", "is empty"),
    (("b", " v2", "4"), "version", "blanks around it"),
    (("b", "Original", "4"), "version", "write the reference as 'original'"),
])
def test_a_wrong_cell_is_named_by_row_and_column(bad, column, words) -> None:
    with pytest.raises(InputError) as caught:
        robust_frame(text_frame(*GOOD, bad), "scores.csv")
    assert f"scores.csv: row 6, column '{column}'" in str(caught.value) and words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unknown_and_missing_columns() -> None:
    with pytest.raises(InputError, match="column 'rating': unknown column; the columns are family, version, score"):
        robust_frame(text_frame(*[(*row, "1") for row in GOOD], columns=("family", "version", "score", "rating")))
    with pytest.raises(InputError, match="column 'score': is missing"):
        robust_frame(text_frame(("a", "original"), columns=("family", "version")))


def test_a_configuration_without_original_is_refused() -> None:
    rows = [("m", *GOOD[0]), ("m", *GOOD[1]), ("k", "a", "v1", "3")]
    with pytest.raises(InputError, match="row 4, column 'version': configuration 'k' has no version 'original'"):
        robust_frame(text_frame(*rows, columns=("configuration", "family", "version", "score")))
    with pytest.raises(InputError, match="no row with scores"):
        robust_frame(text_frame())


@pytest.mark.parametrize("dtype", [pl.Float64, pl.Int64, pl.Float32])
def test_numeric_frames_and_rows_without_numbers(dtype) -> None:
    frame = pl.DataFrame({"family": [1, 1, 2, 2], "version": ["original", "x"] * 2, "score": [1, 2, 3, 4]})
    checked = robust_frame(frame.with_columns(pl.col("score").cast(dtype)))
    assert checked["family"].to_list() == ["1", "1", "2", "2"] and checked[ROW].to_list() == [1, 2, 3, 4]
    with pytest.raises(InputError, match="row 3, column 'score': is not finite"):
        robust_frame(frame.with_columns(pl.Series("score", [1.0, 2.0, math.inf, 4.0])))
    with pytest.raises(InputError, match="column 'score': holds Boolean values"):
        robust_frame(frame.with_columns(pl.Series("score", [True, False, True, True])))


def long(cells: list[list[float | None]]) -> pl.DataFrame:
    return pl.DataFrame(
        [{"family": f"f{i}", "version": "original" if k == 0 else f"v{k}", "score": score}
         for i, row in enumerate(cells) for k, score in enumerate(row)],
        schema={"family": pl.String, "version": pl.String, "score": pl.Float64})


def test_an_absent_row_an_empty_one_and_nan_are_the_same() -> None:
    """B111 and B119: a missing cell is missing, however it is written, and the n says so."""
    cells: list[list[float | None]] = [[5, 6, 5], [3, None, 4], [8, 8, 7], [1, 2, 2], [6, 5, 6]]
    empty = long(cells)
    absent = empty.drop_nulls()
    nan = empty.with_columns(pl.col("score").fill_null(math.nan))
    documents = [json.dumps(robust_json(robust_results(frame, draws=300)), allow_nan=False)
                 for frame in (empty, absent, nan)]
    assert documents[0] == documents[1] == documents[2]
    numbers = json.loads(documents[0])["configurations"]["default"]
    assert numbers["mad"]["n"] == 9 and numbers["icc_a1"]["n"] == 4 and numbers["spr"]["n"] == 5


def test_a_failure_is_not_a_zero() -> None:
    """B80: original 5 5 5, rewritten 5 FAIL 5 has no drift, over two pairs."""
    document = robust_json(robust_results(long([[5, 5], [5, None], [5, 5]]), draws=100))
    numbers = document["configurations"]["default"]
    assert (numbers["mad"]["value"], numbers["mad"]["n"]) == (0.0, 2)


def test_every_family_lacking_one_cell_gives_null_with_the_reason() -> None:
    document = robust_json(robust_results(long([[5, None, 5], [3, 4, None], [8, None, 7]]), draws=100))
    numbers = document["configurations"]["default"]
    assert numbers["icc_a1"]["value"] is None and "fewer than two families" in numbers["icc_a1"]["reason"]
    assert numbers["discriminability"]["value"] is None and numbers["mad"]["value"] is not None


def test_the_null_arm_is_apart_and_families_are_shared() -> None:
    rows = [("m", "b", "original", "5"), ("m", "b", "novelty/x", "6"), ("m", "b", "null_repeat", "5"),
            ("k", "a", "original", "4"), ("k", "a", "novelty/x", "4")]
    laid = grids(robust_frame(text_frame(*rows, columns=("configuration", "family", "version", "score"))), {"a": 4.5})
    assert laid["m"].families == laid["k"].families == ("a", "b")
    assert laid["m"].versions == ("original", "novelty/x") and laid["m"].null_versions == ("null_repeat",)
    assert laid["k"].null is None and np.isnan(laid["m"].y[0]).all()
    assert laid["k"].human[0] == 4.5 and np.isnan(laid["k"].human[1])


def test_human_scores() -> None:
    frame = text_frame(("a", "4.5"), ("b", ""), ("c", "0"), columns=("family", "score"))
    assert human_scores(frame) == {"a": 4.5, "c": 0.0}
    twice = text_frame(("a", "4"), ("b", ""), ("c", "0"), ("a", "4"), columns=("family", "score"))
    with pytest.raises(InputError, match=r"human\.csv: row 5, column 'score': a second value for family 'a'"):
        human_scores(twice, "human.csv")
