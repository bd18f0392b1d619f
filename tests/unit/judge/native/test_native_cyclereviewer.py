"""CycleReviewer: four reviewers in one completion, two layouts, the mean of the ratings."""

from __future__ import annotations

from storage.vocabulary import Outcome
from tests.unit.judge.native.conftest import Desk


def reviewer(rating: str, level: str = "##") -> str:
    fields = {"Summary": "Counts.", "Soundness": "3 good", "Presentation": "2 fair", "Contribution": "3 good",
              "Strengths": "s", "Weaknesses": "w", "Questions": "q", "Flag For Ethics Review": "No",
              "Rating": rating, "Confidence": "4: confident"}
    return "".join(f"{level} {name}\n\n{value}\n\n" for name, value in fields.items())


def panel(*ratings: str, decision: str = "Reject") -> str:
    chunks = [reviewer(rating) for rating in ratings]
    return "**********\n".join([*chunks, "## Meta Review\n\nMixed.\n\n", f"## Paper Decision\n\n{decision}\n"])


USUAL = ("3: reject", "5: marginally below", "6: marginally above", "6: marginally above")


def test_the_latex_stands_alone_in_the_users_turn(desk: Desk) -> None:
    judgement = desk.review("cyclereviewer", [panel(*USUAL, decision="Accept (poster)")])
    (body,) = desk.bodies
    assert (body["temperature"], body["top_p"], body["max_tokens"]) == (0.4, 0.95, 7000)
    system, user = body["messages"]
    assert "4 independent reviews" in system["content"]
    assert user["content"].startswith("\\documentclass") and "More \\cite{a} and $x^2$." in user["content"]
    assert judgement.scores == {"overall": 5, "decision": 1, "soundness": 3, "presentation": 2, "contribution": 3,
                                "confidence": 4}
    assert judgement.flags == ["own_prompt"]


def test_a_ten_lowers_the_mean_as_released_and_raises_it_when_mended(desk: Desk) -> None:
    answer = panel("10: strong accept", "8: accept", "8: accept", "6: marginally above")
    native = desk.review("cyclereviewer", [answer], parser="native")
    assert native.scores == {"overall": (1 + 8 + 8 + 6) / 4, "decision": 0}
    assert desk.review("cyclereviewer", [answer]).scores["overall"] == 8
    assert len(desk.bodies) == 1


def test_the_layout_of_the_largest_checkpoint_is_tried_second(desk: Desk) -> None:
    chunks = [f"## Reviewer\n\n{reviewer(rating, '###')}" for rating in USUAL]
    answer = "".join(chunks) + "## Meta Review\n\nm\n\n## Paper Decision\n\nReject\n"
    for parser in ("native", "fixed"):
        assert desk.review("cyclereviewer", [answer], parser=parser).scores["overall"] == 5


def test_a_chunk_without_summary_soundness_and_presentation_is_no_reviewer(desk: Desk) -> None:
    half = "## Summary\n\nOnly that.\n\n## Rating\n\n1: bad\n\n"
    answer = "**********\n".join([reviewer("6: above"), half, "## Paper Decision\n\nReject\n"])
    judgement = desk.review("cyclereviewer", [answer])
    assert judgement.scores["overall"] == 6
    assert "reviews_1" in judgement.flags


def test_nothing_readable_is_no_score(desk: Desk) -> None:
    native = desk.review("cyclereviewer", ["I like this paper: 8"], parser="native")
    assert (native.outcome, native.scores, len(desk.bodies)) == (Outcome.unparsable, {}, 1)
    fixed = desk.review("cyclereviewer", lambda body: panel("N/A", "5: below"))
    assert (fixed.outcome, fixed.scores) == (Outcome.unparsable, {})
    # The released reading takes what comes; the mended one asks again.
    assert len(desk.calls()) == 1 + desk.endpoint.attempts


def test_a_paper_without_source_is_read_as_text(desk: Desk) -> None:
    desk.paper = desk.paper.model_copy(update={"source_hash": None})
    desk.review("cyclereviewer", [panel(*USUAL)])
    assert desk.bodies[0]["messages"][1]["content"].startswith("On Counting")
