"""The named analyses: each on small frames whose answer is known by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from pydantic import TypeAdapter, ValidationError

from storage.results import Estimate
from tasks.metrics.analyses import comparing, fusing, repeating, separation
from tasks.metrics.analyses.result import Analysis
from tasks.metrics.analyses.spec import AnalysisSpec, configurations_of

DRAWS = (300, 7)


def spec(kind: str, **fields):  # type: ignore[no-untyped-def]
    return TypeAdapter(AnalysisSpec).validate_python({"name": "n", "kind": kind, **fields})


def frame(**configurations: dict[str, list[float | None]]) -> pl.DataFrame:
    """Configuration -> version -> score by family."""
    rows = [(name, f"f{place}", version, score) for name, versions in configurations.items()
            for version, scores in versions.items() for place, score in enumerate(scores)]
    return pl.DataFrame(rows, schema=["configuration", "family", "version", "score"], orient="row")


def value(analysis: Analysis, label: str, column: str) -> float | None:
    row = next(row for row in analysis.rows if row.label == label)
    found = row.values[analysis.columns.index(column)]
    assert isinstance(found, Estimate)
    return found.value


M = {"original": [4.0, 6.0, 8.0, 5.0], "joint/a": [6.0, 8.0, 9.0, 7.0]}
B = {"original": [3.0, 5.0, 8.0, 6.0], "joint/a": [3.0, 5.0, 8.0, 6.5]}


def test_the_sweep_goes_from_the_core_to_the_manuscript_and_is_linear_in_mad() -> None:
    wanted = spec("alpha_sweep", manuscript="m", core="b", steps=3)
    found = fusing.alpha_sweep(wanted, frame(m=M, b=B), {"f0": 4.0}, DRAWS)
    mads = [value(found, f"α = {alpha}", "mad") for alpha in ("0", "0.5", "1")]
    assert mads == pytest.approx([0.125, (1 + 1 + 0.5 + 1.25) / 4, 1.75])
    assert value(found, "α = 1", "human_mae") == 0.0
    assert [len(panel.lines[0].points) for panel in found.panels][:2] == [3, 3]
    assert all(panel.lines[0].is_joined for panel in found.panels)


def test_only_cells_that_both_answered_are_fused() -> None:
    lacking = {**B, "joint/a": [None, 5.0, 8.0, 6.5]}
    found = fusing.alpha_sweep(spec("alpha_sweep", manuscript="m", core="b", steps=2), frame(m=M, b=lacking), {}, DRAWS)
    assert value(found, "α = 1", "mad") == pytest.approx((2 + 1 + 2) / 3)
    nothing = fusing.alpha_sweep(spec("alpha_sweep", manuscript="m", core="b"), frame(m=M), {}, DRAWS)
    assert nothing.reason == fusing.NOTHING and nothing.rows == []


def test_the_equal_average_is_a_judge_of_its_own() -> None:
    found = fusing.equal_average(spec("equal_average", configurations=["m", "b"]), frame(m=M, b=B), {}, DRAWS)
    assert value(found, "the equal average", "mad") == pytest.approx((1 + 1 + 0.5 + 1.25) / 4)
    assert [row.label for row in found.rows] == ["the equal average", "m", "b"]


def test_a_backbone_without_answers_is_shown_as_missing() -> None:
    found = fusing.backbones(spec("backbones", configurations=["m", "z"]), frame(m=M), {}, DRAWS)
    assert value(found, "m", "mad") == 1.75 and value(found, "z", "mad") is None


def test_criteria_are_judges_of_their_own_and_missing_ones_are_left_out() -> None:
    scores = pl.concat([frame(m=M).with_columns(dimension=pl.lit("soundness")),
                        frame(m=B).with_columns(dimension=pl.lit("confidence"))])
    found = comparing.criteria(spec("criteria", configurations=["m"]), scores, DRAWS)
    assert [row.values[0] for row in found.rows] == ["soundness", "confidence"]
    assert isinstance(found.rows[0].values[1], Estimate) and found.rows[0].values[1].value == 1.75


def test_pairs_are_compared_on_the_same_draws_and_corrected_together() -> None:
    wanted = spec("paired", pairs=[["m", "b"], ["b", "z"]], metrics=["mad", "discriminability"])
    found = comparing.paired(wanted, frame(m=M, b=B), {}, DRAWS)
    assert [(row.label, row.values[0]) for row in found.rows] == [("m − b", "mad"), ("m − b", "discriminability")]
    difference = found.rows[0].values[1]
    assert isinstance(difference, Estimate) and difference.value == pytest.approx(1.625)
    assert difference.low is not None and difference.low > 0
    single, corrected = (found.rows[0].values[place] for place in (2, 3))
    assert isinstance(single, float) and isinstance(corrected, float) and corrected >= single > 0


def repeated(*parts: dict[str, list[float | None]]) -> pl.DataFrame:
    return pl.concat([frame(m=part).with_columns(repeat=pl.lit(number)) for number, part in enumerate(parts)])


def test_the_spread_between_repeats_is_pooled_and_one_repeat_says_so() -> None:
    other = {"original": [4.0, 6.0, 8.0, 5.0], "joint/a": [8.0, 8.0, 9.0, 7.0]}
    found = repeating.repeats(spec("repeats", configurations=["m"]), repeated(M, other), {}, DRAWS)
    spread, same = found.rows[0].values[1:3]
    assert isinstance(spread, Estimate) and spread.value == pytest.approx((2.0 / 8) ** 0.5)
    assert isinstance(same, Estimate) and (same.value, same.n) == (7 / 8, 8)
    assert [row.values[0] for row in found.rows] == ["all", "repeat 0", "repeat 1"]
    once = repeating.repeats(spec("repeats", configurations=["m"]), repeated(M), {}, DRAWS)
    assert isinstance(once.rows[0].values[1], Estimate) and once.rows[0].values[1].reason == repeating.ONE_REPEAT


def test_effects_that_come_back_correlate() -> None:
    base = [4.0, 6.0, 8.0]
    shifts = {"joint/a": 1.0, "joint/b": 2.0, "novelty_stance/a": 0.0, "null_repeat": 9.0}
    part = {"original": base, **{label: [score + shift for score in base] for label, shift in shifts.items()}}
    doubled = {label: [score * 2 for score in scores] for label, scores in part.items()}
    reversed_ = {"original": base, **{label: [score - shift for score in base] for label, shift in shifts.items()}}
    wanted = spec("condition_effects", configurations=["m"])
    for parts, expected in (((part, doubled), 1.0), ((part, reversed_), -1.0), ((part,), None)):
        found = repeating.condition_effects(wanted, repeated(*parts))
        last = found.rows[-1].values[2]
        assert isinstance(last, Estimate)
        assert last.value == (None if expected is None else pytest.approx(expected))
        assert [row.values[0] for row in found.rows[:-1]] == ["joint", "joint", "novelty_stance"]


def test_records_of_one_paper_are_matched_and_of_two_crossed() -> None:
    vectors = {(f"f{place}", version): np.eye(3)[place] for place in range(3) for version in ("original", "joint/a")}
    found = separation.separation(spec("embedding_separation", configuration="c"), vectors)
    matched, crossed, gap, closer = found.rows[0].values
    assert isinstance(matched, Estimate) and isinstance(crossed, Estimate) and isinstance(gap, Estimate)
    assert (matched.value, crossed.value, gap.value, closer) == (1.0, 0.0, 1.0, 1.0)
    assert (matched.n, crossed.n) == (3, 6)
    same = {key: np.ones(3) for key in vectors}
    assert separation.separation(spec("embedding_separation", configuration="c"), same).rows[0].values[3] == 0.5
    alone = {key: vector for key, vector in vectors.items() if key[0] == "f0"}
    assert separation.separation(spec("embedding_separation", configuration="c"), alone).reason is not None


def test_local_embeddings_are_unit_vectors_that_know_their_like() -> None:
    texts = ["counting small keywords in noisy rooms", "counting small keywords in a noisy room",
             "stars of far galaxies", ""]
    vectors = separation.local_embeddings(texts)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1, 0])
    cosines = vectors @ vectors.T
    assert cosines[0, 1] > 0.4 > cosines[0, 2]


def test_specs_name_their_configurations_and_refuse_what_they_do_not_know() -> None:
    assert configurations_of(spec("paired", pairs=[["a", "b"], ["b", "c"]])) == ("a", "b", "c")
    assert configurations_of(spec("alpha_sweep", manuscript="a", core="b")) == ("a", "b")
    assert configurations_of(spec("embedding_separation", configuration="a")) == ("a",)
    for wrong in ({"kind": "paired", "pairs": [["a", "b"]], "metrics": ["luck"]}, {"kind": "guess"},
                  {"kind": "embedding_separation", "configuration": "a", "endpoint": "e"}):
        with pytest.raises(ValidationError):
            spec(**wrong)
