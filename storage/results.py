"""What ``aggregate`` hands to ``publish``: every number of the report, as records.

``metrics.json`` is the JSON of ``Results``. No number is here without the n it rests on; undefined is
``value=None`` with a reason.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from storage.records import Record


class Estimate(Record):
    """A number with its interval.

    ``value`` is None exactly when ``reason`` says why; ``low``/``high`` are None where no interval is defined.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    """How many things of the kind the number averages over (pairs, families)."""
    reason: str | None = None
    flags: list[str] = Field(default_factory=list)
    """``degenerate`` (all draws equal), ``few`` (n under 5) ..."""
    method: str | None = None
    """Of the interval: ``bootstrap_t``, ``bca``, ``bca_t``, ``percentile``, ``jackknife_t``, ``f``, ``t``,
    ``wilson``."""
    standard_error: float | None = None
    """SD over the bootstrap draws, where there are any."""
    interval_reason: str | None = None
    """Why the value has no interval, or why its interval is a single point."""


ROBUST_METRICS: tuple[str, ...] = (
    "mad",
    "drift_sd",
    "icc_a1",
    "spr",
    "discriminability",
    "human_mae",
    "human_spearman",
)


class CellCounts(Record):
    """What a configuration was asked for and what it has."""

    wanted: int
    answered: int
    missing: dict[str, int] = Field(default_factory=dict)
    """By outcome or reason; ``not_run`` for cells without any attempt."""


class Spend(Record):
    """What calls cost. ``usd`` is None when a price is unknown."""

    calls: int = 0
    attempts: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0
    seconds: float = 0.0


class ConfigurationResult(Record):
    """One row of the leaderboard."""

    name: str
    title: str | None = None
    """What a reader calls it, where the name says little: ``steady and discriminating (standard)``."""
    endpoint: str
    model: str
    protocol: str
    kind: str
    """``openai``, ``phantom`` or ``local``."""
    metrics: dict[str, Estimate]
    """By the names in ``ROBUST_METRICS``; further ones (``human_mae_isotonic``, ``excess_mad``) may follow."""
    planted: dict[str, float | None] | None = None
    """For phantoms: the values that the planted parameters imply for these families and versions."""
    false_robustness: list[str] = Field(default_factory=list)
    """Why the judge only looks stable; empty when it does not."""
    histogram: dict[str, int] = Field(default_factory=dict)
    """Score (as text) -> cells."""
    entropy_bits: float | None = None
    top_share: float | None = None
    cells: CellCounts
    spend: Spend = Spend()
    scores: dict[str, dict[str, float | None]] = Field(default_factory=dict)
    """family -> version label (``original`` or ``condition/producer``) -> score."""


class Effect(Record):
    """Mean shift against the original, for one condition and producer, over families (cluster interval)."""

    configuration: str
    condition: str
    producer: str
    shift: Estimate


class Exclusion(Record):
    """A family or variant that is not in the numbers, and why."""

    family: str
    condition: str
    producer: str
    reason: str
    detail: str | None = None


class FamilyResult(Record):
    """A family as the report names it."""

    family: str
    title: str | None
    source_kind: str
    pages: int | None
    words: int
    human_score: float | None
    versions: int
    flags: list[str] = Field(default_factory=list)


class VersionResult(Record):
    """A version as the report names it."""

    family: str
    condition: str
    producer: str
    pages: int | None
    words: int
    segments: int
    segments_changed: int
    segments_fallback: int
    facts: dict[str, Any] = Field(default_factory=dict)
    key: str = ""
    """Of the version in the store, so that its own page can be made."""


class Comparison(Record):
    """Two configurations compared on one metric by paired family draws; ``p_holm`` is corrected over all shown."""

    metric: str
    first: str
    second: str
    difference: Estimate
    p_value: float | None = None
    p_holm: float | None = None
    standard_error: float | None = None
    """Of the difference, over the paired draws."""
    families_needed: int | None = None
    """Families with which a difference of this size shows with probability 0.8 at the 0.05 level."""


class Power(Record):
    """What a number of families can show of a true difference between two judges (0.05 two-sided, probability 0.8)."""

    metric: str
    families: int
    pairs: int
    """Comparisons whose standard errors this rests on."""
    detectable: float
    """The difference that shows for the middle pair of judges; ``_low`` and ``_high`` for the quarters."""
    detectable_low: float
    detectable_high: float
    needed: dict[str, int] = Field(default_factory=dict)
    """True difference (as text) -> families with which it shows for the middle pair."""


class ReviewPair(Record):
    """One judge's answers to an original and to a version of it; ``Results.sections["reviews"]`` is a list of these."""

    configuration: str
    family: str
    condition: str
    producer: str
    original: str
    reworded: str
    is_cut: bool = False
    """Whether a text was too long to be shown in full."""


class Certified(Record):
    """The numbers again on the versions that passed the fidelity audit (``Results.sections["certified"]``)."""

    rule: str
    """What a version needs to count, in words."""
    versions: int
    of: int
    configurations: dict[str, dict[str, Estimate]]
    """Judge -> metric -> number on the certified versions (all draws paired with those of the whole)."""


class Results(Record):
    """Everything the report of one suite shows."""

    schema_version: int = 1
    suite: str
    benchmark: str
    title: str
    made_at: datetime
    state: str
    """``complete``, ``complete_with_gaps`` or ``failed``."""
    families: list[FamilyResult]
    versions: list[VersionResult]
    conditions: list[str]
    producers: list[str]
    configurations: list[ConfigurationResult]
    effects: list[Effect] = Field(default_factory=list)
    comparisons: list[Comparison] = Field(default_factory=list)
    """First the tested ones (with p-values), then differences that are only described (``p_value`` is None)."""
    power: list[Power] = Field(default_factory=list)
    exclusions: list[Exclusion] = Field(default_factory=list)
    spend: Spend = Spend()
    provenance: dict[str, Any] = Field(default_factory=dict)
    """Versions, seeds, hashes of suite and prompts, draws, machine, dates: shown as a table."""
    sections: dict[str, Any] = Field(default_factory=dict)
    """Further parts by name (``style``, ``bias``, ``analyses``), each with its own record's JSON."""
