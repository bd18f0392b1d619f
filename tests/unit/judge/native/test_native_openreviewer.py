"""OpenReviewer: one greedy call with the form, the paper without its appendix, two readings of the rating."""

from __future__ import annotations

import pytest

from storage.vocabulary import Outcome
from tasks.judge.native.openreviewer import native_rating
from tests.unit.judge.native.conftest import Desk

REVIEW = """# Review

## Summary
Counts.

## Soundness
3 good

## Presentation
2

## Contribution
2 fair

## Strengths
Of 4 claims 3 hold.

## Rating
{rating}

## Confidence
4
"""


def test_it_asks_once_greedily_with_system_and_user_and_no_appendix(desk: Desk) -> None:
    judgement = desk.review("openreviewer", [REVIEW.format(rating="6: marginally above")])
    (body,) = desk.bodies
    assert (body["temperature"], body["top_p"], body["max_tokens"]) == (0, 0.9, 4096)
    assert [turn["role"] for turn in body["messages"]] == ["system", "user"]
    user = body["messages"][1]["content"]
    assert "## 1 Introduction" in user and "### 2.1 Details" in user and "[1] Counting, 2017." in user
    assert "appendix proves" not in user
    assert judgement.scores == {"overall": 6, "soundness": 3, "presentation": 2, "contribution": 2, "confidence": 4}
    assert judgement.flags == ["own_prompt"]
    assert judgement.parser == "openreviewer/fixed/1"


def test_the_users_prompt_is_sent_as_it_is_and_is_another_question(desk: Desk) -> None:
    desk.review("openreviewer", [REVIEW.format(rating=6)])
    judgement = desk.review("openreviewer", [REVIEW.format(rating=8)], prompt="The very words.\n")
    assert desk.bodies[1]["messages"][0]["content"] == "The very words.\n"
    assert (judgement.scores["overall"], judgement.flags) == (8, [])


def test_ten_is_one_as_released_and_ten_when_mended(desk: Desk) -> None:
    native = desk.review("openreviewer", [REVIEW.format(rating=10)], parser="native")
    assert native.scores == {"overall": 1}
    fixed = desk.review("openreviewer", [REVIEW.format(rating=10)])
    assert fixed.scores["overall"] == 10
    # One answer serves both readings: the parser is part of a judgement's key and of no call's.
    assert len(desk.bodies) == 1


def test_without_a_rating_the_release_says_five_and_we_ask_again_and_say_nothing(desk: Desk) -> None:
    without = REVIEW.replace("## Rating\n{rating}\n", "")
    native = desk.review("openreviewer", [without], parser="native")
    assert (native.scores, native.flags) == ({"overall": 5}, ["default_score", "own_prompt"])
    fixed = desk.review("openreviewer", lambda body: without)
    assert (fixed.outcome, fixed.reason, fixed.scores) == (Outcome.unparsable, "no_rating", {})
    assert len(desk.bodies) == 1 + desk.endpoint.attempts


@pytest.mark.parametrize(("rating", "outcome"), [
    ("7", Outcome.out_of_range), ("7,5", Outcome.unparsable), ("1-10", Outcome.unparsable), ("N/A", Outcome.unparsable),
    ("-1", Outcome.unparsable), ("**8: accept**", Outcome.answered), ("3", Outcome.answered),
])
def test_only_a_legal_labelled_rating_is_a_score(desk: Desk, rating: str, outcome: Outcome) -> None:
    assert desk.review("openreviewer", lambda body: REVIEW.format(rating=rating)).outcome is outcome


def test_the_released_reading_needs_a_heading_that_starts_with_rating() -> None:
    assert native_rating("Rating: 8") == (5.0, ["default_score"])
    assert native_rating("### rating (1-10): 8") == (1.0, [])
