"""Making the variants of some ideas: words, audit, remakes, rows; what is there already is not made again.

Here belongs the order of it. What a variant says is ``rules`` and ``model``, whether it is valid is ``audit``;
Prefect's side is ``tasks``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from storage.ideas import IDENTITY, STYLE_VARIANT, VARIANT_NAMES, Idea
from storage.keys import step_key
from storage.records import Call, Family, Step, Version
from storage.store import Store
from storage.vocabulary import TRANSIENT, Outcome
from tasks.models.engine import Engine
from tasks.rewrite.ideas.audit import Audit, audit_identity, read_audit, verdict, wanted_audit
from tasks.rewrite.ideas.model import problem, read_idea, wanted_variant
from tasks.rewrite.ideas.prompts import variant_prompts_hash
from tasks.rewrite.ideas.rules import IDEA_RULES_VERSION, rules_hash, vary_by_rules
from tasks.rewrite.injections.asking import Wanted, answers
from tasks.rewrite.injections.spec import Verifier
from tasks.rewrite.spec import Producer

VARIANT_VERSION = 1
"""Raised by hand when this code changes which variants come out (the rules' code has its own)."""
Tell = Callable[[Step], None]


@dataclass(frozen=True)
class VariantPlan:
    """Which variants a suite wants, by whom, and who audits them."""

    producer: Producer
    variants: tuple[str, ...] = VARIANT_NAMES
    auditor: Verifier | None = None
    remakes: int = 2
    """How often a variant that failed its audit is made anew before it is excluded."""

    def key(self, family: Family, variant: str) -> str:
        """The key of a variant's version and of the step that makes it."""
        made_by = None if variant == IDENTITY else self._identity(variant)
        audited = None if self.auditor is None else {**audit_identity(self.auditor), "remakes": self.remakes}
        return step_key("idea_variant", VARIANT_VERSION, family=family.key, variant=variant, producer=made_by,
                        audit=audited)

    def _identity(self, variant: str) -> dict[str, Any]:
        producer = self.producer
        if producer.endpoint is None:
            return {"kind": "idea_rules", "version": IDEA_RULES_VERSION, "seed": producer.spec.seed,
                    "words": rules_hash()}
        return {
            "kind": "idea_model", "base_url": producer.endpoint.identity, "api": producer.endpoint.api,
            "model": producer.model, "parameters": producer.spec.parameters,
            "structured": producer.endpoint.structured, "prompts": variant_prompts_hash(variant),
        }


@dataclass(frozen=True)
class VariantShard:
    """Some ideas and what is wanted of each."""

    families: tuple[Family, ...]
    plan: VariantPlan
    retry: frozenset[str] = frozenset()
    """Reasons of exclusions that settle nothing this time."""

    def wanted(self) -> dict[str, tuple[Family, str]]:
        """Key -> family and variant, idea by idea."""
        return {self.plan.key(family, variant): (family, variant)
                for family in self.families for variant in self.plan.variants}


@dataclass
class VariantResult:
    """What became of a shard."""

    made: int = 0
    cached: int = 0
    excluded: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class _Try:
    """A variant on its way."""

    family: Family
    idea: Idea
    variant: str
    attempt: int = 0
    made: Idea | None = None
    audit: Audit | None = None
    reason: str | None = None
    detail: str | None = None
    is_transient: bool = False
    failed: tuple[str, ...] = ()
    """Verdicts on earlier makings."""


def idea_of(family: Family) -> Idea:
    """The idea that a family holds."""
    return Idea.model_validate(family.facts)


def missing_variants(store: Store, shard: VariantShard) -> list[str]:
    """The keys that a shard still lacks."""
    keys = list(shard.wanted())
    unsettled = set(store.missing("steps", keys, retry=shard.retry))
    done = {step.key for step in store.load(Step, [key for key in keys if key not in unsettled])
            if step.outcome == "done"}
    gone = set(store.missing("versions", sorted(done)))
    return [key for key in keys if key in unsettled | gone]


def vary_shard(store: Store, engine: Engine, shard: VariantShard, run_id: str | None = None,
               tell: Tell = lambda _: None) -> VariantResult:
    """Makes what a shard lacks.

    Args:
        store: where versions and steps go.
        engine: asks models that write or audit.
        shard: what is wanted.
        run_id: enters the step rows.
        tell: called with each step that ended.

    Raises:
        EnvironmentProblem: when an endpoint's key variable is not set.
    """
    wanted, todo = shard.wanted(), missing_variants(store, shard)
    result = VariantResult(cached=len(wanted) - len(todo))
    # A variant that was excluded and is tried again is made in other words than before.
    made_before = {step.key: int(step.output.get("attempts", 0)) for step in store.load(Step, todo)
                   if step.outcome == "excluded"} if shard.retry else {}
    tries = {key: _Try(family, idea_of(family), variant) for key in todo for family, variant in (wanted[key],)}
    open_keys = list(todo)
    for attempt in range(shard.plan.remakes + 1):
        if not open_keys:
            break
        tries |= _made(store, engine, shard.plan, {
            key: replace(tries[key], attempt=made_before.get(key, 0) + attempt) for key in open_keys})
        tries |= _audited(store, engine, shard.plan, {key: tries[key] for key in open_keys})
        open_keys = [key for key in open_keys if tries[key].reason is not None and not tries[key].is_transient
                     and tries[key].variant != IDENTITY]
    for key in todo:
        step = _remember(store, key, tries[key], run_id)
        tell(step)
        if step.outcome == "done":
            result.made += 1
        else:
            (result.excluded if step.outcome == "excluded" else result.failed)[step.reason or step.outcome] += 1
    return result


def _made(store: Store, engine: Engine, plan: VariantPlan, tries: dict[str, _Try]) -> dict[str, _Try]:
    """Every try with its words; earlier verdicts are kept in ``failed``."""
    fresh = {
        key: replace(one, made=None, audit=None, reason=None, detail=None, is_transient=False,
                     failed=one.failed if one.reason is None else (*one.failed, one.reason))
        for key, one in tries.items()
    }
    if plan.producer.endpoint is None:
        seed = plan.producer.spec.seed
        return {key: replace(one, made=vary_by_rules(one.idea, one.variant, seed + 1000 * one.attempt))
                for key, one in fresh.items()}
    made = {key: replace(one, made=one.idea) for key, one in fresh.items()}
    longest = max(len(STYLE_VARIANT[one.variant].parts) for one in made.values())
    for depth in range(longest):
        made |= _asked(store, engine, plan, made, depth)
    return made


def _asked(
    store: Store, engine: Engine, plan: VariantPlan, tries: dict[str, _Try], depth: int
) -> dict[str, _Try]:
    """One more part of each variant that has so many parts, written by the model."""
    due = {key: one for key, one in tries.items()
           if one.reason is None and one.variant != IDENTITY and depth < len(STYLE_VARIANT[one.variant].parts)}
    parts = {key: STYLE_VARIANT[one.variant].parts[depth] for key, one in due.items()}
    wanted = [wanted_variant(store, plan.producer, one.made or one.idea, parts[key], one.attempt)
              for key, one in due.items()]
    found: dict[str, _Try] = {}
    for (key, one), call in zip(due.items(), _answers(store, engine, wanted), strict=True):
        before = one.made or one.idea
        if call.outcome is not Outcome.answered:
            found[key] = replace(one, made=None, reason=call.outcome.value, detail=call.error,
                                 is_transient=call.outcome in TRANSIENT)
            continue
        after = read_idea(call.answer or "", before)
        bad = "unparsable" if after is None else problem(before, after, parts[key])
        found[key] = replace(one, made=None if bad else after, reason=bad)
    return found


def _answers(store: Store, engine: Engine, wanted: Sequence[Wanted]) -> list[Call]:
    """The answer to each; what is wanted twice (a hybrid begins as one of its parts) is asked once."""
    distinct = {each.ask.key: each for each in wanted}
    found = dict(zip(distinct, answers(store, engine, list(distinct.values())), strict=True))
    return [found[each.ask.key] for each in wanted]


def _audited(store: Store, engine: Engine, plan: VariantPlan, tries: dict[str, _Try]) -> dict[str, _Try]:
    if plan.auditor is None:
        return tries
    due = {key: one for key, one in tries.items() if one.made is not None and one.reason is None}
    wanted = [wanted_audit(store, plan.auditor, one.idea.text, one.made.text)
              for one in due.values() if one.made is not None]
    found = dict(tries)
    for (key, one), call in zip(due.items(), _answers(store, engine, wanted), strict=True):
        audit = read_audit(call.answer or "") if call.outcome is Outcome.answered else None
        if audit is None:
            reason = call.outcome.value if call.outcome is not Outcome.answered else "unparsable"
            found[key] = replace(one, reason=f"audit_{reason}", detail=call.error,
                                 is_transient=call.outcome in TRANSIENT)
        else:
            found[key] = replace(one, audit=audit, reason=verdict(one.variant, audit))
    return found


def _remember(store: Store, key: str, one: _Try, run_id: str | None) -> Step:
    kind = STYLE_VARIANT[one.variant]
    facts: dict[str, Any] = {
        "variant": one.variant, "style": kind.style, "substance": kind.substance, "attempts": one.attempt + 1,
        "audit": None if one.audit is None else one.audit.model_dump(), "failed_before": list(one.failed),
    }
    rows: list[Version] = []
    if one.made is not None and one.reason is None:
        text = one.made.text
        rows.append(Version(key=key, family_key=one.family.key, condition=one.variant, text_hash=store.put_text(text),
                            words=len(text.split()), facts=facts))
        step = Step(key=key, step="idea_variant", outcome="done", output=facts, run_id=run_id)
    else:
        detail = f"{one.family.family}: {one.variant} ({kind.title}): {one.detail or one.reason}"
        step = Step(key=key, step="idea_variant", outcome="failed" if one.is_transient else "excluded",
                    reason=one.reason or "not_made", detail=detail, output=facts, run_id=run_id)
    store.append(*rows, step)
    return step


def shards_of(families: Sequence[Family], plan: VariantPlan, size: int, retry: frozenset[str]) -> list[VariantShard]:
    """The ideas in groups."""
    return [VariantShard(tuple(families[start:start + size]), plan, retry) for start in range(0, len(families), size)]
