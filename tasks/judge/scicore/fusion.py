"""SciCore's fusion: the weighted mean of what a review of the manuscript and a review of its record say.

Here belong the pure function of two judgements, and the protocol that brings both about. The fusion makes no call and
rounds nothing; both reviews are the same questions that their own configurations ask, so they are bought once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import Field, ValidationError

from storage.records import Judgement, Record
from storage.vocabulary import Outcome
from tasks.judge.cells import Cell, Manner, Scoring
from tasks.judge.protocol import Bench, Planned, Protocol, judgement_row
from tasks.judge.reviews import PERSISTENT, STANDARD, STRICT
from tasks.judge.scicore.branch import CoreReview
from tasks.models.asks import Ask

MANUSCRIPT = {"standard": STANDARD, "strict": STRICT, "persistent": PERSISTENT}


class FusionOptions(Record):
    """Settings of the fusion, fixed before results are seen."""

    alpha: float = Field(default=0.5, ge=0, le=1)
    """Weight of the manuscript's review."""
    manuscript: Literal["standard", "strict", "persistent"] = "strict"


def fused(manuscript: Mapping[str, float], core: Mapping[str, float], alpha: float) -> dict[str, float]:
    """``alpha`` x manuscript + (1 - ``alpha``) x core on every dimension that both have; not rounded.

    Args:
        manuscript: scores of the review of the whole text, by dimension.
        core: scores of the review of the record.
        alpha: weight of the first, from 0 to 1.
    """
    return {name: alpha * value + (1 - alpha) * core[name] for name, value in manuscript.items() if name in core}


class SciCore(Protocol):
    """Two branches, one score: three calls, none of them for the fusion."""

    calls_per_cell = 3

    def __init__(self, name: str, core: CoreReview, options: FusionOptions | None = None) -> None:
        self.name = name
        self.core = core
        self.options = options or FusionOptions()
        self.manuscript = MANUSCRIPT[self.options.manuscript]
        low, expected, high = core.output_tokens
        more = self.manuscript.output_tokens
        self.output_tokens = (low + more[0], expected + more[1], high + more[2])
        self.prompt_chars = core.prompt_chars + self.manuscript.prompt_chars

    def with_options(self, options: Mapping[str, Any]) -> Self:
        """The fusion with a configuration's options.

        Raises:
            ValueError: for an option that it does not have, or a wrong value.
        """
        try:
            return type(self)(self.name, self.core, FusionOptions.model_validate(dict(options)))
        except ValidationError as error:
            first = error.errors()[0]
            raise ValueError(f"options.{'.'.join(map(str, first['loc']))} of {self.name}: {first['msg']}") from error

    def identity(self, scoring: Scoring) -> dict[str, Any]:
        """Both branches, and the weight."""
        return {"kind": "fusion", "alpha": self.options.alpha, "manuscript": self.manuscript.identity(scoring),
                "core": self.core.identity(scoring)}

    def parser(self, scoring: Scoring) -> str:
        """The reviews'."""
        return self.manuscript.parser(scoring)

    def parameters(self, scoring: Scoring) -> dict[str, Any]:
        """The reviews'."""
        return self.manuscript.parameters(scoring)

    def questions(self, manner: Manner) -> list[str]:
        """Those of both branches: configurations that ask them alone come before or after, never at the same time."""
        return [*self.manuscript.questions(manner), *self.core.questions(manner), *super().questions(manner)]

    def planned(self, manner: Manner) -> list[Planned]:
        """Both branches; nothing for the fusion."""
        return [*self.manuscript.planned(manner), *self.core.planned(manner)]

    def first_ask(self, bench: Bench, cell: Cell) -> Ask:
        """The manuscript's review."""
        return self.manuscript.first_ask(bench, cell)

    def foreseen(self, bench: Bench, cell: Cell) -> list[Ask]:
        """The extraction."""
        return [self.core.first_ask(bench, cell)]

    def notes(self) -> dict[str, str]:
        """The weight and the branches."""
        alpha = self.options.alpha
        return {"fusion": f"{alpha:g} x {self.manuscript.name} + {1 - alpha:g} x {self.core.name}"}

    async def judge(self, bench: Bench, cell: Cell) -> Judgement:
        """Both branches, then their fusion; without one of them there is no score."""
        parts = [
            await self.manuscript.answer(bench, cell, bench.first_asks[cell.key]),
            await self.core.judge(bench, cell),
        ]
        found: dict[str, Any] = {
            "call_keys": [key for part in parts for key in part.call_keys],
            "attempt_ids": [attempt for part in parts for attempt in part.attempt_ids],
            "flags": [flag for part in parts for flag in part.flags],
        }
        for branch, part in zip(("manuscript", "core"), parts, strict=True):
            if part.outcome is not Outcome.answered:
                return judgement_row(bench, self, cell, outcome=part.outcome, scores={},
                                     reason=f"{branch}: {part.reason or part.outcome.value}", **found)
        scores = fused(parts[0].scores, parts[1].scores, self.options.alpha)
        return judgement_row(bench, self, cell, outcome=Outcome.answered, reason=None, scores=scores, **found)
