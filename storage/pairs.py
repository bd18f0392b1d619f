"""Preference pairs: what an item of JudgeBiasBench is, and what of it one judge is shown.

Here belong the two records that ingest, rewrite, judge and the flows share. A ``Presentation`` holds no label: which
answer is better is known to the pair and to the facts of its versions, never to what a judge reads.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from storage.records import Record
from storage.vocabulary import BIAS_NAMES

Side = Literal["response1", "response2"]
Order = Literal["given", "swapped"]
ORDERS: tuple[Order, ...] = ("given", "swapped")


class Rewritten(Record):
    """Injected answers that came with a published record, in the order of the originals."""

    response1: str = Field(min_length=1)
    response2: str = Field(min_length=1)


class Pair(Record):
    """A question, two answers, and which of them is better."""

    question: str = Field(min_length=1)
    response1: str = Field(min_length=1)
    response2: str = Field(min_length=1)
    label: Side
    topic: str | None = None
    bias: str | None = None
    """Published records belong to one bias; ours (None) are used for every bias of the suite."""
    rewritten: Rewritten | None = None

    @model_validator(mode="after")
    def _whole(self) -> Pair:
        if self.bias is not None and self.bias not in BIAS_NAMES:
            raise ValueError(f"unknown bias {self.bias!r}; known are {', '.join(BIAS_NAMES)}")
        if self.rewritten is not None and self.bias is None:
            raise ValueError("rewritten answers need the bias they show")
        if self.response1 == self.response2:
            raise ValueError("the two answers are the same")
        return self

    @property
    def chosen(self) -> str:
        """The better answer."""
        return self.response1 if self.label == "response1" else self.response2

    @property
    def rejected(self) -> str:
        """The other answer."""
        return self.response2 if self.label == "response1" else self.response1


class Presentation(Record):
    """What a judge is shown of a pair, in this order. Its JSON is the text of a version."""

    question: str
    first: str
    """The answer that is called A."""
    second: str
    """The answer that is called B."""
    between: str | None = None
    """Words put between the answers (superficial reflection)."""
    after: str | None = None
    """Words put at the end of the prompt (bandwagon)."""

    @property
    def text(self) -> str:
        """The one JSON text of the presentation: equal presentations are one question to every judge."""
        return self.model_dump_json(exclude_none=True)

    @classmethod
    def read(cls, text: str) -> Presentation:
        """The presentation that a version's text holds.

        Raises:
            pydantic.ValidationError: when the text is not one.
        """
        return cls.model_validate_json(text)
