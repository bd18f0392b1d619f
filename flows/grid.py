"""What of a suite is there: its families and their labelled versions, and what is left out, looked up in the store.

Labels (a producer's name) and keys meet here and nowhere else. Nothing is made here: stages make, this module looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from flows.suites import Suite
from storage.records import Family, Step, Version
from storage.results import Exclusion
from storage.store import Store
from storage.vocabulary import ORIGINAL
from tasks.judge.cells import Cell, VersionRef, version_refs
from tasks.judge.protocols import Configuration
from tasks.judge.shards import wanted_cells
from tasks.models.endpoints import EndpointSpec
from tasks.rewrite.keys import SHARED, original_key
from tasks.rewrite.shards import Shard
from tasks.rewrite.spec import Producer, resolve

NOBODY = "-"
"""The producer of versions in which nobody wrote: the null arm's repeat and recompilation."""


@dataclass(frozen=True)
class LabelledVersion:
    """A version as the report names it."""

    family: Family
    condition: str
    producer: str
    version: Version

    @property
    def label(self) -> str:
        """``original``, or ``condition/producer`` (``original/swapped`` for a pair in the other order)."""
        is_plain = self.condition == ORIGINAL and self.producer != "swapped"
        return ORIGINAL if is_plain else f"{self.condition}/{self.producer}"


@dataclass(frozen=True)
class Grid:
    """A suite's families and versions that are there."""

    families: tuple[Family, ...]
    versions: tuple[LabelledVersion, ...]
    exclusions: tuple[Exclusion, ...] = ()
    unmade: tuple[Exclusion, ...] = ()
    """Versions that are wanted and not there yet; the reason is ``not_run`` or why the last try failed."""
    references: dict[str, VersionRef] = field(default_factory=dict)
    """Version key -> what a judge is given of it."""


def producers(suite: Suite) -> list[Producer]:
    """The suite's producers with their endpoints.

    Raises:
        SuiteError: when one names an endpoint that is not there.
    """
    return [resolve(spec, suite.judge.endpoints) for spec in suite.rewrite.producers]


def rewrite_shards(suite: Suite, families: Sequence[Family], retry: frozenset[str] = frozenset()) -> list[Shard]:
    """One shard a family and producer; a paper without LaTeX source gets its exclusions there."""
    conditions = suite.rewrite.names()
    return [
        Shard(family, producer, conditions, suite.rewrite.captions, retry)
        for family in families
        for producer in producers(suite)
    ]


def version_keys(suite: Suite, families: Sequence[Family]) -> dict[tuple[str, str, str], str]:
    """The wanted versions: (family, condition, producer label) -> key, the original first in each family."""
    wanted: dict[tuple[str, str, str], str] = {}
    by_family: dict[str, list[Shard]] = {}
    for shard in rewrite_shards(suite, families):
        by_family.setdefault(shard.family.family, []).append(shard)
    for family in families:
        wanted[family.family, ORIGINAL, NOBODY] = original_key(family)
        for came in family.facts.get("versions", ()):
            if suite.rewrite.conditions == "all" or came["condition"] in suite.rewrite.names():
                wanted[family.family, came["condition"], came["producer"]] = came["key"]
        for shard in by_family.get(family.family, []):
            keys = shard.keys()
            for condition in shard.conditions:
                name = NOBODY if condition in SHARED else shard.producer.name
                wanted.setdefault((family.family, condition, name), keys[condition])
    return wanted


def look_up(suite: Suite, store: Store, families: Sequence[Family]) -> Grid:
    """The grid of a suite over families that were ingested; a handful of queries."""
    wanted = version_keys(suite, families)
    keys = list(wanted.values())
    there = {version.key: version for version in store.load(Version, keys)}
    steps = {step.key: step for step in store.load(Step, [key for key in keys if key not in there])}
    by_name = {family.family: family for family in families}
    found: list[LabelledVersion] = []
    excluded: list[Exclusion] = []
    unmade: list[Exclusion] = []
    for (name, condition, producer), key in wanted.items():
        if key in there:
            found.append(LabelledVersion(by_name[name], condition, producer, there[key]))
            continue
        step = steps.get(key)
        final = step is not None and step.outcome == "excluded"
        reason = (step.reason or step.outcome) if step is not None else "not_run"
        entry = Exclusion(
            family=name, condition=condition, producer=producer, reason=reason, detail=step.detail if step else None
        )
        (excluded if final else unmade).append(entry)
    repeated = {v.version.key for v in found if v.condition == "null_repeat"}
    references = {
        ref.key: ref.model_copy(update={"first_repeat": suite.judge.most_repeats()}) if ref.key in repeated else ref
        for ref in version_refs(store, there)
    }
    return Grid(tuple(families), tuple(found), tuple(excluded), tuple(unmade), references)


def judged_by(configuration: Configuration, grid: Grid) -> list[LabelledVersion]:
    """The versions that a configuration is to judge: all, or those its ``only`` names."""
    only, protocol = configuration.only, configuration.way()
    versions = [version for version in grid.versions if protocol.wants(version.version.facts)]
    if only is None:
        return versions
    names = [family.family for family in grid.families]
    chosen = set(only.families if only.families is not None else names[: only.first_families])
    return [
        version
        for version in versions
        if version.family.family in chosen
        and (version.condition == ORIGINAL or only.conditions is None or version.condition in only.conditions)
        and (version.condition == ORIGINAL or only.producers is None or version.producer in only.producers)
    ]


def cells_by_label(
    configuration: Configuration, endpoint: EndpointSpec, grid: Grid, repeats: int
) -> list[tuple[LabelledVersion, Cell]]:
    """Every cell a configuration wants, with the labelled version it is about.

    Versions of equal content are one question (one key), asked once and shown under each label.
    """
    versions = judged_by(configuration, grid)
    cells = wanted_cells(configuration, endpoint, [grid.references[v.version.key] for v in versions], repeats)
    times = configuration.repeats or repeats
    return [(versions[place // times], cell) for place, cell in enumerate(cells)]
