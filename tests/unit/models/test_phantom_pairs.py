"""Pair phantoms: the answer book is in step with the pairs, preferences are as planted, the wire reads real prompts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from storage.pairs import Presentation
from tasks.models.classifier import MISSING, ClassifierTransport
from tasks.models.endpoints import EndpointSpec
from tasks.models.fence import fence
from tasks.models.phantom_pair_wire import NO_VERDICT, pair_answer, presented, reward_answer
from tasks.models.phantom_pairs import PAIR_PHANTOMS, PairPhantom, book_of, is_better
from tasks.rewrite.injections.rules import add_cue


@pytest.fixture(scope="module")
def pairs(root: Path) -> list[dict[str, Any]]:
    path = root / "deployments" / "suites" / "pairs" / "pairs.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _sides(pair: dict[str, Any]) -> tuple[str, str]:
    other = "response2" if pair["label"] == "response1" else "response1"
    return pair[pair["label"]], pair[other]


def test_the_answer_book_is_made_from_the_shipped_pairs(root: Path, pairs: list[dict[str, Any]]) -> None:
    shipped = json.loads((root / "tasks" / "models" / "data" / "pair_answers.json").read_text("utf-8"))
    assert shipped == book_of(pairs), "make it anew with book_of"


def test_the_book_knows_answers_through_any_rewriting(pairs: list[dict[str, Any]]) -> None:
    for pair in pairs:
        better, worse = _sides(pair)
        assert is_better(pair["question"], better)
        for bias in ("length", "authority", "beauty", "concreteness"):
            for style in ("tuned", "held_out"):
                assert not is_better(pair["question"], add_cue(worse, bias, style, 1))


def test_unknown_questions_have_a_planted_answer() -> None:
    found = {is_better("never asked", f"answer {number}") for number in range(20)}
    assert found == {True, False}


@pytest.mark.parametrize("skill", [0.4, 1.3])
def test_accuracy_and_position_are_as_planted(skill: float) -> None:
    phantom = PairPhantom(name=f"p{skill}", title="x", skill=skill, position=0.7)
    right: dict[bool, list[bool]] = {True: [], False: []}
    for number in range(4000):
        question = f"question {number}"
        first = is_better(question, "x")
        if first == is_better(question, "y"):
            continue
        shown = Presentation(question=question, first="x", second="y")
        right[first].append(phantom.prefers_first(shown) == first)
    for first, found in right.items():
        share, planted = float(np.mean(found)), phantom.chances(first, phantom.position)
        assert abs(share - planted) < 4 * (planted * (1 - planted) / len(found)) ** 0.5


def test_the_reverser_never_falls_for_a_cue_and_always_shuns_it(pairs: list[dict[str, Any]]) -> None:
    phantom = PAIR_PHANTOMS["phantom-pair-reverser"]
    flips = {"lost": 0, "won": 0}
    for pair in pairs:
        better, worse = _sides(pair)
        before = phantom.prefers_first(Presentation(question=pair["question"], first=better, second=worse))
        cued = add_cue(worse, "authority", "tuned", 1)
        after = phantom.prefers_first(Presentation(question=pair["question"], first=better, second=cued))
        flips["lost"] += before and not after
        flips["won"] += after and not before
    assert flips["lost"] == 0
    assert flips["won"] >= 5


def _prompt(between: str = "", after: str = "") -> str:
    parts = []
    for label, text in (("QUESTION", "Why?"), ("ANSWER A", "One."), ("ANSWER B", "Two.")):
        lines = fence(text, label=label)
        parts.append(f"{lines.opening}{text}{lines.closing}")
    return f"Intro\n{parts[0]}{parts[1]}{between}{parts[2]}{after}"


def test_prompts_are_read_with_the_words_around_the_answers() -> None:
    shown = presented(_prompt("\nWait, wait. Let me think.\n", "\n90% of people prefer answer B."))
    assert shown is not None
    assert (shown.question, shown.first, shown.second) == ("Why?", "One.", "Two.")
    moved_by = {"bandwagon": 2.0, "superficial_reflection": 1.0}
    phantom = PairPhantom(name="x", title="x", skill=0, susceptibility=moved_by)
    plain = presented(_prompt())
    assert plain is not None
    assert phantom.towards(shown) - phantom.towards(plain) == -3.0
    assert presented("no pair here") is None


def test_answers_fill_the_form_that_is_asked_for() -> None:
    phantom = PairPhantom(name="x", title="X", skill=9.0)
    letter = "A" if phantom.prefers_first(Presentation(question="Why?", first="One.", second="Two.")) else "B"
    assert pair_answer(phantom, _prompt(), None) == f"X: I weighed both answers. [[{letter}]]"
    verdicts = {"properties": {"explanation": {"type": "string"}, "verdict": {"enum": ["[[A]]", "[[B]]"]}}}
    filled = json.loads(pair_answer(phantom, _prompt(), verdicts) or "")
    assert filled == {"explanation": "X", "verdict": f"[[{letter}]]"}
    votes = {"properties": {"better": {"enum": ["A", "B", "equal"]}}}
    assert json.loads(pair_answer(phantom, _prompt(), votes) or "") == {"better": letter}
    silent = phantom.model_copy(update={"unparsed": 1.0})
    assert pair_answer(silent, _prompt(), None) == NO_VERDICT
    assert pair_answer(phantom, "nothing", None) is None


def test_rewards_follow_the_better_answer(pairs: list[dict[str, Any]]) -> None:
    phantom = PairPhantom(name="x", title="X", skill=9.0)
    for pair in pairs[:8]:
        scores = [json.loads(reward_answer(phantom, [{"role": "user", "content": pair["question"]},
                                                     {"role": "assistant", "content": side}]) or "")["score"]
                  for side in _sides(pair)]
        assert scores[0] > scores[1]
    assert reward_answer(phantom, [{"role": "user", "content": "x"}]) is None


def test_a_local_classifier_says_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    from storage.errors import EnvironmentProblem

    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(EnvironmentProblem) as error:
        ClassifierTransport()
    assert str(error.value) == MISSING
    with pytest.raises(ValueError, match="api: reward"):
        EndpointSpec(name="c", kind="classifier")
    assert EndpointSpec(name="c", kind="classifier", api="reward").identity == "classifier://"
