"""What of a judge_bias suite is there, looked up in the store: its pairs, injections and versions; and what is planned.

The counterpart of ``families`` and ``grid`` for pairs. Nothing is made here; the stage flows make. Labels and keys meet
here: a version is called ``bias/writer/style/order``.
"""

from __future__ import annotations

from collections.abc import Sequence

from flows.grid import NOBODY, Grid, LabelledVersion, producers
from flows.suites import Suite
from storage.keys import step_key
from storage.pairs import ORDERS, Order
from storage.records import Family, Step, Version
from storage.results import Exclusion
from storage.store import Store
from storage.vocabulary import BIAS_NAMES, ORIGINAL
from tasks.ingest.pairs import NamedPair, families_of, pair_key, read_pairs
from tasks.judge.cells import VersionRef, version_refs
from tasks.rewrite.injections.injection import Injection, injections_of, is_better_first, original_key, pair_of
from tasks.rewrite.injections.making import InjectionShard
from tasks.rewrite.injections.spec import InjectionPlan, resolve_verifier

PAIRS_PER_SHARD = 200
JSON_CHARS = 60
"""Characters of a presentation's JSON besides question and answers, about."""


def injection_plan(suite: Suite) -> InjectionPlan:
    """What a suite wants injected.

    Raises:
        SuiteError: when a producer or verifier names an endpoint that is not there.
    """
    conditions = suite.rewrite.conditions
    return InjectionPlan(
        biases=BIAS_NAMES if conditions == "all" else tuple(name for name in BIAS_NAMES if name in conditions),
        styles=suite.rewrite.templates,
        producers=tuple(producers(suite)),
        verifiers=tuple(resolve_verifier(spec, suite.judge.endpoints) for spec in suite.rewrite.verifiers),
        both_orders=suite.judge.both_orders,
    )


def named_pairs(suite: Suite) -> list[NamedPair]:
    """The pairs of the suite's file or folder, checked.

    Raises:
        InputError: names the file, the row and the field.
    """
    return read_pairs(suite.path(suite.families.path))


def pair_families(suite: Suite, store: Store) -> list[Family]:
    """The suite's pairs that are in the store, in the order of their file."""
    return families_of(store, named_pairs(suite))


def injection_shards(
    suite: Suite, families: Sequence[Family], retry: frozenset[str] = frozenset()
) -> list[InjectionShard]:
    """The suite's injections in shards of whole pairs."""
    plan = injection_plan(suite)
    return [
        InjectionShard(tuple(families[start : start + PAIRS_PER_SHARD]), plan, f"{suite.name}-{number}", retry)
        for number, start in enumerate(range(0, len(families), PAIRS_PER_SHARD), 1)
    ]


def _label(injection: Injection, order: Order) -> str:
    return f"{injection.writer}/{injection.style}/{order}"


def pair_grid(suite: Suite, store: Store, families: Sequence[Family]) -> Grid:
    """The grid of a suite over pairs that were ingested; a handful of queries."""
    plan = injection_plan(suite)
    originals = {(family.family, order): original_key(family, order) for family in families for order in ORDERS}
    injections = [each for family in families for each in injections_of(family, plan)]
    both = plan.both_orders
    injected = [(each, order, each.version_key(order)) for each in injections for order in each.orders(both)]
    keys = [*originals.values(), *(key for _, _, key in injected)]
    there = {version.key: version for version in store.load(Version, keys)}
    steps = {step.key: step for step in store.load(Step, [each.key for each in injections])}
    found: list[LabelledVersion] = []
    unmade: list[Exclusion] = []
    by_name = {family.family: family for family in families}
    for (name, order), key in originals.items():
        producer = NOBODY if order == "given" else order
        if key in there:
            found.append(LabelledVersion(by_name[name], ORIGINAL, producer, there[key]))
        else:
            unmade.append(Exclusion(family=name, condition=ORIGINAL, producer=producer, reason="not_run"))
    excluded: list[Exclusion] = []
    for each, order, key in injected:
        step = steps.get(each.key)
        if step is not None and step.outcome == "done" and key in there:
            found.append(LabelledVersion(each.family, each.bias, _label(each, order), there[key]))
        elif order == "given":
            (excluded if step is not None and step.outcome == "excluded" else unmade).append(_exclusion(each, step))
    references = {ref.key: ref for ref in version_refs(store, there)}
    return Grid(tuple(families), tuple(found), tuple(excluded), tuple(unmade), references)


def _exclusion(injection: Injection, step: Step | None) -> Exclusion:
    reason = "not_run" if step is None or step.outcome == "done" else step.reason or step.outcome
    return Exclusion(family=injection.family.family, condition=injection.bias, producer=_label(injection, "given"),
                     reason=reason, detail=step.detail if step is not None else None)


def _unread(named: NamedPair) -> Family:
    """A stand-in for a pair that is not ingested yet: nothing is stored."""
    content = pair_key(named.pair)
    return Family(key=content, family=named.name, benchmark="judge_bias", source_kind="pair", source_hash=content,
                  title=named.pair.question, text_hash=content, facts=named.pair.model_dump(mode="json"))


def expected_pair_grid(suite: Suite, store: Store) -> Grid:
    """The grid as it will be: versions that are there, and stand-ins as long as their originals for the others."""
    named = named_pairs(suite)
    known = {family.family: family for family in families_of(store, named)}
    families = [known.get(each.name) or _unread(each) for each in named]
    grid = pair_grid(suite, store, families)
    plan = injection_plan(suite)
    versions, references = list(grid.versions), dict(grid.references)
    closed = {(entry.family, entry.condition, entry.producer) for entry in grid.exclusions}
    for family in families:
        pair = pair_of(family)
        chars = len(pair.question) + len(pair.response1) + len(pair.response2) + JSON_CHARS
        texts = {order: step_key("expected-text", 1, of=original_key(family, order)) for order in ORDERS}
        wanted = [(ORIGINAL, NOBODY if order == "given" else order, original_key(family, order), texts[order], order)
                  for order in ORDERS]
        for each in injections_of(family, plan):
            if (family.family, each.bias, _label(each, "given")) in closed:
                continue
            # Position shows nothing new: the original with the better answer second.
            same = next(text for order, text in texts.items() if not is_better_first(pair, order))
            for order in each.orders(plan.both_orders):
                key = each.version_key(order)
                text = same if each.kind == "position" else step_key("expected-text", 1, of=key)
                wanted.append((each.bias, _label(each, order), key, text, order))
        for bias, label, key, text, order in wanted:
            if key in references:
                continue
            facts = {"bias": bias, "order": order, "better": "first"}
            stand_in = Version(key=key, family_key=family.key, condition=bias, text_hash=text, facts=facts)
            versions.append(LabelledVersion(family, bias, label, stand_in))
            references[key] = VersionRef(key=key, family_key=family.key, text_hash=text, chars=chars)
    return Grid(tuple(families), tuple(versions), grid.exclusions, grid.unmade, references)
