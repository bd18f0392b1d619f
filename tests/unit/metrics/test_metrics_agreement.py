"""Agreement of raters against worked examples, and against definitions written out."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.metrics.agreement import agreement, cohen_kappa, fleiss_kappa, krippendorff_alpha, majorities

# A worked example with three raters and gaps that is in wide use: nominal alpha 0.691 (0.811 for intervals).
KRIPPENDORFF = {
    "A": "* * * * * 3 4 1 2 1 1 3 3 * 3",
    "B": "1 * 2 1 3 3 4 3 * * * * * * *",
    "C": "* * 2 1 3 4 4 * 2 1 1 3 3 * 4",
}
# Fleiss' example (1971): 10 subjects, 14 raters, 5 categories: kappa 0.210.
FLEISS = [
    (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
    (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
]


def test_alpha_of_a_worked_example() -> None:
    columns = list(zip(*(row.split() for row in KRIPPENDORFF.values()), strict=True))
    items = [[value for value in column if value != "*"] for column in columns]
    assert krippendorff_alpha([item for item in items if len(item) >= 2]) == pytest.approx(0.691, abs=5e-4)


def test_fleiss_example() -> None:
    items = [[kind for kind, count in enumerate(row) for _ in range(count)] for row in FLEISS]
    assert fleiss_kappa(items) == pytest.approx(0.210, abs=5e-4)


def test_cohens_kappa_of_a_two_by_two_table() -> None:
    pair = [(1, 1)] * 20 + [(1, 0)] * 5 + [(0, 1)] * 10 + [(0, 0)] * 15
    assert cohen_kappa(pair) == pytest.approx(0.4)


def test_majority_needs_more_than_half() -> None:
    verdicts = {"a": {"x": True, "y": True, "z": False}, "b": {"x": True, "y": False}, "c": {}, "d": {"x": False}}
    assert majorities(verdicts) == {"a": True, "b": None, "c": None, "d": False}


def test_undefined_measures_have_reasons() -> None:
    all_same = agreement({name: {"x": 1, "y": 1} for name in "abcdef"})
    assert (all_same.pairwise.value, all_same.alpha.value, all_same.alpha.reason) == (1.0, None, "no_variance")
    assert all_same.fleiss.reason == all_same.cohen.reason == "no_variance"
    assert agreement({"a": {"x": 1}}).pairwise.reason == "one_rater"
    assert agreement({"a": {"x": 1}, "b": {"y": 1}}).alpha.reason == "no_common_items"


def test_pairwise_is_the_mean_over_pairs_of_raters() -> None:
    found = agreement({"a": {"x": 1, "y": 1, "z": 0}, "b": {"x": 1, "y": 1}})
    assert found.pairwise.value == pytest.approx((1 + 0 + 0) / 3)
    assert found.pairwise.flags == ["few"] and found.items == 2


@given(st.lists(st.lists(st.integers(0, 2), min_size=2, max_size=5), min_size=2, max_size=12))
def test_alpha_is_what_its_definition_says(items: list[list[int]]) -> None:
    pooled = [value for item in items for value in item]
    within = sum(
        sum(left != right for left, right in itertools.permutations(item, 2)) / (len(item) - 1) for item in items
    ) / len(pooled)
    between = sum(left != right for left, right in itertools.permutations(pooled, 2))
    between /= len(pooled) * (len(pooled) - 1)
    found = krippendorff_alpha(items)
    assert found is None if between == 0 else found == pytest.approx(1 - within / between)
