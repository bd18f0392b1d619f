"""DeepReviewer: three modes, boxes, the literature between two calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from storage.records import Step
from storage.vocabulary import Outcome
from tasks.judge.native import retrieval
from tasks.judge.native.deepreviewer import boxed, native_questions
from tasks.judge.native.retrieval import RETRIEVERS, Found
from tests.unit.judge.native.conftest import Desk


def box(rating: str = "5.75", decision: str = "Reject") -> str:
    fields = {"Summary": "s", "Soundness": "2.75", "Presentation": "3", "Contribution": "2.5", "Strengths": "a {b} c",
              "Weaknesses": "w", "Suggestions": "u", "Questions": "q", "Rating": rating, "Confidence": "3.5",
              "Decision": decision}
    return "\\boxed_review{\n" + "".join(f"## {name}:\n\n{value}\n\n" for name, value in fields.items()) + "\n}\n"


def simulated(*ratings: str) -> str:
    fields = "### Summary\n\ns\n\n### Rating\n\n{}\n\n### Confidence\n\n3\n\n**********\n"
    chunks = [f"## Reviewer {place}\n\n{fields.format(rating)}" for place, rating in enumerate(ratings, 1)]
    return "\\boxed_simreviewers{\n" + "".join(chunks) + "\n}\n\\boxed_verification{\nchecked\n}\n"


STEP_ONE = ("Let me ask first.\n\\boxed_questions{\nWhat is counting?\nWho counted?\nWhy count?\n}\n"
            "\\boxed_analysis{\nI ask because.\n}\nPlease answer them.")


@pytest.mark.parametrize(("mode", "said"), [("fast", "Fast mode"), ("standard", "simulate 3 different reviewers")])
def test_one_call_whose_system_prompt_is_the_modes(desk: Desk, mode: str, said: str) -> None:
    judgement = desk.review("deepreviewer", ["Thinking.\n" + simulated("5", "6") + box()], mode=mode, reviewers=3)
    (body,) = desk.bodies
    assert (body["temperature"], body["top_p"], body["max_tokens"]) == (0.4, 0.95, 35000)
    assert said in body["messages"][0]["content"]
    assert body["messages"][1]["content"].startswith("\\documentclass")
    assert judgement.scores == {"overall": 5.75, "soundness": 2.75, "presentation": 3, "contribution": 2.5,
                                "confidence": 3.5, "decision": 0}


def test_the_final_rating_counts_and_not_the_mean_of_the_simulated(desk: Desk) -> None:
    for parser in ("native", "fixed"):
        scores = desk.review("deepreviewer", [simulated("1", "1") + box("8", "Accept")], parser=parser).scores
        assert (scores["overall"], scores["decision"]) == (8, 1)


def test_without_a_final_rating_only_the_mended_reading_finds_the_simulated_ones(desk: Desk) -> None:
    answer = simulated("5", "6", "6", "6") + box("not sure")
    native = desk.review("deepreviewer", [answer], parser="native")
    assert (native.outcome, native.scores) == (Outcome.unparsable, {})
    fixed = desk.review("deepreviewer", [answer])
    assert fixed.scores["overall"] == 5.75
    assert "mean_of_simulated" in fixed.flags


def test_the_release_reads_the_first_box_and_we_the_last(desk: Desk) -> None:
    answer = box("3") + "Wait, again.\n" + box("6")
    assert desk.review("deepreviewer", [answer], parser="native").scores["overall"] == 3
    assert desk.review("deepreviewer", [answer]).scores["overall"] == 6


def test_a_box_that_never_closes_and_a_rating_off_the_scale_are_no_scores(desk: Desk) -> None:
    assert desk.review("deepreviewer", lambda body: box().replace("}", "")).outcome is Outcome.unparsable
    desk.scripted.bodies.clear()
    judgement = desk.review("deepreviewer", lambda body: box("85"), reviewers=2)
    assert (judgement.outcome, judgement.scores) == (Outcome.out_of_range, {})


@pytest.fixture
def library() -> Iterator[list[list[str]]]:
    """A retriever in this process; what it was asked."""
    asked: list[list[str]] = []

    async def answer(questions: list[str]) -> list[Found]:
        asked.append(questions)
        return [Found(answer=f"answer to {question}", passages="a passage") for question in questions]

    RETRIEVERS["library"] = answer
    yield asked
    del RETRIEVERS["library"]


def test_best_mode_asks_the_literature_between_two_calls(desk: Desk, library: list[list[str]]) -> None:
    judgement = desk.review("deepreviewer", [STEP_ONE, simulated("6") + box("6.5")], mode="best", retrieval="library")
    assert library == [["What is counting?", "Who counted?", "Why count?"]]
    first, second = desk.bodies
    assert "ask the literature" in first["messages"][0]["content"]
    assert second["messages"][:2] == first["messages"]
    assert second["messages"][2] == {"role": "assistant", "content": STEP_ONE}
    told = second["messages"][3]["content"]
    assert told.index("What is counting?") < told.index("a passage") < told.index("answer to What is counting?")
    assert (judgement.scores["overall"], judgement.flags, len(judgement.call_keys)) == (6.5, ["own_prompt"], 2)


def test_the_release_takes_every_line_for_a_question(desk: Desk, library: list[list[str]]) -> None:
    desk.review("deepreviewer", [STEP_ONE, box()], mode="best", retrieval="library", parser="native")
    (asked,) = library
    assert asked == native_questions(STEP_ONE) and len(asked) == 10


def test_a_service_over_http_is_asked_once_and_its_failure_is_tolerated(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    status = [500]

    def serve(request: httpx2.Request) -> httpx2.Response:
        seen.append(request.content)
        result = {"output": "o", "final_passages": [{"text": "p1"}, "p2"]}
        return httpx2.Response(status[0], json={"results": [result] * 3})

    client = httpx2.AsyncClient
    monkeypatch.setattr(retrieval.httpx2, "AsyncClient",
                        lambda **more: client(transport=httpx2.MockTransport(serve), **more))
    options = {"mode": "best", "retrieval": "http://library.invalid/batch_ask"}
    failed = desk.review("deepreviewer", [STEP_ONE, box()], **options)
    assert failed.scores["overall"] == 5.75 and "no_retrieval" in failed.flags
    assert "Nothing was found." in desk.bodies[1]["messages"][3]["content"]
    assert [step.outcome for step in desk.store.load(Step)] == ["failed"]
    status[0] = 200
    found = desk.review("deepreviewer", [box("6")], **options, parser="native")
    assert "no_retrieval" not in found.flags and len(seen) == 2
    assert "### Retrieved Passages:\n\np1\n\np2" in desk.bodies[2]["messages"][3]["content"]
    assert seen[0] == b'{"questions":["What is counting?","Who counted?","Why count?"]}'


def test_no_questions_is_asked_again_and_then_no_score(desk: Desk) -> None:
    judgement = desk.review("deepreviewer", lambda body: "I have none.", mode="best")
    assert (judgement.outcome, judgement.reason, len(desk.bodies)) == (Outcome.unparsable, "no_questions", 2)


def test_boxes_match_braces_and_survive_those_that_do_not() -> None:
    assert boxed("\\boxed_review{a {b} c}", "review") == ["a {b} c"]
    assert boxed("\\boxed_review{a \\{ c\n}\nrest", "review") == ["a \\{ c"]
