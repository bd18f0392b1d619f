"""The rule-based producer: every condition goes in its direction on every demo paper, nothing protected changes."""

from __future__ import annotations

import re
import string
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage.vocabulary import CONDITION_NAMES
from tasks.latex.guard import numbers, problems
from tasks.latex.masks import Segment, mask_numbers
from tasks.models.rhetoric import CONDITION_FEATURE, RHETORIC, features
from tasks.rewrite.producers import reword_by_rules
from tasks.rewrite.rules.conditions import RULE_CONDITIONS, SINGLE, UnknownCondition, rewrite_text
from tasks.rewrite.rules.review import review

WRONG_ARTICLE = re.compile(
    r"\ba (?:original|essential|overlooked|empirical|alternative|important|objective)\b"
    r"|\ban (?:novel|new|general|broad|key|central|formal|clear|strong)\b|\ba an\b|\ban a\b"
)
Papers = dict[str, list[Segment]]


def _segment(text: str) -> Segment:
    masks = tuple(f"$x_{number}$" for number in mask_numbers(text))
    return Segment("main.tex#1", "main.tex", 0, len(text), text, masks, "Introduction")


def test_rules_make_all_ten_conditions_and_the_paraphrase() -> None:
    assert set(RULE_CONDITIONS) == {*CONDITION_NAMES, "null_paraphrase"}
    with pytest.raises(UnknownCondition, match="no condition called 'null_repeat'"):
        rewrite_text("We show it.", "null_repeat", 1)


@pytest.mark.parametrize("condition", RULE_CONDITIONS)
def test_a_passage_changes_and_keeps_masks_and_numbers(passage: str, condition: str) -> None:
    new = rewrite_text(passage, condition, 1)
    assert new != passage
    assert problems(_segment(passage), new) == []
    assert mask_numbers(new) == [1, 2, 3]
    assert numbers(new) == numbers(passage)
    assert rewrite_text(passage, condition, 1) == new


@pytest.mark.parametrize("condition", SINGLE)
def test_a_single_condition_raises_its_feature_on_every_demo_paper(demo_segments: Papers, condition: str) -> None:
    feature = CONDITION_FEATURE[condition]
    for paper, parts in demo_segments.items():
        before = features("\n\n".join(part.text for part in parts))
        gains = []
        for seed in (1, 2):
            after = features("\n\n".join(rewrite_text(part.text, condition, seed) for part in parts))
            gains.append(after[feature] - before[feature])
            others = {name: after[name] - before[name] for name in RHETORIC if name != feature}
            assert after[feature] - before[feature] > max(others.values()), (paper, others)
        assert min(gains) > 0.4, (paper, gains)


def test_the_joint_rewrite_raises_all_six_features_on_every_demo_paper(demo_segments: Papers) -> None:
    for paper, parts in demo_segments.items():
        before = features("\n\n".join(part.text for part in parts))
        after = features("\n\n".join(rewrite_text(part.text, "joint", 1) for part in parts))
        assert all(after[name] - before[name] > 0.2 for name in RHETORIC), paper


