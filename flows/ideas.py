"""What of a sci_style suite is there, looked up in the store: its ideas, variants and literature; and what is planned.

The counterpart of ``families`` and ``grid`` for ideas. Nothing is made here; the stage flows make. Labels and keys meet
here: a version is called ``variant/context``, and its key in a grid is the variant's key and the context's name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from flows.families import exclusions_in, families_in, remembered
from flows.grid import Grid, LabelledVersion, producers
from flows.home import home
from flows.suites import Suite
from storage.errors import SuiteError
from storage.ideas import VARIANT_NAMES
from storage.keys import step_key
from storage.records import Family, Step, Version
from storage.results import Exclusion
from storage.store import Store
from tasks.ingest.ideas import (
    Extractor,
    NamedIdea,
    extracted_ideas,
    families_of_ideas,
    idea_key,
    read_ideas,
    unextracted,
)
from tasks.judge.cells import VersionRef, version_refs
from tasks.retrieve.sources import RetrieveOrder, snapshot_keys
from tasks.rewrite.ideas.making import VariantPlan, VariantShard, idea_of
from tasks.rewrite.injections.spec import resolve_verifier

IDEAS_PER_SHARD = 20
LITERATURE = "literature"
"""The condition under which the report names a context that could not be filled."""
VARIANT_FACTOR = 1.4
"""Length of a variant against its idea, on average over the fifteen."""
CHARS_PER_WORK = 900
"""Of title and abstract, for plans."""


def variant_plan(suite: Suite) -> VariantPlan:
    """Which variants a suite wants, by whom, audited by whom.

    Raises:
        SuiteError: when the producer or auditor names an endpoint that is not there.
    """
    conditions = suite.rewrite.conditions
    auditors = [resolve_verifier(spec, suite.judge.endpoints) for spec in suite.rewrite.verifiers]
    return VariantPlan(
        producer=producers(suite)[0],
        variants=VARIANT_NAMES if conditions == "all" else tuple(name for name in VARIANT_NAMES if name in conditions),
        auditor=auditors[0] if auditors else None,
        remakes=suite.rewrite.remakes,
    )


def as_papers(suite: Suite) -> Suite:
    """The suite as one about the papers that its ideas come from."""
    return suite.model_copy(update={"benchmark": "robust_review"})


def papers_of(suite: Suite, store: Store) -> list[Family]:
    """The papers that a suite's ideas come from, as far as they are taken in; none for a file of ideas."""
    return [] if suite.families.extractor is None else families_in(remembered(as_papers(suite), store))


def extractor_of(suite: Suite) -> Extractor:
    """The model that reads ideas out of the suite's papers.

    Raises:
        SuiteError: when the suite names none, or an endpoint that is not there.
    """
    spec = suite.families.extractor
    if spec is None:
        raise SuiteError(f"families.extractor: {suite.name} names no model that reads ideas out of papers")
    reader = resolve_verifier(spec, suite.judge.endpoints)
    return Extractor(reader.endpoint, spec.model, spec.parameters)


def named_ideas(suite: Suite) -> list[NamedIdea]:
    """The ideas of the suite's file, checked.

    Raises:
        InputError: names the file, the row and the field.
    """
    return read_ideas(suite.path(suite.families.path))


def idea_families(suite: Suite, store: Store) -> list[Family]:
    """The suite's ideas that are in the store, in the order of their file or of their papers."""
    if suite.families.extractor is not None:
        return extracted_ideas(store, papers_of(suite, store), extractor_of(suite))
    return families_of_ideas(store, named_ideas(suite))


def variant_shards(suite: Suite, families: Sequence[Family], retry: frozenset[str] = frozenset()) -> list[VariantShard]:
    """The suite's variants in shards of whole ideas."""
    plan = variant_plan(suite)
    return [VariantShard(tuple(families[start : start + IDEAS_PER_SHARD]), plan, retry)
            for start in range(0, len(families), IDEAS_PER_SHARD)]


