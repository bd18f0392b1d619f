"""What injections a suite wants and who verifies them: as a suite describes a verifier, and as it is resolved.

Here belong the records. Producers are those of the rewrite stage; how an injection is made is ``making``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from storage.errors import SuiteError
from tasks.models.endpoints import EndpointSpec
from tasks.rewrite.spec import Producer


class VerifierSpec(BaseModel):
    """A verifier of a suite. Frozen; unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1)
    """The label people use; no part of any key."""
    endpoint: str
    """Name of an endpoint of the suite."""
    model: str = Field(min_length=1)
    parameters: dict[str, Any] = Field(default_factory=lambda: {"temperature": 0})


@dataclass(frozen=True, slots=True)
class Verifier:
    """A verifier with its endpoint."""

    spec: VerifierSpec
    endpoint: EndpointSpec

    @property
    def identity(self) -> dict[str, Any]:
        """What of a verifier can change its vote; no label among it."""
        return {"base_url": self.endpoint.identity, "api": self.endpoint.api, "model": self.spec.model,
                "parameters": self.spec.parameters, "structured": self.endpoint.structured}


@dataclass(frozen=True, slots=True)
class InjectionPlan:
    """Which injections a suite wants."""

    biases: tuple[str, ...]
    styles: tuple[str, ...]
    """Template sets."""
    producers: tuple[Producer, ...] = ()
    """Who writes the seven rewriting biases; each writes all of them, independently."""
    verifiers: tuple[Verifier, ...] = ()
    both_orders: bool = True
    """Whether injected pairs are shown in both orders too; originals always are."""


def resolve_verifier(spec: VerifierSpec, endpoints: Mapping[str, EndpointSpec]) -> Verifier:
    """A verifier with its endpoint.

    Raises:
        SuiteError: when it names an endpoint that the suite does not have, or one that only scores.
    """
    if spec.endpoint not in endpoints:
        known = ", ".join(sorted(endpoints)) or "none"
        raise SuiteError(f"rewrite.verifiers: {spec.name}: {spec.endpoint!r} is not among judge.endpoints ({known})")
    if endpoints[spec.endpoint].api == "reward":
        raise SuiteError(f"rewrite.verifiers: {spec.name}: {spec.endpoint!r} only scores; a verifier must answer")
    return Verifier(spec, endpoints[spec.endpoint])
