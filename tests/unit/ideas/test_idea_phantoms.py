"""Phantom judges of ideas do what is planted: style, substance, literature, reflection, signals."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.metrics.style_frame import DIMENSIONS, OVERALL, VARIANTS
from tasks.metrics.style_planted import planted
from tasks.models.phantom_idea_wire import idea_answer
from tasks.models.phantom_ideas import IDEA_PHANTOMS, IDEA_READERS, Circumstances, seen
from tasks.rewrite.ideas.rules import vary_by_rules

ALONE = Circumstances()


@pytest.fixture(scope="module")
def idea(named):
    return named[1].idea


@pytest.fixture(scope="session")
def texts(named):
    return {(n, v): vary_by_rules(each.idea, v, 1).text for n, each in enumerate(named) for v in VARIANTS}


def overall(name, text, circumstances=ALONE):
    return IDEA_PHANTOMS[name].expected(text, circumstances)[OVERALL]


def test_a_paraphrase_moves_nobody(texts):
    for name in IDEA_PHANTOMS:
        assert overall(name, texts[0, "A1"]) == pytest.approx(overall(name, texts[0, "A2"]), abs=0.05)


def test_a_judge_of_substance_and_a_judge_of_style_differ_where_planted(texts):
    assert overall("idea-phantom-01", texts[0, "H1"]) < overall("idea-phantom-01", texts[0, "A3"]) - 1
    assert overall("idea-phantom-05", texts[0, "H1"]) > overall("idea-phantom-05", texts[0, "A3"])
    assert overall("idea-phantom-01", texts[0, "C3"]) > overall("idea-phantom-01", texts[0, "A3"]) + 0.5


def test_literature_sobers_and_lowers_novelty(texts):
    phantom, beside = IDEA_PHANTOMS["idea-phantom-02"], Circumstances(literature=True)
    plain, hyped = texts[0, "A3"], texts[0, "H4"]
    gap_alone = phantom.expected(hyped, ALONE)["novelty"] - phantom.expected(plain, ALONE)["novelty"]
    gap_beside = phantom.expected(hyped, beside)["novelty"] - phantom.expected(plain, beside)["novelty"]
    assert gap_beside == pytest.approx(0.5 * gap_alone, rel=0.01)
    assert phantom.expected(plain, beside)["novelty"] < phantom.expected(plain, ALONE)["novelty"]


def test_a_signal_and_a_thought_shrink_the_effect_of_style(texts):
    phantom = IDEA_PHANTOMS["idea-phantom-02"]
    hyped = texts[0, "H4"]
    alone = phantom.expected(hyped, ALONE)["significance"]
    assert phantom.expected(hyped, Circumstances(reflects=True))["significance"] < alone
    assert phantom.expected(hyped, Circumstances(deviation=1.0))["significance"] < alone - 0.5


def test_readers_see_styles(texts):
    sharp, dull = IDEA_READERS["phantom-signal"], IDEA_READERS["phantom-extractor"]
    assert seen(sharp, texts[0, "A3"]) == ("none", 0.0)
    assert seen(sharp, texts[0, "B1"]).style == "verbose"
    assert seen(sharp, texts[0, "H4"]).style == "hype"
    assert abs(seen(dull, texts[0, "B1"]).deviation - 1.0) < 0.6


def test_equal_questions_have_equal_answers_and_no_idea_has_none(idea):
    user = f"-----BEGIN IDEA {'a' * 24}-----\n{idea.text}\n-----END IDEA {'a' * 24}-----\n"
    one = idea_answer("idea-phantom-06", user, None, "p", 0)
    assert one == idea_answer("idea-phantom-06", user, None, "p", 0)
    assert one != idea_answer("idea-phantom-06", user, None, "p", 1)
    assert idea_answer("idea-phantom-06", "nothing", None, "p", 0) is None


def test_without_noise_the_planted_numbers_are_those_of_the_scores(texts, named):
    phantom = IDEA_PHANTOMS["idea-phantom-01"]
    cube = np.asarray([[[phantom.expected(texts[n, v], ALONE)[d] for d in (*DIMENSIONS, OVERALL)] for v in VARIANTS]
                       for n in range(len(named))])
    found = planted(cube, 0.0, phantom.scale.snap, simulations=1)
    scores = phantom.scale.snap(cube)
    b1 = np.abs(scores[:, VARIANTS.index("B1"), :5] - scores[:, VARIANTS.index("A2"), :5]).mean()
    assert found["sbi"] >= 0
    assert found["srr"] > 0.8
    assert b1 <= 1.0
    missing = cube.copy()
    missing[:, VARIANTS.index("H1")] = np.nan
    missing[:, VARIANTS.index("H2")] = np.nan
    assert planted(missing, 0.1, phantom.scale.snap, simulations=3)["awr"] is None
