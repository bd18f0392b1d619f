"""SciStyleBench: definitions on small cases worked out by hand, missing cells, ranks, aggregates, refusals."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from storage.errors import InputError
from tasks.metrics import style, style_ranks
from tasks.metrics.scores import ROW
from tasks.metrics.style_frame import DIMENSIONS, VARIANTS, style_frame, style_grids
from tasks.metrics.style_results import style_json


def frame(overall: dict[str, list[float | None]], dims: dict[str, list[float | None]] | None = None,
          configuration: str = "judge", context: str = "none") -> pl.DataFrame:
    rows = []
    for variant, scores in overall.items():
        for i, score in enumerate(scores):
            rows.append((configuration, context, f"i{i:03}", variant, "overall", score))
            every = score if dims is None else dims[variant][i]
            rows += [(configuration, context, f"i{i:03}", variant, d, every) for d in DIMENSIONS]
    return pl.DataFrame(rows, orient="row", schema={
        **dict.fromkeys(("configuration", "context", "idea", "variant", "dimension"), pl.String), "score": pl.Float64})


def grid(overall, dims=None):
    (found,) = style_grids(style_frame(frame(overall, dims)))
    return found


def test_sbi_by_hand_with_missing_cells() -> None:
    """B1 against para: |7-5|, |4-4|; the third idea lacks plain, so as printed it does not count."""
    found = grid({"A3": [4, 4, None], "A2": [5, 4, 6], "B1": [7, 4, 9]})
    point, _ = style.sbi(found, ("B1",))
    assert (point.value, point.n) == (1.0, 10)
    assert style.sbi_plain(found, ("B1",))[0].value == 1.5
    assert style.sbi_net(found, ("B1",))[0].value == 1.0
    headline = style.sbi(found)[0]
    assert headline.value == 1.0 and "variants_missing" in headline.flags
    assert style.sbi(found, ("C1",))[0].value is None and style.sbi(found, ("C1",))[0].reason


def test_a_tie_is_no_win() -> None:
    found = grid({"C3": [6, 5, 7], "A3": [5, 5, 5], "C1": [5, 4, 3], "C2": [4, 4, None]})
    rates = style.win_rates(found, (("C3", "A3"), ("A3", "C1"), ("A3", "C2")))
    assert (rates["wins"][0].value, rates["wins"][0].n) == (6 / 8, 8) and rates["ties"][0].value == 2 / 8


def test_dilution() -> None:
    """Dimensions move by 2 and by -2 in turn, the overall by 0: everything is hidden; moving alike, nothing is."""
    plain, moved = {d: 5.0 for d in DIMENSIONS}, dict(zip(DIMENSIONS, (7.0, 3.0, 7.0, 3.0, 7.0), strict=True))
    rows = [("i0", "A3", d, s) for d, s in plain.items()] + [("i0", "B1", d, s) for d, s in moved.items()]
    rows += [("i0", "A3", "overall", 5.0), ("i0", "B1", "overall", 5.0)]
    data = pl.DataFrame(rows, orient="row", schema=["idea", "variant", "dimension", "score"])
    (found,) = style_grids(style_frame(data))
    assert style.adr(found, ("B1",))[0].value == 1.0
    assert style.adr(grid({"A3": [5.0], "B1": [6.0]}), ("B1",))[0].value == 0.0
    still = style.adr(grid({"A3": [5.0], "B1": [5.0]}), ("B1",))[0]
    assert still.value is None and still.reason


def test_ranks_and_top_k() -> None:
    plain = [float(v) for v in range(12)]
    found = grid({"A3": plain, "B1": plain[::-1], "B2": plain, "B3": [1.0] * 12})
    assert np.nanmean(style_ranks.rank_shifts(found, "B1")) == pytest.approx(6.0)
    assert np.nanmean(style_ranks.rank_shifts(found, "B2")) == 0.0
    change = style_ranks.top_k_change(found, "B1")
    assert change[5].value == 1.0 and change[10].value == pytest.approx(0.2) and change[20].value is None
    assert style_ranks.top_k_change(found, "B2")[5].value == 0.0
    tied = style_ranks.top_k_change(found, "B3")[5]
    assert 0.4 < tied.value < 0.75 and "tied_edge" in tied.flags
    flat = grid({"A3": [3.0] * 12, "B1": [7.0] * 12})
    assert style_ranks.top_k_change(flat, "B1")[5].value == 0.0


def judge(seed: int, ideas: int = 20) -> dict[str, list[float | None]]:
    generator = np.random.default_rng(seed)
    quality = generator.normal(6, 1, ideas)
    return {v: np.clip(np.rint(quality + generator.normal(0, 1, ideas)), 1, 10).tolist() for v in VARIANTS}


def test_document_aggregates_with_equal_weight_and_names_judges() -> None:
    parts = [frame(judge(1), configuration="a", context="none"), frame(judge(2), configuration="a", context="pool"),
             frame(judge(3), configuration="b", context="none")]
    document = style_json(pl.concat(parts), draws=200)
    text = json.dumps(document, allow_nan=False)
    assert "NaN" not in text
    a, b = document["configurations"]["a"], document["configurations"]["b"]
    assert a["sbi"]["value"] == pytest.approx(np.mean([c["sbi"]["value"] for c in a["contexts"].values()]))
    assert document["aggregate"]["judges"] == ["a", "b"]
    assert document["aggregate"]["srr"]["value"] == pytest.approx((a["srr"]["value"] + b["srr"]["value"]) / 2)
    (pair,) = document["agreement"]
    assert (pair["first"], pair["second"], pair["context"]) == ("a", "b", "none")
    assert -1 <= pair["spearman"]["value"] <= 1
    number = b["sbi"]
    assert number["low"] < number["value"] < number["high"] and number["standard_error"] > 0
    alone = style_json(parts[2], draws=200)["configurations"]["b"]
    assert alone["sbi"] == number


def test_collapse_is_flagged() -> None:
    document = style_json(frame({v: [6.0] * 8 for v in VARIANTS}), draws=50)["configurations"]["judge"]
    assert document["contexts"]["none"]["collapsed"] is True and document["srr"]["value"] == 0.0
    assert document["srr_ties"]["value"] == 1.0 and document["sbi"]["low"] == 0.0
    lively = style_json(frame(judge(1)), draws=50)["configurations"]["judge"]
    assert lively["contexts"]["none"]["collapsed"] is False


@pytest.mark.parametrize(("column", "value", "words"), [
    ("variant", "A9", "'A9' is not one of A1"), ("dimension", "taste", "'taste' is not one of novelty"),
    ("score", "high", "'high' is not a number"), ("idea", "", "is empty"),
])
def test_out_of_place_labels(column: str, value: str, words: str) -> None:
    cells = {"idea": ["x", "x"], "variant": ["A3", "B1"], "dimension": ["overall"] * 2, "score": ["5", "6"]}
    cells[column][1] = value
    data = pl.DataFrame({ROW: [2, 3], **cells})
    with pytest.raises(InputError) as caught:
        style_frame(data, "style.csv")
    assert f"style.csv: row 3, column '{column}'" in str(caught.value) and words in str(caught.value)


def test_only_overall_scores_still_give_rates() -> None:
    data = frame(judge(1)).filter(pl.col("dimension") == "overall")
    document = style_json(data, draws=50)["configurations"]["judge"]
    assert document["sbi"]["value"] is None and document["sbi"]["reason"] and document["srr"]["value"] is not None
