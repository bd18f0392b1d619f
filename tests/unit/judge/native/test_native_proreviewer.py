"""ProReviewer: turns, memory, a sliding window, a budget."""

from __future__ import annotations

import json
from typing import Any

import pytest

from storage.vocabulary import Outcome
from tasks.judge.native.proreviewer import Malformed, read_turn
from tasks.judge.native.proreviewer_log import Log
from tasks.judge.native.proreviewer_paper import read_paper
from tests.unit.judge.native.conftest import TEX, Desk


def turn(action: str, *operations: dict[str, Any], **given: Any) -> str:
    return json.dumps({"memory_operations": list(operations), "action": {"type": action, **given}})


def outline(section: str, content: Any, *tags: str) -> dict[str, Any]:
    return {"op": "outline", "section": section, "content": content, "tags": list(tags)}


CLAIM = {"op": "log", "type": "claim", "text": "Counting works", "section": "2 Method", "claim_type": "empirical"}


def test_it_reads_logs_and_finishes(desk: Desk) -> None:
    judgement = desk.review("proreviewer", [
        turn("read_section", section_name="Method"),
        turn("search_paper", CLAIM, query="COUNT"),
        turn("finish", {"op": "update", "entry_id": "C1", "status": "weak"}, outline("weaknesses", "thin", "C1"),
             outline("overall_score", 4)),
    ])
    assert (judgement.scores, judgement.flags, len(judgement.call_keys)) == ({"overall": 4}, ["own_prompt"], 3)
    first, second, third = desk.bodies
    assert {(body["temperature"], body["max_tokens"]) for body in desk.bodies} == {(0.7, 4096)}
    begins = first["messages"][1]["content"]
    # The title and the sections' names, and no text: neither the references nor deeper levels are sections.
    assert "Title: On Counting" in begins and "- 2 Method\n- 2.1 Details" in begins
    assert "References" not in begins and "The method is to count" not in begins
    seen = second["messages"][3]["content"]
    assert "The method is to count." in seen and "[Turn 1/25]" in seen and "Sections read: 2 Method" in seen
    # The window slides: system, beginning, last reply, newest observation.
    assert [len(body["messages"]) for body in desk.bodies] == [2, 4, 4]
    assert "The method is to count." not in third["messages"][3]["content"].split("Search for")[0]
    assert "logged C1" in third["messages"][3]["content"]
    assert "[1 Introduction]" in third["messages"][3]["content"]


def test_malformed_answers_use_turns_up_then_a_nudge_and_five_more(desk: Desk) -> None:
    judgement = desk.review("proreviewer", lambda body: "I would rather talk.")
    assert len(desk.bodies) == 30
    assert "Format error" in desk.bodies[1]["messages"][3]["content"]
    nudged = [place for place, body in enumerate(desk.bodies) if "turns are used up" in body["messages"][-1]["content"]]
    # The nudge survives one call only, because of the window.
    assert nudged == [25]
    assert (judgement.outcome, judgement.reason) == (Outcome.unparsable, "no_overall_score")


def test_an_unfinished_review_is_taken_from_the_log(desk: Desk) -> None:
    judgement = desk.review("proreviewer", lambda body: turn("read_section", outline("overall_score", 6),
                                                             section_name="Method"), max_steps=2, extra_steps=1)
    assert (judgement.scores["overall"], "not_finished" in judgement.flags, len(desk.bodies)) == (6, True, 3)


@pytest.mark.parametrize(("value", "parser", "outcome"), [
    (8, "fixed", Outcome.answered), (42, "fixed", Outcome.out_of_range), (0, "fixed", Outcome.out_of_range),
    ("7 or so", "fixed", Outcome.unparsable), ("7 or so", "native", Outcome.answered),
    ("7/10", "fixed", Outcome.answered), (True, "fixed", Outcome.unparsable), (None, "fixed", Outcome.unparsable),
])
def test_only_a_number_from_one_to_ten_is_a_score(desk: Desk, value: Any, parser: str, outcome: Outcome) -> None:
    judgement = desk.review("proreviewer", [turn("finish", outline("overall_score", value))], parser=parser)
    assert judgement.outcome is outcome and bool(judgement.scores) == (outcome is Outcome.answered)


def test_the_last_overall_score_counts(desk: Desk) -> None:
    answer = turn("finish", outline("overall_score", 3), outline("overall_score", 7))
    assert desk.review("proreviewer", [answer]).scores["overall"] == 7


def test_answers_are_mended_a_little_and_no_more() -> None:
    assert read_turn('<think>{"a": 1}</think>```json\n{"action": {"type": "finish"}}\n```')[1] == "finish"
    assert read_turn(r'{"action": {"type": "search_paper", "query": "\alpha"}}')[2]["query"] == r"\alpha"
    assert read_turn('{"action": {"read_section": {"section_name": "x"}}}')[1] == "read_section"
    for bad in ("", "[]", '{"action": {}}', '{"memory_operations": 1, "action": "finish"}', '{"action": ["finish"]}'):
        with pytest.raises(Malformed):
            read_turn(bad)


def test_the_log_keeps_its_rules() -> None:
    log = Log(read=["Method"])
    assert log.apply(CLAIM | {"section": "Results"}) == "rejected: section 'Results' was not read yet"
    assert log.apply(CLAIM | {"section": "method"}) == "logged C1"
    assert log.apply({"op": "log", "type": "question", "text": "Why?", "section": ""}) == "logged Q1"
    assert log.apply({"op": "update", "entry_id": "Q1", "status": "invalid"}).startswith("rejected: the status of Q1")
    assert log.apply({"op": "update", "entry_id": "Q1", "status": "resolved", "answer": "So."}) == "updated Q1"
    assert log.apply({"op": "update", "entry_id": "C9"}).startswith("rejected")
    assert log.apply(outline("strengths", "good")).startswith("rejected: strengths needs at least one tag")
    assert log.apply(outline("strengths", "good", "C9")).startswith("rejected")
    assert log.apply(outline("strengths", "good", "C1")) == "outline: strengths added"
    assert log.apply(outline("strengths", "again", "C1", "Q1")) == "outline: strengths added"
    assert log.apply(outline("summary", "one")) == log.apply(outline("summary", "two")) == "outline: summary set"
    assert log.apply("nonsense").startswith("rejected") and log.apply({"op": "sing"}).startswith("rejected")
    assert log.outline["summary"] == "two" and len(log.outline["strengths"]) == 2
    assert "Q1 [resolved]" in log.dump() and "C1 [to_be_verified] (method)" in log.dump()


def test_latex_is_cut_into_the_same_sections_and_a_title_is_needed() -> None:
    paper = read_paper(TEX)
    assert paper is not None and paper.title == "On Counting"
    assert list(paper.parts) == ["Abstract", "Introduction"]
    assert read_paper("no heading at all") is None
    assert paper.find("introduction") == "Introduction" and paper.find("zzz") is None


def test_deeper_levels_stay_inside_their_parents_and_snippets_are_few() -> None:
    paper = read_paper("# T\n\n## A\none\n\n#### deep\nfoo foo foo foo foo\n\n## References\nfoo\n")
    assert paper is not None and list(paper.parts) == ["A"]
    assert "deep" in paper.parts["A"]
    assert {name: len(found) for name, found in paper.search("FOO").items()} == {"A": 3}
