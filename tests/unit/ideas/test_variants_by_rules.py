"""Fifteen variants by rules: each goes in its direction, facts stay, hybrids are composed in order."""

from __future__ import annotations

import re

import pytest

from storage.ideas import STYLE_VARIANTS, VARIANT_NAMES
from tasks.models.idea_cues import STYLES, idea_cues
from tasks.rewrite.ideas.rules import vary_by_rules

KEPT = [variant.name for variant in STYLE_VARIANTS if variant.substance == "kept"]
STYLE_OF = {"B1": "verbose", "B2": "grand", "B3": "overconfident", "B4": "novelty", "B5": "application"}


def numbers(idea):
    return sorted(re.findall(r"\d+(?:[.,]\d+)*", idea.text))


@pytest.mark.parametrize("variant", KEPT)
def test_a_style_keeps_every_number_title_and_variable(named, variant):
    for each in named:
        made = vary_by_rules(each.idea, variant, 3)
        assert numbers(made) == numbers(each.idea)
        assert (made.title, made.variables) == (each.idea.title, each.idea.variables)


@pytest.mark.parametrize(("variant", "style"), STYLE_OF.items())
def test_each_style_raises_its_own_cue_and_no_other(named, variant, style):
    for each in named:
        before = idea_cues(each.idea.text).style
        after = idea_cues(vary_by_rules(each.idea, variant, 1).text).style
        assert after[style] - before[style] >= 0.4
        assert all(after[name] <= before[name] + 0.2 for name in STYLES if name != style)


@pytest.mark.parametrize(("variant", "cue"), [("C1", "hollow"), ("C2", "flawed"), ("C3", "rigorous")])
def test_each_change_of_substance_is_one(named, variant, cue):
    for each in named:
        before, after = idea_cues(each.idea.text), idea_cues(vary_by_rules(each.idea, variant, 1).text)
        assert getattr(after, cue) - getattr(before, cue) >= 0.6


def test_a_hollow_idea_has_lost_its_numbers_and_keeps_its_question(named):
    for each in named:
        made = vary_by_rules(each.idea, "C1", 1)
        assert not re.search(r"\d", made.mechanism + made.evaluation)
        assert made.research_question == each.idea.research_question


def test_a_deceptive_hollow_keeps_the_persuasion_that_hollowing_leaves(named):
    """H1 is B2, B4, C1 in that order: the added sentences survive, the idea's own do not."""
    idea = named[0].idea
    made = vary_by_rules(idea, "H1", 1)
    assert idea_cues(made.text).style["grand"] == idea_cues(made.text).style["novelty"] == 1.0
    assert idea_cues(made.text).hollow >= 0.8
    assert idea.mechanism.split(". ")[0] not in made.mechanism


def test_a_flawed_idea_no_longer_admits_its_limits(named):
    assert all(vary_by_rules(each.idea, "C2", 1).limitations == "" for each in named)


@pytest.mark.parametrize("variant", VARIANT_NAMES)
def test_the_same_seed_says_the_same_and_another_may_not(named, variant):
    idea = named[0].idea
    assert vary_by_rules(idea, variant, 5) == vary_by_rules(idea, variant, 5)
    said = {vary_by_rules(idea, variant, seed).text for seed in range(8)}
    assert len(said) > 1 or variant in ("A1", "A2", "A3", "C3")


def test_an_idea_without_optional_parts_can_be_varied(named):
    bare = named[0].idea.model_copy(update={"evaluation": "", "limitations": "", "variables": (), "concepts": ()})
    for variant in VARIANT_NAMES:
        assert vary_by_rules(bare, variant, 1).text
