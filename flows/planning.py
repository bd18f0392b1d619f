"""What a run of a suite would take: its families and versions as far as known, estimated where they are not made yet.

Looks and estimates; makes no call and builds nothing. The estimate for judging is ``tasks.judge.plan``'s.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from flows.families import sources_of
from flows.grid import Grid, LabelledVersion, judged_by, look_up, producers, version_keys
from flows.ideas import expected_idea_grid, unmade_variants
from flows.pairs import expected_pair_grid
from flows.suites import Suite
from storage.keys import step_key
from storage.records import Family, Step, Version
from storage.store import Store
from tasks.ingest.family import ingest_key, remembered_sources
from tasks.ingest.sources import Material, Source
from tasks.judge.cells import VersionRef
from tasks.judge.plan import PlanRow, Range, plan
from tasks.judge.protocols import PROTOCOLS
from tasks.latex.graph import flatten
from tasks.models.outcomes import Usage
from tasks.models.prices import cost_usd
from tasks.rewrite.spec import Producer

CHARS_PER_TOKEN = (4.8, 4.0, 3.0)
UNSEEN_CHARS = 60_000
"""About a conference paper with its appendix, for papers that are not fetched yet."""
REWRITE_FACTOR = (1.3, 1.8, 3.0)
"""Prompt characters over the paper's: its outline, the instructions, and retries."""


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """Puts the collector of cyclic garbage off: hundreds of thousands of cells live until the plan is made and none is
    garbage, and looking for it meanwhile would take as long as the plan.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _expected_family(source: Source, material: Material) -> tuple[Family, int]:
    """A stand-in for a family that is not ingested yet, and about how long its text will be."""
    chars = len(flatten(material.project)) if material.project else len(material.pdf) // 20
    family = Family(
        key=ingest_key(material),
        family=source.name,
        source_kind="pdf" if material.kind == "pdf" else "latex",
        source_hash=material.content,
        title=None,
        main_file=material.project.main if material.project else None,
        text_hash=step_key("expected-text", 1, family=material.content),
    )
    return family, chars


def _unseen(source: Source) -> Family:
    """A stand-in for a paper that is not fetched yet: LaTeX, as most are."""
    stand_in = step_key("expected-source", 1, family=source.name)
    return Family(
        key=stand_in, family=source.name, source_kind="latex", source_hash=stand_in, title=None, text_hash=stand_in
    )


def expected_families(suite: Suite, store: Store) -> tuple[list[Family], dict[str, int]]:
    """The suite's families, ingested or not (excluded ones are left out), and the length of those that are not."""
    families: list[Family] = []
    lengths: dict[str, int] = {}
    sources = sources_of(suite)
    for source, known in zip(sources, remembered_sources(store, sources), strict=True):
        if known is not None and known.family is not None:
            families.append(known.family)
            continue
        material = source.look(store)
        if material is None or isinstance(material, Step):
            families += [] if isinstance(material, Step) and material.outcome == "excluded" else [_unseen(source)]
            lengths[source.name] = UNSEEN_CHARS
            continue
        if known is None and material.kind != "unusable":
            family, lengths[source.name] = _expected_family(source, material)
            families.append(family)
    return families, lengths


def expected_grid(suite: Suite, store: Store) -> Grid:
    """The grid as it will be: versions that are there, and stand-ins as long as their originals for the others."""
    if suite.benchmark == "judge_bias":
        with _nothing_collected():
            return expected_pair_grid(suite, store)
    if suite.benchmark == "sci_style":
        return expected_idea_grid(suite, store)
    families, lengths = expected_families(suite, store)
    grid = look_up(suite, store, families)
    excluded = {(entry.family, entry.condition, entry.producer) for entry in grid.exclusions}
    there = {(v.family.family, v.condition, v.producer): v for v in grid.versions}
    chars = {family.family: lengths.get(family.family, 0) for family in families}
    for entry in grid.versions:
        chars[entry.family.family] = max(chars[entry.family.family], grid.references[entry.version.key].chars)
    by_name = {family.family: family for family in families}
    references = dict(grid.references)
    for (name, condition, producer), key in version_keys(suite, families).items():
        if (name, condition, producer) in there or (name, condition, producer) in excluded:
            continue
        stand_in = Version(
            key=key,
            family_key=by_name[name].key,
            condition=condition,
            text_hash=step_key("expected-text", 1, of=key),
            words=0,
        )
        there[name, condition, producer] = LabelledVersion(by_name[name], condition, producer, stand_in)
        references[key] = VersionRef(
            key=key, family_key=by_name[name].key, text_hash=stand_in.text_hash, chars=chars[name]
        )
    return Grid(tuple(families), tuple(there.values()), grid.exclusions, grid.unmade, references)


