"""The review form: which fields an answer has, on which scales, and the JSON schema that asks for it.

Here belongs what is asked for. The words that ask are in ``prompts/``, and how answers are read is ``parse``.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal

from pydantic import model_validator

from storage.keys import canonical_json, content_hash
from storage.records import Record
from tasks.models.scales import FIVE, FOUR, Scale

OVERALL = "overall"


class Field(Record):
    """One field of the form. A field with a scale is a score; it is stored under its dimension."""

    name: str
    kind: Literal["score", "text", "list", "flag"]
    scale: Scale | None = None
    dimension: str | None = None
    """``overall`` for the headline score; None for fields that carry no score."""
    labels: tuple[str, ...] = ()
    """Other labels under which a Markdown review may give this score, besides the field's own name."""
    max_items: int | None = None

    @model_validator(mode="after")
    def _whole(self) -> Field:
        if (self.kind == "score") != (self.scale is not None and self.dimension is not None):
            raise ValueError(f"field {self.name}: a score, and only a score, has a scale and a dimension")
        return self

    def json_schema(self) -> dict[str, Any]:
        """The JSON schema of the field."""
        if self.scale is not None:
            return self.scale.json_schema()
        if self.kind == "list":
            limit = {} if self.max_items is None else {"maxItems": self.max_items}
            return {"type": "array", "items": {"type": "string"}, **limit}
        return {"type": "boolean" if self.kind == "flag" else "string"}


class Form(Record):
    """The fields of an answer in order."""

    name: str
    fields: tuple[Field, ...]
    is_bare: bool = False
    """The whole answer may be the number itself, without any label."""

    @model_validator(mode="after")
    def _one_headline(self) -> Form:
        if sum(field.dimension == OVERALL for field in self.fields) != 1:
            raise ValueError(f"form {self.name}: exactly one field must have the dimension {OVERALL!r}")
        return self

    @property
    def headline(self) -> Field:
        """The field with the overall score."""
        return next(field for field in self.fields if field.dimension == OVERALL)

    @property
    def scores(self) -> tuple[Field, ...]:
        """The fields that carry scores."""
        return tuple(field for field in self.fields if field.scale is not None)

    def json_schema(self) -> dict[str, Any]:
        """The JSON schema of the whole answer: every field required, nothing else allowed."""
        return {
            "type": "object",
            "properties": {field.name: field.json_schema() for field in self.fields},
            "required": [field.name for field in self.fields],
            "additionalProperties": False,
        }

    @cached_property
    def hash(self) -> str:
        """Identity of the form: fields, order and scales, not its name."""
        return content_hash(canonical_json(self.model_dump(mode="json", exclude={"name"})))


RATING_LABELS = (
    "overall rating", "final rating", "overall", "overall score", "final score", "overall assessment", "score",
)


def review_form(name: str, scale: Scale, *, max_items: int | None = None) -> Form:
    """The form of a top venue's review, with the rating on ``scale``; lists no longer than ``max_items``."""
    return Form(name=name, fields=(
        Field(name="summary", kind="text"),
        Field(name="soundness", kind="score", scale=FOUR, dimension="soundness"),
        Field(name="presentation", kind="score", scale=FOUR, dimension="presentation"),
        Field(name="contribution", kind="score", scale=FOUR, dimension="contribution"),
        Field(name="strengths", kind="list", max_items=max_items),
        Field(name="weaknesses", kind="list", max_items=max_items),
        Field(name="questions", kind="list", max_items=max_items),
        Field(name="ethics_flag", kind="flag"),
        Field(name="rating", kind="score", scale=scale, dimension=OVERALL, labels=RATING_LABELS),
        Field(name="confidence", kind="score", scale=FIVE, dimension="confidence"),
    ))


def rating_form(name: str, scale: Scale) -> Form:
    """A form with the rating alone, which may be the whole answer."""
    headline = Field(name="rating", kind="score", scale=scale, dimension=OVERALL, labels=RATING_LABELS)
    return Form(name=name, fields=(headline,), is_bare=True)
