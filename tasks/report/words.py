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
}
BY_KEY: dict[str, Metric] = {metric.key: metric for metric in METRICS} | EXTRA

VERDICTS: dict[str, tuple[str, str]] = {
    "lead": ("Leads", "Tells papers apart, and no other judge here is measurably better at it."),
    "separates": ("Tells papers apart", "Its discriminability is above chance, but below the best judge’s."),
    "chance": (
        "Not above chance",
        "The interval of its discriminability includes 0.5: it may not tell papers apart at all.",
    ),
    "flat": ("Only looks stable", "Its small drift comes from giving nearly everything the same score."),
    "unmeasured": ("Not measurable", "Its discriminability has no value here."),
}
"""Verdict -> (chip, explanation)."""

_TITLES: dict[str, str] = {condition.name: condition.title for condition in CONDITIONS} | {
    ORIGINAL: "Original",
    "null_repeat": "Same text again",
    "null_recompile": "Recompiled only",
    "null_paraphrase": "Plain paraphrase",
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
