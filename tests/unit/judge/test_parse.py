"""Answers as models really write them: the right score, or a typed reason and no score (field bugs B71 to B80)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.vocabulary import Outcome
from tasks.judge.form import RATING_LABELS, Field, Form, rating_form, review_form
from tasks.judge.parse import parse_review
from tasks.models.scales import ICLR, TEN, TENTHS

SCORE = Form(name="score", fields=(
    Field(name="score", kind="score", scale=TEN, dimension="overall", labels=RATING_LABELS),
))
REVIEW = review_form("review", ICLR)
FULL = {"summary": "s", "soundness": 3, "presentation": 2, "contribution": 4, "strengths": ["a"], "weaknesses": [],
        "questions": [], "ethics_flag": False, "rating": 6, "confidence": 4}


def score(answer: str) -> float | None:
    """The overall score, or None."""
    return parse_review(answer, SCORE).scores.get("overall")


def reason(answer: str) -> str | None:
    """Why there is no score."""
    parsed = parse_review(answer, SCORE)
    assert not parsed.scores
    assert parsed.outcome in (Outcome.unparsable, Outcome.out_of_range)
    return parsed.reason


@pytest.mark.parametrize(("answer", "value"), [
    # B71: in a fence, in talk
    ('Sure, here is my review:\n```json\n{"score": 6, "review": "ok"}\n```\nHope it helps', 6),
    ('{"score": 6}', 6),
    ('  \n{"score": 6}\n\n', 6),
    ('\ufeff{"score": 6}', 6),
    ('```\n{"score": 6}\n```', 6),
    ('Let {x} be given. {"score": 6}', 6),
    # B72: a text field that quotes a code block, an invalid escape, a trailing comma
    ('{"score": 6, "review": "they run ```bash\\nmake\\n``` first"}', 6),
    ('{"score": 6, "review": "they run ```bash\nmake\n``` first"}', 6),
    ('```json\n{"review": "they run ```bash\\nmake\\n``` first", "score": 6}\n```', 6),
    ('{"score": 6, "review": "50\\% better, \\alpha = 3"}', 6),
    ('{"score": 6,}', 6),
    ("{'score': 6, 'review': 'fine'}", 6),
    ('{score: 6, review: "fine"}', 6),
    ('{"score": 6, "review": "a "quoted" word"}', 6),
    ('{"score": 6, "review": "she gave {\\"score\\": 3} before"}', 6),
    ('{"score": 6}\n{"score": 6}', 6),
    ('{"analysis": "long"}\n{"score": 6}', 6),
    ('{"result": {"score": 6}}', 6),
    ('[{"score": 6}]', 6),
    ('"{\\"score\\": 6}"', 6),
    ('{"SCORE": 6}', 6),
    # B77: the labelled field
    ("**Overall:** 6 (1-10 scale)", 6),
    ("Soundness: 3\nOverall score: 6", 6),
    ("## Score\n\n8: accept, good paper", 8),
    ("**Score**: **7**/10", 7),
    ("- **Score:** 7 out of 10", 7),
    ("### Score\n10", 10),
    ("## Score 7", 7),
    ("Score: 7\n\nOverall: 3", 7),
    ("Score: 7.0", 7),
    # B78: numeric strings are accepted, and flagged
    ('{"score": "7"}', 7),
    ('{"score": "7.0"}', 7),
    ('{"score": "8: accept"}', 8),
    ('{"score": "8: as stated"}', 8),
    ('{"score": "3 good"}', 3),
    ('{"score": "6 (weak accept)"}', 6),
    ('{"score": "7/10"}', 7),
    ('{"score": 7, "score": 7}', 7),
])
def test_a_score_that_is_there_is_read(answer: str, value: float) -> None:
    parsed = parse_review(answer, SCORE)
    assert (parsed.outcome, parsed.scores) == (Outcome.answered, {"overall": value})


@pytest.mark.parametrize(("answer", "why"), [
    # B72: two different objects
    ('{"score": 6} {"score": 7}', "ambiguous"),
    ('```json\n{"score": 6}\n```\nOr rather:\n```json\n{"score": 7}\n```', "ambiguous"),
    ('[{"score": 6}, {"score": 7}]', "ambiguous"),
    # B73: cut off
    ('{"score": 6, "review": "The pap', "incomplete_json"),
    ('{"reviews": [{"score": 3}], "summary": "cut', "incomplete_json"),
    ('Here: ```json\n{"review": "good", "sco', "incomplete_json"),
    # B75
    ("", "empty"),
    (" \n", "empty"),
    # B77
    ("Of 4 claims 3 hold: I give 7 (last year 5)", "no_labelled_field"),
    ("an 8 out of 10", "no_labelled_field"),
    ("Score: N/A", "no_number"),
    ("Score: 7,5", "no_single_number"),
    ("score: -1", "out_of_range"),
    ("Score: 1-10", "no_single_number"),
    ("Score: 7 or 8", "no_single_number"),
    ("Score: 6-7", "no_single_number"),
    ("Score: 7\nScore: 5", "ambiguous"),
    ("Score: 3/5", "other_scale"),
    ("Soundness score: 3", "no_labelled_field"),
    ("The score: I would say 7", "no_labelled_field"),
    ("## Score\n\nThe paper has 3 strengths", "no_number"),
    # B78
    ('{"score": 85}', "out_of_range"),
    ('{"score": 9.2e124}', "out_of_range"),
    ('{"score": 0}', "out_of_range"),
    ('{"score": 6.5}', "out_of_range"),
    ('{"score": NaN}', "not_finite"),
    ('{"score": Infinity}', "not_finite"),
    ('{"score": 1e400}', "not_finite"),
    ('{"score": true}', "boolean_score"),
    ('{"score": null}', "null_score"),
    ('{"score": 7, "score": 2}', "ambiguous"),
    ('{"score": 7, "Score": 7, "score": 8}', "ambiguous"),
    ('{"score": [7]}', "score_not_a_number"),
    ('{"score": {"value": 7}}', "score_not_a_number"),
    ('{"score": "7,5"}', "no_single_number"),
    ('{"score": "seven"}', "no_number"),
    ('{"score": "85"}', "out_of_range"),
    ('{"score": "7/5"}', "other_scale"),
    ('{"score": ""}', "no_number"),
    ('{"verdict": "good", "notes": []}', "missing_field"),
    ('{"reviews": [{"score": 3}], "note": "50\\% x"}', "missing_field"),
    # Repair must not decide what a rating was.
    ('{"score": 7,5}', "ambiguous_repair"),
    ('{"score": 7 "x": 2}', "ambiguous_repair"),
    ('{"score": 7, "note": "50\\% x", "score": 2}', "ambiguous_repair"),
])
def test_no_score_is_made_up(answer: str, why: str) -> None:
    assert reason(answer) == why


def test_thousands_of_digits_and_hopeless_nesting_are_refused_quickly() -> None:
    assert reason('{"score": ' + "9" * 10_000 + "}") is not None
    assert reason('{"a": ' * 50_000) is not None
    assert reason("{" * 200_000) is not None
    assert reason("[" * 200_000) is not None


def test_what_was_done_to_an_answer_is_flagged() -> None:
    assert parse_review('{"score": "7"}', SCORE).flags == ["numeric_string"]
    assert "json_repaired" in parse_review('{"score": 7,}', SCORE).flags
    assert "markdown" in parse_review("Score: 7", SCORE).flags
    assert parse_review('{"score": 7}', SCORE).flags == []


def test_all_dimensions_of_a_review_are_read() -> None:
    parsed = parse_review(json.dumps(FULL), REVIEW)
    assert parsed.scores == {"overall": 6, "soundness": 3, "presentation": 2, "contribution": 4, "confidence": 4}
    assert parsed.flags == []


def test_a_bad_secondary_score_is_left_out_and_flagged_but_the_rating_stands() -> None:
    parsed = parse_review(json.dumps(FULL | {"soundness": 9, "confidence": None}), REVIEW)
    assert parsed.outcome is Outcome.answered
    assert parsed.scores == {"overall": 6, "presentation": 2, "contribution": 4}
    assert parsed.flags == ["no_confidence", "no_soundness"]


def test_a_rating_between_the_anchors_is_out_of_range_not_rounded() -> None:
    assert parse_review(json.dumps(FULL | {"rating": 7}), REVIEW).outcome is Outcome.out_of_range


def test_decimal_scales_take_tenths() -> None:
    form = review_form("decimal", TENTHS)
    assert parse_review(json.dumps(FULL | {"rating": 7.3}), form).scores["overall"] == 7.3
    assert parse_review(json.dumps(FULL | {"rating": 7.35}), form).outcome is Outcome.out_of_range


def test_a_markdown_review_is_read_by_its_headings() -> None:
    answer = ("## Summary\nA method with 3 parts and 10 runs.\n\n## Soundness\n3 good\n\n## Presentation\n2 fair\n\n"
              "## Contribution\n3 good\n\n## Strengths\n- 8 data sets\n\n## Rating\n8: accept\n\n## Confidence\n4\n")
    assert parse_review(answer, REVIEW).scores == {
        "overall": 8, "soundness": 3, "presentation": 2, "contribution": 3, "confidence": 4}


def test_a_bare_number_counts_only_where_the_prompt_asked_for_one() -> None:
    assert parse_review("7", rating_form("bare", TEN)).scores == {"overall": 7}
    assert parse_review(" **7**. ", rating_form("bare", TEN)).scores == {"overall": 7}
    assert parse_review("7", SCORE).outcome is Outcome.unparsable
    assert parse_review("7 or 8", rating_form("bare", TEN)).outcome is Outcome.unparsable


@given(st.text(max_size=300))
def test_any_text_ends_with_a_score_on_the_scale_or_a_reason(answer: str) -> None:
    parsed = parse_review(answer, SCORE)
    if parsed.outcome is Outcome.answered:
        assert TEN.contains(parsed.scores["overall"])
    else:
        assert parsed.reason
        assert parsed.scores == {}


@given(st.text(alphabet='{}[]",:score 0123456789.-\\\n`', max_size=120))
def test_fragments_of_json_never_raise(answer: str) -> None:
    assert parse_review(answer, SCORE).outcome in (Outcome.answered, Outcome.unparsable, Outcome.out_of_range)


TEXTS = st.text(max_size=60).filter(lambda text: '"score"' not in text)


@given(TEXTS, st.sampled_from(range(1, 11)), st.booleans())
def test_whatever_the_text_field_says_the_rating_is_the_rating(text: str, value: int, fenced: bool) -> None:
    answer = json.dumps({"review": text, "score": value})
    answer = f"Here you are:\n```json\n{answer}\n```\nThanks" if fenced else answer
    assert score(answer) == value