def test_rounds_keep_changing_and_stay_bounded(demo_segments: Papers) -> None:
    for paper, parts in demo_segments.items():
        rounds = [[part.text for part in parts]]
        for condition in ("joint", "joint_r2", "joint_r3"):
            rounds.append([rewrite_text(text, condition, 1) for text in rounds[-1]])
        sizes = [sum(map(len, texts)) for texts in rounds]
        changed = [sum(a != b for a, b in zip(x, y, strict=True)) for x, y in pairwise(rounds)]
        assert all(number >= len(parts) // 8 for number in changed), (paper, changed)
        assert sizes[3] < 1.6 * sizes[0], (paper, sizes)
        assert sizes[3] - sizes[2] < sizes[1] - sizes[0], (paper, sizes)


@pytest.mark.parametrize("condition", SINGLE)
def test_two_seeds_are_two_producers(demo_segments: Papers, condition: str) -> None:
    for paper, parts in demo_segments.items():
        made = {seed: [rewrite_text(part.text, condition, seed) for part in parts] for seed in (1, 2)}
        differ = sum(a != b for a, b in zip(made[1], made[2], strict=True))
        touched = sum(a != part.text for a, part in zip(made[1], parts, strict=True))
        assert touched >= 0.3 * len(parts), (paper, touched, len(parts))
        assert differ >= 0.2 * len(parts), (paper, differ, len(parts))


def test_a_paraphrase_moves_no_feature(demo_segments: Papers) -> None:
    parts = [part.text for group in demo_segments.values() for part in group]
    before = features("\n\n".join(parts))
    after = features("\n\n".join(rewrite_text(text, "null_paraphrase", 1) for text in parts))
    assert sum(rewrite_text(text, "null_paraphrase", 1) != text for text in parts) >= 0.25 * len(parts)
    assert all(abs(after[name] - before[name]) < 0.12 for name in RHETORIC)


def test_the_directed_rewrite_leaves_fewer_weak_spots(demo_segments: Papers, passage: str) -> None:
    parts = [passage, *(part.text for group in demo_segments.values() for part in group)]
    before = review(parts)
    after = review(rewrite_text(text, "feedback_guided", 1) for text in parts)
    assert set(before) == {"hedge", "passive", "unsignposted", "vague"}
    assert sum(after.values()) < 0.5 * sum(before.values())


@pytest.mark.parametrize("condition", CONDITION_NAMES)
def test_quoted_text_names_and_compounds_stay(condition: str) -> None:
    text = ("The prompt was ``we propose a new method, but our results are large'' in all runs. The New Method "
            "Challenge of Large Model Systems uses a use-case of our-method type in ⟦1⟧use⟦2⟧ and "
            "\"we show many results\" too.")
    new = rewrite_text(text, condition, 1)
    for kept in ("``we propose a new method, but our results are large''", "New Method Challenge",
                 "Large Model Systems", "use-case", "our-method", "⟦1⟧use⟦2⟧", '"we show many results"'):
        assert kept in new


@pytest.mark.parametrize("condition", CONDITION_NAMES)
def test_no_doubled_word_no_broken_article_no_small_sentence_start(demo_segments: Papers, condition: str) -> None:
    for parts in demo_segments.values():
        for part in parts:
            new = rewrite_text(part.text, condition, 1)
            assert doubled(new) <= doubled(part.text), new
            assert not WRONG_ARTICLE.search(new), new
            starts = re.findall(r"(?<![.][A-Za-z])(?<!al)(?<!vs)[.?!] ([a-z]\w*)", new)
            assert len(starts) <= len(re.findall(r"(?<![.][A-Za-z])(?<!al)(?<!vs)[.?!] ([a-z]\w*)", part.text)), new


def doubled(text: str) -> int:
    return len(re.findall(r"\b([A-Za-z]{2,}) \1\b", text))


VOCABULARY = (
    "we our the a an method methods results show shows use used using new large many propose evidence model is are was "
    "however therefore because in this paper that it can be seen better than also important and so to of with "
    "for , . ; `` '' \" ( ) ⟦M⟧ 3 0.5 12\\% don't e.g. et al. Fig. The We Our This In However, If about performance "
    "95\\% --- \n"
)
_words = st.sampled_from(VOCABULARY.split(" "))


@st.composite
def _prose(draw: st.DrawFn) -> str:
    text = " ".join(draw(st.lists(_words, min_size=3, max_size=60)))
    count = 0

    def number(_: re.Match[str]) -> str:
        nonlocal count
        count += 1
        return f"⟦{count}⟧"

    return re.sub(r"\n\s*\n", "\n", re.sub("⟦M⟧", number, text))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=_prose(), condition=st.sampled_from(RULE_CONDITIONS), seed=st.integers(0, 99))
def test_whatever_the_prose_the_guard_passes(text: str, condition: str, seed: int) -> None:
    new = rewrite_text(text, condition, seed)
    if re.search(r"[A-Za-z]", text):
        assert [problem for problem in problems(_segment(text), new) if problem.word != "chatter"] == []
    assert mask_numbers(new) == mask_numbers(text)


@settings(max_examples=150, deadline=None)
@given(text=st.text(alphabet=string.printable + "⟦⟧éß“”‘’", max_size=300), condition=st.sampled_from(RULE_CONDITIONS))
def test_any_text_at_all_is_rewritten_without_losing_masks_or_numbers(text: str, condition: str) -> None:
    new = rewrite_text(text, condition, 3)
    assert mask_numbers(new) == mask_numbers(text)
    assert numbers(new) == numbers(text)
    assert rewrite_text(text, condition, 3) == new


def test_the_producer_hands_on_only_what_passes(passage: str) -> None:
    good = _segment(passage)
    title = Segment("main.tex#0", "main.tex", 0, 0, "We Propose a New Method", (), "", kind="title")
    made = reword_by_rules([title, good], "feedback_guided", 1)
    assert set(made.texts) == {good.id}
    assert made.fallbacks == {}
    assert made.facts["review"]["passive"] >= 1