def retrieve_orders(suite: Suite, families: Sequence[Family]) -> list[RetrieveOrder]:
    """One order a context that shows literature, for all ideas."""
    return [
        RetrieveOrder(context, suite.path("."), home() / "limits", tuple(families))
        for context in suite.contexts
        if context.provider != "none"
    ]


def check_contexts(suite: Suite) -> None:
    """Checks the ideas' file, and that every context has its file, pool or variable for every idea. Searches nothing.

    Raises:
        InputError: a file is missing or wrong, or a domain has no pool.
        EnvironmentProblem: a variable that a context names is not set.
    """
    ideas = [] if suite.families.extractor is not None else [each.idea for each in named_ideas(suite)]
    variant_plan(suite)
    for order in retrieve_orders(suite, ()):
        for idea in {idea.domain: idea for idea in ideas}.values():
            order.source_of(idea)


def unmade_variants(suite: Suite, store: Store, grid: Grid) -> list[LabelledVersion]:
    """The variants of a grid that are still to be made, each once however many contexts show it."""
    first = {shown_key(key, suite.contexts[0].name): key for key in
             (version.version.key.rpartition("@")[0] for version in grid.versions)}
    missing = set(store.missing("versions", list(first.values())))
    return [version for version in grid.versions if first.get(version.version.key) in missing]


class Shelf(NamedTuple):
    """The literature of a suite's ideas: (family key, context name) -> snapshot."""

    keys: dict[tuple[str, str], str]
    steps: dict[str, Step]
    """By key; also failed ones."""

    def step(self, family: Family, context: str) -> Step | None:
        """The step of an idea's snapshot, if there is one."""
        return self.steps.get(self.keys.get((family.key, context), ""))


def shelf_of(suite: Suite, store: Store, families: Sequence[Family]) -> Shelf:
    """What literature is there; one query."""
    keys = {(family, order.spec.name): key for order in retrieve_orders(suite, families)
            for family, key in snapshot_keys(order).items()}
    return Shelf(keys, {step.key: step for step in store.load(Step, list(keys.values()))})


def shown_key(version_key: str, context: str) -> str:
    """The name of a variant in a context, within a grid."""
    return f"{version_key}@{context}"


def _shown(
    family: Family, version: Version, reference: VersionRef, context: str, literature: tuple[str, int] | None
) -> tuple[LabelledVersion, VersionRef]:
    """A variant beside the literature of one context, and what a judge is given of it."""
    key = shown_key(version.key, context)
    labelled = version.model_copy(update={"key": key, "facts": {**version.facts, "context": context}})
    beside = {} if literature is None else {"context_hash": literature[0], "context_chars": literature[1]}
    return (LabelledVersion(family, version.condition, context, labelled),
            reference.model_copy(update={"key": key, **beside}))


def _missing(family: Family, condition: str, producer: str, step: Step | None) -> Exclusion:
    reason = "not_run" if step is None or step.outcome == "done" else step.reason or step.outcome
    return Exclusion(family=family.family, condition=condition, producer=producer, reason=reason,
                     detail=step.detail if step is not None else None)


