"""The analyses that a suite may name, each with its own fields.

Here belongs what is asked for. Computing is each analysis's own module; names of configurations are checked by the
suite.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from storage.records import Record

CRITERIA: tuple[str, ...] = ("soundness", "presentation", "contribution", "confidence")
COMPARED: tuple[str, ...] = ("mad", "drift_sd", "icc_a1", "spr", "discriminability", "human_mae", "human_spearman")


class _Named(Record):
    name: str = Field(min_length=1)
    """The heading in the report."""


class AlphaSweep(_Named):
    """The fusion at every weight from 0 to 1; no call is made for it."""

    kind: Literal["alpha_sweep"]
    manuscript: str
    core: str
    steps: int = Field(default=11, ge=2, le=101)


class EqualAverage(_Named):
    """The mean of several configurations as one judge: a control for the fusion."""

    kind: Literal["equal_average"]
    configurations: tuple[str, ...] = Field(min_length=2)


class Backbones(_Named):
    """One way to judge on several models."""

    kind: Literal["backbones"]
    configurations: tuple[str, ...] = Field(min_length=2)


class Criteria(_Named):
    """Stability of the scores beside the overall one."""

    kind: Literal["criteria"]
    configurations: tuple[str, ...] = Field(min_length=1)
    dimensions: tuple[str, ...] = CRITERIA


class Paired(_Named):
    """Two configurations compared by the same draws of families."""

    kind: Literal["paired"]
    pairs: tuple[tuple[str, str], ...] = Field(min_length=1)
    metrics: tuple[str, ...] = ("mad", "icc_a1", "spr", "discriminability", "human_mae")

    @model_validator(mode="after")
    def _known(self) -> Paired:
        if unknown := [metric for metric in self.metrics if metric not in COMPARED]:
            raise ValueError(f"unknown metric {unknown[0]!r}; known are {', '.join(COMPARED)}")
        return self


class Repeats(_Named):
    """The same question asked again: spread between repeats, and metrics of each repeat alone."""

    kind: Literal["repeats"]
    configurations: tuple[str, ...] = Field(min_length=1)


class ConditionEffects(_Named):
    """Mean shift by condition and producer, and its correlation between repeats."""

    kind: Literal["condition_effects"]
    configurations: tuple[str, ...] = Field(min_length=1)


class EmbeddingSeparation(_Named):
    """Cosine of records: versions of one paper against versions of others, by producer."""

    kind: Literal["embedding_separation"]
    configuration: str
    """One whose protocol makes a record."""
    endpoint: str | None = None
    """Where texts are embedded (``api: embeddings``); None: hashed word n-grams, made here."""
    model: str | None = None

    @model_validator(mode="after")
    def _whole(self) -> EmbeddingSeparation:
        if (self.endpoint is None) != (self.model is None):
            raise ValueError("endpoint and model go together")
        return self


AnalysisSpec = Annotated[
    AlphaSweep | EqualAverage | Backbones | Criteria | Paired | Repeats | ConditionEffects | EmbeddingSeparation,
    Field(discriminator="kind"),
]


def configurations_of(spec: AnalysisSpec) -> tuple[str, ...]:
    """The configurations that an analysis names."""
    if isinstance(spec, AlphaSweep):
        return spec.manuscript, spec.core
    if isinstance(spec, Paired):
        return tuple(dict.fromkeys(name for pair in spec.pairs for name in pair))
    if isinstance(spec, EmbeddingSeparation):
        return (spec.configuration,)
    return spec.configurations
