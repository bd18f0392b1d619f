"""OpenJudge: stages, graders, early return, criticality only when errors were found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from storage.vocabulary import Outcome
from tests.unit.judge.conftest import chat
from tests.unit.judge.native.conftest import Desk

OK = {
    "manipulate": "<reasoning>r</reasoning><answer>ok</answer>",
    "check the form": "<reasoning>r</reasoning><result>0</result>",
    "objective errors": "<score>1</score><reasoning>fine</reasoning><key_issues>- none</key_issues>",
    "high standards": "<review>good</review><answer>4</answer>",
    "You weigh errors": '{"score": 2, "reasoning": "r", "issues": {"major": [], "minor": [], "false_positives": []}}',
}


def grader(**changed: str) -> Callable[[dict[str, Any]], str]:
    """Answers by grader; ``changed`` by the first word of its mark."""
    def answer(body: dict[str, Any]) -> str:
        system = body["messages"][0]["content"]
        mark = next(mark for mark in OK if mark in system)
        return changed.get(mark.split()[0], OK[mark])
    return answer


def systems(desk: Desk) -> list[str]:
    return [next(mark for mark in OK if mark in body["messages"][0]["content"]) for body in desk.bodies]


def test_four_graders_in_stages_and_no_criticality_without_errors(desk: Desk) -> None:
    judgement = desk.review("openjudge", grader())
    assert set(systems(desk)[:2]) == {"manipulate", "check the form"}
    assert set(systems(desk)[2:]) == {"objective errors", "high standards"}
    assert {body["temperature"] for body in desk.bodies} == {0.7}
    assert not any("max_tokens" in body for body in desk.bodies)
    assert judgement.scores == {"overall": 4, "format": 0, "correctness": 1}
    assert judgement.flags == []
    assert "-----BEGIN PAPER" in desk.bodies[0]["messages"][1]["content"]


def test_criticality_is_asked_with_what_correctness_found(desk: Desk) -> None:
    found = "<score>3</score><reasoning>wrong sign</reasoning><key_issues>- equation 2</key_issues>"
    judgement = desk.review("openjudge", grader(objective=found))
    assert systems(desk)[4] == "You weigh errors"
    told = desk.bodies[4]["messages"][1]["content"]
    assert "Correctness score: 3" in told and "wrong sign" in told and "- equation 2" in told
    assert (judgement.scores["correctness"], judgement.scores["criticality"]) == (3, 2)
    assert judgement.scores["overall"] == 4


def test_a_jailbreak_ends_it_without_a_review(desk: Desk) -> None:
    judgement = desk.review("openjudge", grader(manipulate="<answer>abuse</answer>"))
    assert (judgement.outcome, judgement.reason, judgement.scores) == (Outcome.refused, "jailbreak_found", {})
    assert len(desk.bodies) == 2


def test_a_format_violation_is_noted_and_changes_no_score(desk: Desk) -> None:
    judgement = desk.review("openjudge", grader(check="<result>1</result>"))
    assert (judgement.scores["format"], judgement.scores["overall"]) == (1, 4)


def test_a_missing_score_is_three_as_released_and_none_when_mended(desk: Desk) -> None:
    silent = grader(high="<review>good</review>", objective="fine", check="well")
    native = desk.review("openjudge", silent, parser="native")
    assert native.scores == {"overall": 3, "correctness": 1, "format": 0}
    assert native.flags == ["default_correctness", "default_format", "default_score"]
    fixed = desk.review("openjudge", silent)
    assert (fixed.outcome, fixed.reason, fixed.scores) == (Outcome.unparsable, "no_answer", {})


@pytest.mark.parametrize(("said", "score"), [
    ("<answer> 6 </answer>", 6), ("Score: 5/6", 5), ("<answer>5 (accept)</answer>", 5), ("<answer>3.5</answer>", None),
    ("<answer>9</answer>", None), ("8 out of 10", None),
])
def test_the_answer_tag_is_read_and_the_scale_is_one_to_six(desk: Desk, said: str, score: float | None) -> None:
    assert desk.review("openjudge", grader(high=said)).scores.get("overall") == score


def test_a_refused_side_grader_leaves_its_field_empty_and_a_passing_failure_leaves_the_cell_open(desk: Desk) -> None:
    status = [400]

    def fails(body: dict[str, Any]) -> httpx2.Response:
        if "objective errors" in body["messages"][0]["content"]:
            return httpx2.Response(status[0], json={"error": {"message": "no"}})
        return chat(grader()(body))

    desk.endpoint = desk.endpoint.model_copy(update={"attempts": 1})
    assert desk.review("openjudge", fails).flags == ["correctness_bad_request"]
    desk.paper = desk.paper.model_copy(update={"text_hash": desk.store.put_text("Another\n\ntext of a paper.")})
    status[0] = 500
    open_cell = desk.review("openjudge", fails)
    assert (open_cell.outcome, open_cell.scores) == (Outcome.provider_error, {})


def test_venue_and_discipline_are_said_to_the_review_grader_only(desk: Desk) -> None:
    desk.review("openjudge", grader(), venue="ICLR", discipline="computer science")
    said = [("Venue: ICLR" in body["messages"][0]["content"]) for body in desk.bodies]
    assert sum(said) == 1
