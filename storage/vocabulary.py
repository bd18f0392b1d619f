"""The words of the field that several stages share: conditions, outcomes, rating scales.

Names only. How a condition is produced is the rewrite stage's matter, how an outcome comes about is the
models workshop's.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, NamedTuple

ORIGINAL = "original"


class Condition(NamedTuple):
    """One rhetorical condition of RobustReview and its name in the authors' public release."""

    name: str
    release_name: str
    title: str
    parent: str
    """The version it is made from: ``original``, or the previous round."""


CONDITIONS: tuple[Condition, ...] = (
    Condition("novelty_stance", "claim_novelty_stance_positive", "Novelty stance", ORIGINAL),
    Condition("scope_framing", "scope_generalization_positive", "Scope framing", ORIGINAL),
    Condition("evidence_framing", "evidence_quantitative_framing_positive", "Evidence framing", ORIGINAL),
    Condition("contribution_salience", "contribution_structure_positive", "Contribution salience", ORIGINAL),
    Condition("technical_register", "technical_register_formalism_positive", "Technical register", ORIGINAL),
    Condition("linguistic_complexity", "lexical_complexity_positive", "Linguistic complexity", ORIGINAL),
    Condition("joint", "combo_rewrite_round_01", "Joint rewrite", ORIGINAL),
    Condition("joint_r2", "combo_rewrite_round_02", "Joint rewrite, round 2", "joint"),
    Condition("joint_r3", "combo_rewrite_round_03", "Joint rewrite, round 3", "joint_r2"),
    Condition("feedback_guided", "review_final", "Guided by feedback", ORIGINAL),
)
CONDITION_NAMES: tuple[str, ...] = tuple(condition.name for condition in CONDITIONS)
NULL_ARM: tuple[str, ...] = ("null_repeat", "null_recompile", "null_paraphrase")


class Outcome(StrEnum):
    """How a call, or the judgement read from it, ended. Only ``answered`` carries scores."""

    answered = "answered"
    truncated = "truncated"
    refused = "refused"
    filtered = "filtered"
    empty = "empty"
    unparsable = "unparsable"
    out_of_range = "out_of_range"
    context_too_long = "context_too_long"
    rate_limited = "rate_limited"
    quota_gone = "quota_gone"
    provider_error = "provider_error"
    timed_out = "timed_out"
    bad_request = "bad_request"
    unauthorised = "unauthorised"
    over_budget = "over_budget"
    cancelled = "cancelled"


TRANSIENT: frozenset[Outcome] = frozenset(
    {
        Outcome.rate_limited,
        Outcome.quota_gone,
        Outcome.provider_error,
        Outcome.timed_out,
        Outcome.unauthorised,
        Outcome.over_budget,
        Outcome.cancelled,
    }
)
"""Asked again by the next run without being told to; the others are asked again only by ``evenhand retry``."""

ICLR_SCALE: tuple[int, ...] = (1, 3, 5, 6, 8, 10)


class Bias(NamedTuple):
    """One bias of JudgeBiasBench: its name in the published files (``NAME_bias.jsonl``), and how it is injected."""

    name: str
    title: str
    kind: Literal["rewriting", "identity", "prompt", "position"]
    """``rewriting`` and ``identity`` change the answers, ``prompt`` the words around them, ``position`` their order."""
    dimension: str


BIASES: tuple[Bias, ...] = (
    Bias("length", "Length", "rewriting", "superficial quality"),
    Bias("authority", "Authority", "rewriting", "superficial quality"),
    Bias("beauty", "Beauty", "rewriting", "superficial quality"),
    Bias("assertiveness", "Assertiveness", "rewriting", "superficial quality"),
    Bias("sycophancy", "Sycophancy", "rewriting", "superficial quality"),
    Bias("sentiment", "Sentiment", "rewriting", "superficial quality"),
    Bias("concreteness", "Concreteness", "rewriting", "superficial quality"),
    Bias("gender", "Gender", "identity", "diversity"),
    Bias("race", "Race", "identity", "diversity"),
    Bias("bandwagon", "Bandwagon", "prompt", "context"),
    Bias("superficial_reflection", "Superficial reflection", "prompt", "context"),
    Bias("position", "Position", "position", "presentation"),
)
BIAS_NAMES: tuple[str, ...] = tuple(bias.name for bias in BIASES)
ANSWER_BIASES: frozenset[str] = frozenset(bias.name for bias in BIASES if bias.kind in ("rewriting", "identity"))
"""The nine that change the answers themselves: the only ones that a judge of single answers can show."""
TEMPLATE_SETS: tuple[str, ...] = ("tuned", "held_out")
"""Injection styles: those a judge may have been trained against, and those kept back for testing it."""
PUBLISHED = "published"
"""The style of pairs that were imported with their injected answers."""