def idea_grid(suite: Suite, store: Store, families: Sequence[Family]) -> Grid:
    """The grid of a suite over ideas that were ingested: every variant in every context; a handful of queries."""
    plan = variant_plan(suite)
    wanted = {plan.key(family, name): (family, name) for family in families for name in plan.variants}
    there = {version.key: version for version in store.load(Version, list(wanted))}
    steps = {step.key: step for step in store.load(Step, [key for key in wanted if key not in there])}
    shelf = shelf_of(suite, store, families)
    found: list[LabelledVersion] = []
    references: dict[str, VersionRef] = {}
    refs = {ref.key: ref for ref in version_refs(store, there)}
    excluded: list[Exclusion] = []
    unmade: list[Exclusion] = []
    for key, (family, name) in wanted.items():
        if key not in there:
            step = steps.get(key)
            final = step is not None and step.outcome == "excluded"
            (excluded if final else unmade).append(_missing(family, name, plan.producer.name, step))
            continue
        for context, literature in _literature(suite, shelf, family):
            labelled, reference = _shown(family, there[key], refs[key], context, literature)
            found.append(labelled)
            references[reference.key] = reference
    if suite.families.extractor is not None:
        known = remembered(as_papers(suite), store)
        lacking = unextracted(store, families_in(known), extractor_of(suite))
        excluded += exclusions_in(known)
        excluded += [_lost(name, step) for name, step in lacking.items() if step is not None]
    beside = [context.name for context in suite.contexts if context.provider != "none"]
    unmade += [_missing(family, LITERATURE, name, shelf.step(family, name))
               for family in families for name in beside if not _is_done(shelf, family, name)]
    return Grid(tuple(families), tuple(found), tuple(excluded), tuple(unmade), references)


def _lost(name: str, step: Step) -> Exclusion:
    return Exclusion(family=name, condition="", producer="", reason=step.reason or step.outcome, detail=step.detail)


def _is_done(shelf: Shelf, family: Family, context: str) -> bool:
    step = shelf.step(family, context)
    return step is not None and step.outcome == "done"


def _literature(suite: Suite, shelf: Shelf, family: Family) -> Iterable[tuple[str, tuple[str, int] | None]]:
    """The contexts of an idea that can be shown, each with hash and length of its literature."""
    for context in suite.contexts:
        if context.provider == "none":
            yield context.name, None
        elif _is_done(shelf, family, context.name):
            step = shelf.step(family, context.name)
            output: Mapping[str, object] = step.output if step is not None else {}
            yield context.name, (str(output["literature"]), int(str(output["chars"])))


def _unread(named: NamedIdea) -> Family:
    """A stand-in for an idea that is not ingested yet: nothing is stored."""
    content = idea_key(named.idea)
    return Family(key=content, family=named.name, benchmark="sci_style", source_kind="idea", source_hash=content,
                  title=named.idea.title, text_hash=content, facts=named.idea.model_dump(mode="json"))


def expected_idea_grid(suite: Suite, store: Store) -> Grid:
    """The grid as it will be: what is there, and stand-ins of about the right length for the rest."""
    if suite.families.extractor is not None:
        families = idea_families(suite, store)
        named = [NamedIdea(family.family, idea_of(family)) for family in families]
    else:
        named = named_ideas(suite)
        known = {family.family: family for family in families_of_ideas(store, named)}
        families = [known.get(each.name) or _unread(each) for each in named]
    grid = idea_grid(suite, store, families)
    plan = variant_plan(suite)
    versions, references = list(grid.versions), dict(grid.references)
    closed = {(entry.family, entry.condition) for entry in grid.exclusions}
    lengths = {each.name: len(each.idea.text) for each in named}
    for family in families:
        for name in plan.variants:
            if (family.family, name) in closed:
                continue
            key = plan.key(family, name)
            text = step_key("expected-text", 1, of=key)
            stand_in = Version(key=key, family_key=family.key, condition=name, text_hash=text, facts={"variant": name})
            chars = round(lengths[family.family] * (1 if name == "A1" else VARIANT_FACTOR))
            reference = VersionRef(key=key, family_key=family.key, text_hash=text, chars=chars)
            for context in suite.contexts:
                if shown_key(key, context.name) in references:
                    continue
                beside = None if context.provider == "none" else (
                    step_key("expected-literature", 1, family=family.key, context=context.model_dump(mode="json")),
                    context.works * CHARS_PER_WORK,
                )
                labelled, shown = _shown(family, stand_in, reference, context.name, beside)
                versions.append(labelled)
                references[shown.key] = shown
    return Grid(tuple(families), tuple(versions), grid.exclusions, grid.unmade, references)
