"""One wanted injection: of which pair, which bias, in which style, by whom; and the keys of it and of its versions.

Here belongs identity. A version of a pair is one presentation of it: its text holds no label, and its facts say which
answer is better.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

from storage.keys import step_key
from storage.pairs import ORDERS, Order, Pair, Presentation
from storage.records import Family, Version
from storage.store import Store
from storage.vocabulary import BIASES, ORIGINAL, PUBLISHED
from tasks.rewrite.injections.prompts import instruction_hash
from tasks.rewrite.injections.rules import RULES_VERSION
from tasks.rewrite.injections.spec import InjectionPlan, Verifier
from tasks.rewrite.injections.templates import removals_hash, templates
from tasks.rewrite.spec import Producer

INJECTION_VERSION: Final = 1
"""Raised by hand when the code of this package changes which versions come out."""
ANY_STYLE: Final = "any"
"""The style of an injection without words (position)."""
Kind = Literal["rewriting", "identity", "prompt", "position"]
KIND_OF: Final[dict[str, Kind]] = {bias.name: bias.kind for bias in BIASES}


def pair_of(family: Family) -> Pair:
    """The pair that a family holds."""
    return Pair.model_validate(family.facts)


@dataclass(frozen=True)
class Injection:
    """One injection. ``producer`` is who writes a rewriting bias, None where templates or published answers serve."""

    family: Family
    bias: str
    style: str
    producer: Producer | None = None
    verifiers: tuple[Verifier, ...] = ()

    @property
    def kind(self) -> Kind:
        """How it is injected."""
        return KIND_OF[self.bias]

    @property
    def writer(self) -> str:
        """The label of who writes; ``-`` for nobody."""
        return self.producer.name if self.producer is not None else "-"

    def how(self) -> dict[str, Any]:
        """What can change the injected pair; no label among it."""
        if self.style == PUBLISHED:
            return {"kind": PUBLISHED}
        if self.kind == "position":
            return {"kind": "position"}
        if self.producer is None:
            return {"kind": "template", "template": templates(self.style)[self.bias].hash}
        if self.producer.endpoint is None:
            return {"kind": "rules", "version": RULES_VERSION, "seed": self.producer.spec.seed,
                    "template": templates(self.style)[self.bias].hash, "removals": removals_hash()}
        endpoint = self.producer.endpoint
        return {"kind": "model", "base_url": endpoint.identity, "api": endpoint.api, "model": self.producer.model,
                "parameters": self.producer.spec.parameters, "structured": endpoint.structured,
                "prompts": instruction_hash(self.bias, self.style)}

    @cached_property
    def key(self) -> str:
        """Of the step that makes it; known before it is made."""
        verified = [verifier.identity for verifier in self.verifiers] if self.is_verified else None
        return step_key("inject", INJECTION_VERSION, pair=self.family.key, bias=self.bias, how=self.how(),
                        verifiers=verified)

    @property
    def is_verified(self) -> bool:
        """Whether verifiers are asked: where answers are changed here."""
        return bool(self.verifiers) and self.kind in ("rewriting", "identity") and self.style != PUBLISHED

    def version_key(self, order: Order) -> str:
        """Of the version in one order."""
        return step_key("pair_version", INJECTION_VERSION, injection=self.key, order=order)

    def orders(self, both: bool) -> tuple[Order, ...]:
        """The orders it is shown in. Position is its own order: the better answer second, once."""
        return ORDERS if both and self.kind != "position" else ORDERS[:1]


def injections_of(family: Family, plan: InjectionPlan) -> Iterator[Injection]:
    """The injections a suite wants of a pair, in the order of the biases."""
    pair = pair_of(family)
    biases = plan.biases if pair.bias is None else tuple(bias for bias in plan.biases if bias == pair.bias)
    for bias in biases:
        kind = KIND_OF[bias]
        if kind == "position":
            yield Injection(family, bias, ANY_STYLE)
        elif pair.rewritten is not None and pair.bias == bias:
            yield Injection(family, bias, PUBLISHED)
        else:
            writers: tuple[Producer | None, ...] = plan.producers if kind == "rewriting" else (None,)
            for style in plan.styles:
                for writer in writers:
                    yield Injection(family, bias, style, writer, plan.verifiers)


def original_key(family: Family, order: Order) -> str:
    """The key of a pair's original version in one order."""
    return step_key("pair_original", INJECTION_VERSION, pair=family.key, order=order)


@dataclass(frozen=True, slots=True)
class Wording:
    """An injected pair before it is put in an order."""

    chosen: str
    rejected: str
    between: str | None = None
    after: str | None = None
    """``{rejected}`` in it becomes the letter of the worse answer."""


def presented(pair: Pair, wording: Wording, *, better_first: bool) -> Presentation:
    """What is shown when the better answer stands first, or second."""
    first, second = (wording.chosen, wording.rejected) if better_first else (wording.rejected, wording.chosen)
    after = None if wording.after is None else wording.after.replace("{rejected}", "B" if better_first else "A")
    return Presentation(question=pair.question, first=first, second=second, between=wording.between, after=after)


def is_better_first(pair: Pair, order: Order) -> bool:
    """Whether the better answer stands first in an order."""
    return (pair.label == "response1") == (order == "given")


def version_row(
    store: Store, family: Family, key: str, shown: Presentation, facts: dict[str, Any]
) -> Version:
    """The version row of a presentation; its text is stored, the row is not appended here."""
    return Version(
        key=key, family_key=family.key, condition=facts["bias"], text_hash=store.put_text(shown.text),
        words=len(shown.first.split()) + len(shown.second.split()), facts=facts,
    )


def original_versions(store: Store, family: Family) -> list[Version]:
    """A pair as it is, in both orders."""
    pair = pair_of(family)
    wording = Wording(pair.chosen, pair.rejected)
    made = []
    for order in ORDERS:
        first = is_better_first(pair, order)
        facts = {"bias": ORIGINAL, "order": order, "better": "first" if first else "second", "style": None}
        shown = presented(pair, wording, better_first=first)
        made.append(version_row(store, family, original_key(family, order), shown, facts))
    return made
