"""The words of the report: what each metric, verdict, condition and outcome is called and means, in plain English.

Only names, one-line explanations and number formats belong here. What a judge deserves is ``verdicts``'s matter,
formulas stand in the methods template.
"""

from __future__ import annotations

from typing import NamedTuple

from storage.vocabulary import CONDITIONS, NULL_ARM, ORIGINAL


class Metric(NamedTuple):
    """How one metric is shown."""

    key: str
    label: str
    short: str
    meaning: str
    better: str
    """``low`` or ``high``."""
    digits: int = 2
    reference: float | None = None
    """A value to mark on the scale: chance, or no drift."""


METRICS: tuple[Metric, ...] = (
    Metric(
        "discriminability",
        "Discriminability",
        "Discr.",
        "Chance that two wordings of one paper score closer than wordings of two papers. 0.5 is coin tossing.",
        "high",
        2,
        0.5,
    ),
    Metric("mad", "MAD", "MAD", "Mean absolute drift: how many points a rewrite moves the score.", "low", 2, 0.0),
    Metric(
        "icc_a1",
        "ICC(A,1)",
        "ICC",
        "Share of score variance that is due to the paper, not its wording.",
        "high",
        2,
        0.0,
    ),
    Metric(
        "spr",
        "SPR",
        "SPR",
        "Signal to perturbation: variance between papers over that plus squared drift.",
        "high",
        2,
        0.0,
    ),
    Metric("drift_sd", "Drift SD", "Drift SD", "Standard deviation of the drift, in points.", "low", 2, 0.0),
    Metric(
        "human_spearman",
        "Human Spearman",
        "Human ρ",
        "Rank correlation of scores with the mean human score.",
        "high",
        2,
        0.0,
    ),
    Metric("human_mae", "Human MAE", "Human MAE", "Mean distance from the mean human score, in points.", "low", 2, 0.0),
)
"""In the leaderboard's order: first what separates a judge from a flat line, then what keeps it steady."""

EXTRA: dict[str, Metric] = {
    "human_mae_isotonic": Metric(
        "human_mae_isotonic",
        "Human MAE, mapped",
        "Mapped MAE",
        "Human MAE after a monotone map (isotonic, leave one out).",
        "low",
    ),
    "excess_mad": Metric(
        "excess_mad", "Excess MAD", "Excess MAD", "MAD beyond that of mere repeats of the original.", "low", 2, 0.0
    ),
    "noise_mad": Metric(
        "noise_mad", "Noise floor: MAD", "Noise MAD", "MAD of mere repeats of the original.", "low", 2, 0.0
    ),
    "noise_drift_sd": Metric(
        "noise_drift_sd", "Noise floor: drift SD", "Noise SD", "Drift SD of mere repeats.", "low", 2, 0.0
    ),
    "noise_icc_a1": Metric("noise_icc_a1", "Noise floor: ICC", "Noise ICC", "ICC of mere repeats.", "high", 2, 0.0),
    "noise_spr": Metric("noise_spr", "Noise floor: SPR", "Noise SPR", "SPR of mere repeats.", "high", 2, 0.0),
    "noise_discriminability": Metric(
        "noise_discriminability",
        "Noise floor: discriminability",
        "Noise discr.",
        "Discriminability of mere repeats: the most that rewording could leave.",
        "high",
        2,
        0.5,
    ),
    "icc_a1_cluster": Metric(
        "icc_a1_cluster",
        "ICC(A,1), by families",
        "ICC by families",
        "The same ICC, with an interval from family draws.",
        "high",
    ),
    "variance_family": Metric(
        "variance_family", "Variance: paper", "Var. paper", "Of the score, between papers.", "high"
    ),
    "variance_condition": Metric(
        "variance_condition", "Variance: condition", "Var. condition", "Of the score, between conditions.", "low"
    ),
    "variance_producer": Metric(
        "variance_producer", "Variance: producer", "Var. producer", "Of the score, between producers.", "low"
    ),
    "variance_family_x_condition": Metric(
        "variance_family_x_condition",
        "Variance: paper × condition",
        "Var. paper × cond.",
        "Of the score: conditions that act differently on different papers.",
        "low",
    ),
    "variance_residual": Metric(
        "variance_residual", "Variance: rest", "Var. rest", "Of the score, unexplained.", "low"
    ),
}
BY_KEY: dict[str, Metric] = {metric.key: metric for metric in METRICS} | EXTRA

VERDICTS: dict[str, tuple[str, str]] = {
    "best": ("Best here", "Tells papers apart, with the highest discriminability here."),
    "level": ("Level with best", "Tells papers apart; with these papers it cannot be told from the best judge."),
    "separates": ("Tells papers apart", "Its discriminability is above chance, but below the best judge’s."),
    "chance": ("Not above chance", "The interval of its discriminability includes 0.5: it may not tell papers apart."),
    "flat": (
        "Only looks stable",
        "Its small drift says nothing: one score for nearly everything, or no difference between papers.",
    ),
    "unmeasured": ("Not measurable", "Its discriminability has no value here."),
}
"""Verdict -> (chip, explanation)."""

_TITLES: dict[str, str] = {condition.name: condition.title for condition in CONDITIONS} | {
    ORIGINAL: "Original",
    "null_repeat": "Same text again",
    "null_recompile": "Recompiled only",
    "null_paraphrase": "Plain paraphrase",
}
_FLAGS: dict[str, str] = {
    "one_value": "One score takes over 90\u00a0% of its cells",
    "stable_at_chance": "Its MAD is in the lowest quarter, and its discriminability is not above chance",
    "few": "Under five of what it averages over",
    "degenerate": "Every draw gives the same value",
    "repeated_settings": "Wordings that got the very same scores make the interval an approximation",
    "bca_instead": "The bootstrap t interval failed, BCa stands in",
    "undefined_draws": "Some draws had no value",
}
STATES: dict[str, str] = {
    "complete": "Complete",
    "complete_with_gaps": "Complete, with gaps",
    "failed": "Failed",
    "running": "Still running",
}


def metric(key: str) -> Metric:
    """The metric of that name; one that this module does not know gets its key as label."""
    known = BY_KEY.get(key)
    return known or Metric(key, plain(key), plain(key), "", "high")


def plain(word: str) -> str:
    """A typed word (``does_not_build``) as a person reads it."""
    spaced = word.replace("_", " ").strip()
    return spaced[:1].upper() + spaced[1:]


def flag(word: str) -> str:
    """A flag of a number or judge as a person reads it."""
    return _FLAGS.get(word) or plain(word)


def condition_title(name: str) -> str:
    """A condition's title; an unknown one in plain words."""
    return _TITLES.get(name) or plain(name)


def is_null(condition: str) -> bool:
    """Whether a condition belongs to the null arm, which gives the noise floor."""
    return condition in NULL_ARM


def version_label(condition: str, producer: str) -> str:
    """How ``Results.scores`` names a version: ``original`` or ``condition/producer``."""
    if condition == ORIGINAL:
        return ORIGINAL
    return f"{condition}/{producer}" if producer else condition
