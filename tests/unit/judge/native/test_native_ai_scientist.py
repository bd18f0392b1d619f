"""The AI Scientist's reviewer: ensemble, meta-review, rounded means, reflections."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from storage.vocabulary import Outcome
from tasks.judge.native.ai_scientist import BOUNDS, extract
from tasks.judge.protocols import Configuration
from tests.unit.judge.native.conftest import Desk


def review(overall: Any, decision: str = "Reject", **more: Any) -> str:
    fields: dict[str, Any] = {"Summary": "s", "Strengths": [], "Weaknesses": [], **dict.fromkeys(BOUNDS, 3),
                              "Overall": overall, "Decision": decision, **more}
    return f"THOUGHT:\nHm {{so}}.\n\nREVIEW JSON:\n```json\n{json.dumps(fields)}\n```"


def recipe(*ratings: Any, meta: str = review(9, "Accept"), rounds: tuple[str, ...] = ()) -> list[str]:
    return [*(review(rating) for rating in ratings), meta, *rounds]


DONE = "THOUGHT:\nI am done.\n\nREVIEW JSON:\n```json\n{}\n```"


def test_the_published_recipe_is_five_reviews_a_meta_review_and_four_reflections(desk: Desk) -> None:
    rounds = (review(5), review(5), review(5), review(4, "Accept"))
    judgement = desk.review("ai_scientist", recipe(4, 5, 6, 6, 7, rounds=rounds))
    assert len(desk.bodies) == len(judgement.call_keys) == len(judgement.attempt_ids) == 10
    draws, meta, turns = desk.bodies[:5], desk.bodies[5], desk.bodies[6:]
    assert {body["temperature"] for body in draws} == {0.75}
    assert [body["seed"] for body in draws] == [0, 1, 2, 3, 4]
    assert {body["max_tokens"] for body in desk.bodies} == {4096}
    assert {body["temperature"] for body in [meta, *turns]} == {0.1}
    assert len({json.dumps(body["messages"]) for body in draws}) == 1
    # The area chair sees the reviews and not the paper.
    assert "5 reviewers" in meta["messages"][0]["content"]
    assert "Counting matters" not in meta["messages"][1]["content"]
    assert '"Overall": 7' in meta["messages"][1]["content"]
    # Reflections go on from the first review's conversation, with the aggregate in place of its answer.
    assert turns[0]["messages"][:2] == draws[0]["messages"]
    assert '"Overall": 6' in turns[0]["messages"][2]["content"]
    assert [len(body["messages"]) for body in turns] == [4, 6, 8, 10]
    assert (judgement.scores["overall"], judgement.scores["decision"]) == (4, 1)


def test_numbers_are_rounded_means_and_the_decision_is_the_meta_reviews(desk: Desk) -> None:
    judgement = desk.review("ai_scientist", recipe(4, 5, 85, "7", meta=review(9, "Accept", Soundness=1)),
                            ensemble=4, reflections=1)
    # 85 is beyond its limit and "7" is no number: the mean of 4 and 5 is 4.5, and half goes to the even number.
    assert judgement.scores["overall"] == 4
    assert (judgement.scores["soundness"], judgement.scores["decision"]) == (3, 1)


def test_a_review_without_json_is_dropped_and_a_meta_review_without_it_replaced(desk: Desk) -> None:
    answers = [review(6), "I would rather not.", review(8), "Too hard to say."]
    judgement = desk.review("ai_scientist", answers, ensemble=3, reflections=1)
    assert judgement.scores["overall"] == 7
    assert judgement.flags == ["no_meta_review", "reviews_2"]
    assert "2 reviewers" in desk.bodies[3]["messages"][0]["content"]


def test_reflection_stops_early_when_it_is_done(desk: Desk) -> None:
    done = review(5, "Reject").replace("Hm", "I am done")
    desk.review("ai_scientist", recipe(5, 5, rounds=(done,)), ensemble=2)
    assert len(desk.bodies) == 4


def test_a_reflection_without_json_ends_it_as_released_and_changes_nothing_when_mended(desk: Desk) -> None:
    answers = [review(6), "Nothing to add."]
    native = desk.review("ai_scientist", answers, ensemble=1, reflections=2, parser="native")
    assert (native.outcome, native.reason, native.scores) == (Outcome.unparsable, "reflection_without_json", {})
    fixed = desk.review("ai_scientist", ["Nothing to add."], ensemble=1, reflections=2)
    assert fixed.scores["overall"] == 6
    assert "reflection_without_json" in fixed.flags


def test_round_counters_are_sent_unfilled_as_released(desk: Desk) -> None:
    for parser, said in (("native", "Round {current_round}/{num_reflections}."), ("fixed", "Round 2/2.")):
        desk.review("ai_scientist", [review(6), review(6)][-1 if parser == "fixed" else 0:], ensemble=1, reflections=2,
                    parser=parser)
        assert desk.bodies[-1]["messages"][-1]["content"].startswith(said)


def test_a_number_no_review_has_ends_it_as_released(desk: Desk) -> None:
    answers = [review(6, Clarity="good"), review(6, Clarity=None), review(6)]
    native = desk.review("ai_scientist", answers, ensemble=2, reflections=1, parser="native")
    assert (native.outcome, native.reason) == (Outcome.unparsable, "no_clarity_in_any_review")
    fixed = desk.review("ai_scientist", answers, ensemble=2, reflections=1)
    assert fixed.scores["overall"] == 6
    assert len(desk.bodies) == 3


@pytest.mark.parametrize(("overall", "outcome"), [
    (85, Outcome.out_of_range), (None, Outcome.unparsable), (True, Outcome.unparsable), ("7", Outcome.unparsable),
    (7.5, Outcome.answered),
])
def test_only_a_number_within_limits_is_a_score(desk: Desk, overall: Any, outcome: Outcome) -> None:
    judgement = desk.review("ai_scientist", [review(overall)], ensemble=1, reflections=1)
    assert judgement.outcome is outcome and bool(judgement.scores) == (outcome is Outcome.answered)


def test_no_valid_review_is_no_score(desk: Desk) -> None:
    judgement = desk.review("ai_scientist", ["no", "no"], ensemble=2)
    assert (judgement.outcome, judgement.reason) == (Outcome.unparsable, "no_valid_review")


def test_json_is_the_first_fence_that_loads_or_the_first_braces() -> None:
    assert extract('```json\n{bad\n```\n```json\n{"Overall": 5}\n```') == {"Overall": 5}
    assert extract('Sure: {"Overall": 5} or {"Overall": 6}') == {"Overall": 5}
    assert extract('```json\n{"Summary": "a\tb", "Overall": 5}\n```') == {"Summary": "ab", "Overall": 5}
    assert extract("nothing") is None


def test_the_stance_and_the_users_examples_are_shown_and_repeats_are_other_draws(desk: Desk) -> None:
    examples = json.dumps([{"paper": "PAPER ONE", "review": "REVIEW ONE"}, {"paper": "TWO", "review": "TWO"}])
    desk.review("ai_scientist", lambda body: review(6), ensemble=2, reflections=1, stance="pos", fewshot=examples,
                repeats=2)
    system, user = desk.bodies[0]["messages"]
    assert "give high scores" in system["content"]
    places = [user["content"].index(words) for words in ("PAPER ONE", "REVIEW ONE", "On Counting")]
    assert places == sorted(places)
    assert "TWO" not in user["content"]
    assert {body["seed"] for body in desk.bodies if body["temperature"] == 0.75} == {0, 1, 2, 3}


@pytest.mark.parametrize(("options", "said"), [
    ({"ensemble": 0}, "options.ensemble of ai_scientist"), ({"fewshot": "{}"}, "needs a list"),
    ({"colour": 1}, "colour"),
])
def test_wrong_options_are_refused_by_name(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Configuration(name="x", endpoint="e", model="m", protocol="ai_scientist", options=options)
    with pytest.raises(ValidationError, match="takes no options"):
        Configuration(name="x", endpoint="e", model="m", protocol="standard", options={"a": 1})
