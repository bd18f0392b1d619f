"""Which protocols there are, and what a configuration is: an endpoint, a model, a protocol and parameters.

Here belong the registry and the configuration. What each protocol does is its own module's matter.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from storage.records import Record
from tasks.judge.cells import Manner, Scoring, TooLong
from tasks.judge.ideas import IDEA_JUDGES
from tasks.judge.inputs import InputKind
from tasks.judge.native.registry import NATIVE
from tasks.judge.pairwise import PAIRWISE
from tasks.judge.pointwise import SINGLE_ANSWERS
from tasks.judge.protocol import Protocol
from tasks.judge.reviews import REVIEWS
from tasks.judge.scicore.registry import SCICORE
from tasks.judge.single_call import SingleCall
from tasks.models.endpoints import EndpointSpec

_OURS = frozenset({"messages", "input", "model", "response_format", "text", "stream", "n", "instructions"})
"""Request fields that are not a suite's to set."""


class Registry:
    """Protocols by name."""

    def __init__(self) -> None:
        self._protocols: dict[str, Protocol] = {}

    def register(self, protocol: Protocol) -> Protocol:
        """Adds a protocol.

        Raises:
            ValueError: when the name is taken.
        """
        if protocol.name in self._protocols:
            raise ValueError(f"there is a protocol {protocol.name!r} already")
        self._protocols[protocol.name] = protocol
        return protocol

    def unregister(self, name: str) -> None:
        """Takes a protocol out again (tests that add one).

        Raises:
            KeyError: when there is none of that name.
        """
        del self._protocols[name]

    def __getitem__(self, name: str) -> Protocol:
        """The protocol of a name.

        Raises:
            ValueError: when there is none; suggests what may have been meant.
        """
        if name in self._protocols:
            return self._protocols[name]
        near = difflib.get_close_matches(name, self._protocols, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(f"unknown protocol {name!r}: {hint}known are {', '.join(sorted(self._protocols))}")

    def __contains__(self, name: object) -> bool:
        return name in self._protocols

    def __iter__(self) -> Iterator[str]:
        return iter(self._protocols)


PROTOCOLS = Registry()
for _protocol in (
    *REVIEWS,
    *PAIRWISE,
    *SINGLE_ANSWERS,
    *IDEA_JUDGES,
    *NATIVE,
    *SCICORE,
):
    PROTOCOLS.register(_protocol)


class Subset(Record):
    """The part of a suite's versions that a configuration judges; the original is always among them."""

    families: tuple[str, ...] | None = None
    """By name; None is the first ``first_families``, or all."""
    first_families: int | None = Field(default=None, ge=1)
    conditions: tuple[str, ...] | None = None
    producers: tuple[str, ...] | None = None


class Configuration(Record):
    """One way to judge, as a suite names it."""

    name: str = Field(min_length=1)
    """The label in the report; no part of any key."""
    endpoint: str
    """Name of an endpoint of the suite."""
    model: str = Field(min_length=1)
    protocol: str
    parameters: dict[str, Any] = Field(default_factory=dict)
    """Sampling parameters; null takes a parameter of the protocol away."""
    scoring: Scoring = "sampled"
    """``expectation``: over rating tokens, where the endpoint gives token probabilities."""
    options: dict[str, Any] = Field(default_factory=dict)
    """The protocol's own settings; each protocol checks its own. In a suite, ``NAME_file`` stands for a file that holds
    the text of ``NAME``, relative to the suite."""
    input: Literal["auto"] | InputKind = "auto"
    """``auto``: what the protocol reads by itself, else the PDF where the endpoint takes it natively and the version
    has one, else the text."""
    too_long: TooLong = "refuse"
    """What happens to a family of which a version does not fit the endpoint's ``context_tokens``."""
    repeats: int | None = Field(default=None, ge=1, le=100)
    """How often each version is asked about; None: as the suite says."""
    only: Subset | None = None
    """None: every version of the suite."""

    @field_validator("protocol")
    @classmethod
    def _known(cls, value: str) -> str:
        return PROTOCOLS[value].name

    @field_validator("parameters")
    @classmethod
    def _sampling_only(cls, value: dict[str, Any]) -> dict[str, Any]:
        if taken := sorted(_OURS & value.keys()):
            raise ValueError(f"{taken[0]!r} is set by the protocol or the endpoint, not here")
        return value

    @model_validator(mode="after")
    def _takes_options(self) -> Configuration:
        self.way()
        return self

    @model_validator(mode="after")
    def _can_be_expected(self) -> Configuration:
        protocol = self.way()
        scale = protocol.form.headline.scale if isinstance(protocol, SingleCall) else None
        if self.scoring == "expectation" and (scale is None or not scale.whole):
            raise ValueError(f"scoring: expectation needs a protocol with whole-number ratings, not {self.protocol!r}")
        return self

    def way(self) -> Protocol:
        """Its protocol, with its options."""
        return PROTOCOLS[self.protocol].with_options(self.options)

    def manner(self, endpoint: EndpointSpec) -> Manner:
        """How its cells are asked at that endpoint."""
        protocol = self.way()
        merged = {**protocol.parameters(self.scoring), **self.parameters}
        shown = self.input if self.input != "auto" or protocol.reads is None else protocol.reads
        return Manner(
            endpoint=endpoint, model=self.model, scoring=self.scoring, input=shown, too_long=self.too_long,
            parameters={name: value for name, value in merged.items() if value is not None},
        )