def judging(suite: Suite, store: Store, grid: Grid) -> list[PlanRow]:
    """The plan of every configuration, in order."""
    rows: list[PlanRow] = []
    groups: dict[str, tuple[list[Any], list[VersionRef]]] = {}
    for configuration in suite.judge.all_configurations():
        endpoint = suite.judge.endpoints[configuration.endpoint]
        which = configuration.only.model_dump_json() if configuration.only else ""
        which += str(PROTOCOLS[configuration.protocol].is_about_single_answers)
        if which not in groups:
            groups[which] = ([], [grid.references[v.version.key] for v in judged_by(configuration, grid)])
        groups[which][0].append((configuration, endpoint))
    with _nothing_collected():
        for members, versions in groups.values():
            rows += plan(store, members, versions, suite.judge.repeats)
    order = {configuration.name: place for place, configuration in enumerate(suite.judge.all_configurations())}
    return sorted(rows, key=lambda row: order[row.configuration])


def _rewrite_row(producer: Producer, versions: int, chars: int) -> dict[str, Any]:
    if producer.endpoint is None:
        return {"producer": producer.name, "to_do": versions, "calls": 0, "usd": {"low": 0, "expected": 0, "high": 0}}
    given = [round(chars * factor / rate) for factor, rate in zip(REWRITE_FACTOR, CHARS_PER_TOKEN, strict=True)]
    made = [round(chars / rate) for rate in CHARS_PER_TOKEN]
    prices = [
        cost_usd(producer.endpoint, producer.model, Usage(input=used, output=out))
        for used, out in zip(given, made, strict=True)
    ]
    usd = None if None in prices else dict(zip(("low", "expected", "high"), prices, strict=True))
    return {
        "producer": producer.name,
        "to_do": versions,
        "calls": versions * 4,
        "usd": usd,
        "input_tokens": Range(low=given[0], expected=given[1], high=given[2]).model_dump(),
        "output_tokens": Range(low=made[0], expected=made[1], high=made[2]).model_dump(),
    }


def rewriting(suite: Suite, store: Store, grid: Grid) -> list[dict[str, Any]]:
    """What each producer would take for the versions that are not there yet."""
    if suite.benchmark == "sci_style":
        own = unmade_variants(suite, store, grid)
        return [_rewrite_row(producers(suite)[0], len(own), sum(grid.references[v.version.key].chars for v in own))]
    open_keys = set(store.missing("versions", [v.version.key for v in grid.versions]))
    rows: list[dict[str, Any]] = []
    for producer in producers(suite):
        mine = [v for v in grid.versions if f"{v.producer}/".startswith(f"{producer.name}/")]
        own = [v for v in mine if v.version.key in open_keys]
        chars = sum(grid.references[v.version.key].chars for v in own)
        rows.append(_rewrite_row(producer, len(own), chars))
    return rows


def summed(ranges: Sequence[Range | None]) -> Range | None:
    """The sum of ranges; unknown when one of them is."""
    known = [entry for entry in ranges if entry is not None]
    if len(known) < len(ranges):
        return None
    return Range(
        low=sum(entry.low for entry in known),
        expected=sum(entry.expected for entry in known),
        high=sum(entry.high for entry in known),
    )
