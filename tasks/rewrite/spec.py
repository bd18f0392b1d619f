"""A producer: who rewrites. As a suite describes it, as it is resolved, and its identity in keys.

Here belongs what a producer is. How it rewrites is in ``rules/`` and ``model.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from storage.errors import SuiteError
from tasks.models.endpoints import EndpointSpec
from tasks.rewrite.prompts import prompts_hash
from tasks.rewrite.rules.table import tables_hash

RULES_VERSION = 1
"""Raised by hand when the rule engine's code changes what comes out; the tables have their own hash."""


class ProducerSpec(BaseModel):
    """A producer of a suite. Frozen; unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1)
    """The label people use; no part of any key."""
    kind: Literal["rules", "model"] = "rules"
    """``model`` where an endpoint is given."""
    seed: int = 0
    """Rules: another seed is another producer. Models: sent only where ``parameters`` holds it."""
    endpoint: str | None = None
    """Name of an endpoint of the suite."""
    model: str | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)
    review_endpoint: str | None = None
    """Who reviews the draft for the feedback-guided condition; None is the producer's own endpoint."""
    review_model: str | None = None
    """None is the producer's own model."""

    @model_validator(mode="before")
    @classmethod
    def _kind_of_endpoint(cls, given: Any) -> Any:
        if isinstance(given, dict) and "kind" not in given and given.get("endpoint") is not None:
            return {"kind": "model", **given}
        return given

    @model_validator(mode="after")
    def _complete(self) -> ProducerSpec:
        if self.kind == "model" and (self.endpoint is None or self.model is None):
            raise ValueError("a producer of kind model needs endpoint and model")
        given = {"endpoint": self.endpoint, "model": self.model, "review_endpoint": self.review_endpoint,
                 "review_model": self.review_model, "parameters": self.parameters or None}
        unused = [name for name, value in given.items() if value is not None]
        if self.kind == "rules" and unused:
            raise ValueError(f"{unused[0]} has no meaning for a producer of kind rules")
        return self


@dataclass(frozen=True, slots=True)
class Producer:
    """A producer with the endpoints it names."""

    spec: ProducerSpec
    endpoint: EndpointSpec | None = None
    reviewer: EndpointSpec | None = None

    @property
    def name(self) -> str:
        """The label people use."""
        return self.spec.name

    @property
    def model(self) -> str:
        """The model that rewrites.

        Raises:
            ValueError: for a producer of kind rules.
        """
        if self.spec.model is None:
            raise ValueError(f"producer {self.name} asks no model")
        return self.spec.model

    @property
    def review_model(self) -> str:
        """The model that reviews the draft."""
        return self.spec.review_model or self.model

    def identity(self, condition: str) -> dict[str, Any]:
        """What of a producer can change a rewrite under a condition; no label among it."""
        if self.endpoint is None:
            return {"kind": "rules", "version": RULES_VERSION, "seed": self.spec.seed, "tables": tables_hash()}
        asked: dict[str, Any] = {
            "kind": "model", "base_url": self.endpoint.identity, "api": self.endpoint.api, "model": self.model,
            "parameters": self.spec.parameters, "structured": self.endpoint.structured,
            "context_tokens": self.endpoint.context_tokens, "prompts": prompts_hash(condition),
        }
        if condition == "feedback_guided" and self.reviewer is not None:
            asked["reviewer"] = {"base_url": self.reviewer.identity, "api": self.reviewer.api,
                                 "structured": self.reviewer.structured, "model": self.review_model}
        return asked


def resolve(spec: ProducerSpec, endpoints: Mapping[str, EndpointSpec]) -> Producer:
    """A producer with its endpoints.

    Raises:
        SuiteError: when it names an endpoint that the suite does not have, or one that cannot write.
    """
    if spec.kind == "rules":
        return Producer(spec)
    found: list[EndpointSpec] = []
    for field, name in (("endpoint", spec.endpoint), ("review_endpoint", spec.review_endpoint or spec.endpoint)):
        if name is None or name not in endpoints:
            known = ", ".join(sorted(endpoints)) or "none"
            raise SuiteError(f"rewrite.producers: {spec.name}: {field} {name!r} is not among judge.endpoints ({known})")
        if endpoints[name].kind == "phantom":
            raise SuiteError(f"rewrite.producers: {spec.name}: {field} {name!r} is a phantom, which only judges")
        found.append(endpoints[name])
    return Producer(spec, found[0], found[1])
