"""Making the injections of some pairs: words, verification, rows; what is there already is not made again.

Prefect's side is ``tasks``. What an injection is, is ``injection``; words are ``rules`` and ``model``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from storage.records import Call, Family, Step
from storage.store import Store
from storage.vocabulary import PUBLISHED, TRANSIENT, Outcome
from tasks.models.engine import Engine
from tasks.rewrite.injections.asking import answers
from tasks.rewrite.injections.injection import (
    Injection,
    Wording,
    injections_of,
    is_better_first,
    original_key,
    original_versions,
    pair_of,
    presented,
    version_row,
)
from tasks.rewrite.injections.model import ADDED_WORDS, REMOVED_WORDS, asks_of, problem, read_answer
from tasks.rewrite.injections.rules import add_cue, pick, remove_cue
from tasks.rewrite.injections.spec import InjectionPlan
from tasks.rewrite.injections.templates import templates
from tasks.rewrite.injections.verify import UNAVAILABLE, counted, question_to, votes_of

Tell = Callable[[Step], None]


@dataclass(frozen=True)
class InjectionShard:
    """Some pairs and what is wanted of each."""

    families: tuple[Family, ...]
    plan: InjectionPlan
    name: str = "pairs"
    """What the task run is called."""
    retry: frozenset[str] = frozenset()
    """Reasons of exclusions that settle nothing this time."""

    def injections(self) -> list[Injection]:
        """Everything wanted, pair by pair."""
        return [each for family in self.families for each in injections_of(family, self.plan)]


@dataclass
class InjectionResult:
    """What became of a shard."""

    made: int = 0
    cached: int = 0
    excluded: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class _Problem:
    """Why an injection was not made; transient ones are tried again."""

    reason: str
    detail: str
    is_transient: bool = False
    votes: tuple[str | None, ...] | None = None


def missing_injections(store: Store, shard: InjectionShard) -> list[Injection]:
    """What of a shard is still to be made; one query or two."""
    wanted = {each.key: each for each in shard.injections()}
    open_keys = set(store.missing("steps", list(wanted), retry=shard.retry))
    done = [each for key, each in wanted.items() if key not in open_keys]
    versions = {each.version_key(order): each.key for each in done for order in each.orders(shard.plan.both_orders)}
    settled = {step.key for step in store.load(Step, [each.key for each in done]) if step.outcome == "done"}
    gone = {versions[key] for key in store.missing("versions", list(versions))} & settled
    return [each for key, each in wanted.items() if key in open_keys | gone]


def inject_shard(store: Store, engine: Engine, shard: InjectionShard, run_id: str | None = None,
                 tell: Tell = lambda _: None) -> InjectionResult:
    """Makes what a shard lacks, originals included.

    Args:
        store: where versions and steps go.
        engine: asks models that write or verify.
        shard: what is wanted.
        run_id: enters the step rows.
        tell: called with each step that ended.

    Raises:
        EnvironmentProblem: when an endpoint's key variable is not set.
    """
    originals = {original_key(family, "swapped"): family for family in shard.families}
    for key in store.missing("versions", list(originals)):
        store.append(*original_versions(store, originals[key]))
    todo = missing_injections(store, shard)
    result = InjectionResult(cached=len({each.key for each in shard.injections()}) - len(todo))
    words = _words(store, engine, todo)
    checked, votes = _verified(store, engine, words)
    for injection in todo:
        outcome = checked[injection.key]
        step = _remember(store, shard.plan, injection, outcome, votes.get(injection.key), run_id)
        tell(step)
        if step.outcome == "done":
            result.made += 1
        else:
            (result.excluded if step.outcome == "excluded" else result.failed)[step.reason or step.outcome] += 1
    return result


Words = dict[str, "tuple[Injection, Wording | _Problem]"]


def _words(store: Store, engine: Engine, todo: Sequence[Injection]) -> Words:
    """The injected pair of each, by key."""
    by_model = [each for each in todo if each.producer is not None and each.producer.endpoint is not None]
    asks = [asks_of(store, each) for each in by_model]
    calls = answers(store, engine, [ask for both in asks for ask in both])
    found: Words = {
        each.key: (each, _written(each, calls[2 * place], calls[2 * place + 1])) for place, each in enumerate(by_model)
    }
    for each in todo:
        if each.key not in found:
            found[each.key] = (each, _ruled(each))
    return found


def _written(injection: Injection, removing: Call, adding: Call) -> Wording | _Problem:
    pair = pair_of(injection.family)
    for call in (removing, adding):
        if call.outcome is not Outcome.answered:
            return _Problem(call.outcome.value, call.error or "no answer", call.outcome in TRANSIENT)
    chosen, rejected = read_answer(removing.answer), read_answer(adding.answer)
    if chosen is None or rejected is None:
        return _Problem("unparsable", "the answer holds no JSON object with an answer")
    bad = (problem(pair.chosen, chosen, REMOVED_WORDS, must_differ=False)
           or problem(pair.rejected, rejected, ADDED_WORDS, must_differ=True))
    if bad is not None:
        return _Problem(bad, "a rewritten answer may not be used")
    return Wording(chosen, rejected)


def _ruled(injection: Injection) -> Wording | _Problem:
    """What rules, templates and published records give."""
    pair, bias, style = pair_of(injection.family), injection.bias, injection.style
    if style == PUBLISHED and pair.rewritten is not None:
        first, second = pair.rewritten.response1, pair.rewritten.response2
        return Wording(first, second) if pair.label == "response1" else Wording(second, first)
    if injection.kind == "position":
        return Wording(pair.chosen, pair.rejected)
    if injection.producer is not None:
        added = add_cue(pair.rejected, bias, style, injection.producer.spec.seed)
        if added == pair.rejected:
            return _Problem("nothing_changed", "the rules found nothing to add")
        return Wording(remove_cue(pair.chosen, bias), added)
    template = templates(style)[bias]
    if injection.kind == "identity":
        return Wording(f"{pick(template.prefix, pair.question)} {pair.chosen}", pair.rejected)
    between = pick(template.between, pair.question) if template.between else None
    after = pick(template.after, pair.question) if template.after else None
    return Wording(pair.chosen, pair.rejected, between, after)


def _verified(
    store: Store, engine: Engine, words: Words
) -> tuple[dict[str, Wording | _Problem], dict[str, list[str | None]]]:
    """The words that may be used, and the votes about those that were verified."""
    checked = {key: outcome for key, (_, outcome) in words.items()}
    asked: list[tuple[Injection, str]] = []
    wanted = []
    for injection, outcome in words.values():
        if isinstance(outcome, _Problem) or not injection.is_verified:
            continue
        pair = pair_of(injection.family)
        first = is_better_first(pair, "given")
        asked.append((injection, "A" if first else "B"))
        shown = presented(pair, outcome, better_first=first)
        wanted += [question_to(store, verifier, shown) for verifier in injection.verifiers]
    calls = answers(store, engine, wanted)
    votes: dict[str, list[str | None]] = {}
    at = 0
    for injection, better in asked:
        own = calls[at : at + len(injection.verifiers)]
        at += len(own)
        cast = ["kept" if vote == better else "equal" if vote == "equal" else None if vote is None else "changed"
                for vote in votes_of(own)]
        votes[injection.key] = list(cast)
        reason = counted(own, "A" if better == "A" else "B")
        if reason is not None:
            said = next((call.error for call in own if call.outcome in TRANSIENT and call.error), None)
            detail = said or f"votes: {', '.join(vote or 'none' for vote in cast)}"
            checked[injection.key] = _Problem(reason, detail, is_transient=reason == UNAVAILABLE)
    return checked, votes


def _remember(
    store: Store, plan: InjectionPlan, injection: Injection, outcome: Wording | _Problem,
    votes: list[str | None] | None, run_id: str | None,
) -> Step:
    output: dict[str, Any] = {"bias": injection.bias, "style": injection.style}
    if votes is not None:
        output["votes"] = votes
    common: dict[str, Any] = {"key": injection.key, "step": "inject", "run_id": run_id, "output": output}
    if isinstance(outcome, _Problem):
        ended = "failed" if outcome.is_transient else "excluded"
        step = Step(outcome=ended, reason=outcome.reason,
                    detail=f"{injection.family.family}, {injection.bias}: {outcome.detail}", **common)
        store.append(step)
        return step
    pair = pair_of(injection.family)
    rows = []
    for order in injection.orders(plan.both_orders):
        first = is_better_first(pair, order) if injection.kind != "position" else False
        facts = {"bias": injection.bias, "order": order, "better": "first" if first else "second",
                 "style": injection.style}
        shown = presented(pair, outcome, better_first=first)
        rows.append(version_row(store, injection.family, injection.version_key(order), shown, facts))
    step = Step(outcome="done", **common)
    store.append(*rows, step)
    return step
