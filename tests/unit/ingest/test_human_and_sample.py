"""Human scores and the stratified sample."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.errors import InputError
from tasks.ingest.human import read_human_scores
from tasks.ingest.sample import sample

STRATA = [1, 3, 4, 5, 6, 7, 8.5]


def scores_of(tmp_path: Path, text: str | bytes) -> dict[str, float]:
    path = tmp_path / "human.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return {row.family: row.score for row in read_human_scores(path)}


def test_zero_is_a_score_and_names_stay_text(tmp_path: Path) -> None:
    text = '\ufefffamily,score\r\n2401.00010,0\n007,4.5\n"a, b",6\nempty,\n\n'
    assert scores_of(tmp_path, text) == {"2401.00010": 0.0, "007": 4.5, "a, b": 6.0}


def test_columns_in_the_other_order(tmp_path: Path) -> None:
    assert scores_of(tmp_path, "score,family\n3,a\n") == {"a": 3.0}


@pytest.mark.parametrize(
    "text, said",
    [
        ("family,score\na,good\n", r"human\.csv, row 2: the score 'good' is not a number"),
        ("family,score\na,nan\n", r"row 2: the score 'nan'"),
        ("family,score\na,inf\n", r"row 2"),
        ("family,score\na,1_0\n", r"row 2"),
        ("family,score\na,1\na,2\n", r"row 3: the family a is in row 2 already"),
        ("family,score\n,2\n", r"row 2: the family is empty"),
        ("family,score\na,1,2\n", r"row 2: it has 3 cells"),
        ("family,score,extra\na,1,2\n", r"row 1: the columns must be family,score"),
        ("name,score\na,1\n", r"row 1"),
        ("", r"row 1"),
        (b"family,score\n\xff,1\n", r"not UTF-8"),
        ('family,score\n"a,1\n', r"not CSV"),
    ],
)
def test_errors_name_file_and_row(tmp_path: Path, text: str | bytes, said: str) -> None:
    with pytest.raises(InputError, match=said):
        scores_of(tmp_path, text)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_human_scores(tmp_path / "none.csv")


def test_strata_are_half_open_and_the_last_is_closed() -> None:
    scores = {"a": 1.0, "b": 3.0, "c": 7.0, "d": 8.5, "low": 0.0, "high": 9.0}
    drawn = sample([*scores, "none"], scores, strata=STRATA, per_stratum=10, seed=42)
    assert [stratum.drawn for stratum in drawn.strata] == [("a",), ("b",), (), (), (), ("c", "d")]
    assert [stratum.shortfall for stratum in drawn.strata] == [9, 9, 10, 10, 10, 8]
    assert (drawn.outside, drawn.unscored) == (("high", "low"), ("none",))


@given(st.dictionaries(st.text(min_size=1, max_size=5), st.floats(0, 10), max_size=60), st.integers(0, 5), st.randoms())
def test_the_draw_depends_on_names_scores_and_seed_alone(scores: dict[str, float], seed: int, random: object) -> None:
    names = list(scores)
    first = sample(names, scores, strata=STRATA, per_stratum=3, seed=seed)
    random.shuffle(names)  # type: ignore[attr-defined]
    assert sample(names, scores, strata=STRATA, per_stratum=3, seed=seed) == first
    assert all(len(stratum.drawn) == min(3, stratum.available) for stratum in first.strata)
    kept = [stratum for stratum in first.strata if stratum.low == 5]
    fewer = {name: score for name, score in scores.items() if 5 <= score < 6}
    assert [s for s in sample(list(fewer), fewer, strata=STRATA, per_stratum=3, seed=seed).strata if s.low == 5] == kept


def test_another_seed_draws_others() -> None:
    scores = {f"p{number}": 5.5 for number in range(100)}
    first, second = (sample(list(scores), scores, strata=STRATA, per_stratum=10, seed=seed) for seed in (1, 2))
    assert first.families != second.families


@pytest.mark.parametrize("strata", [[1], [3, 1], [1, 1]])
def test_edges_must_rise(strata: list[float]) -> None:
    with pytest.raises(InputError, match="must rise"):
        sample(["a"], {"a": 1.0}, strata=strata, per_stratum=1, seed=0)
