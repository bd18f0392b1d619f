"""The families of a suite: which sources it names, which of them are taken in.

Looks only; taking in is ``ingest``'s work.
"""

from __future__ import annotations

from collections.abc import Sequence

from flows.suites import Suite
from storage.errors import SuiteError
from storage.records import Family, HumanScore
from storage.results import Exclusion
from storage.store import Store
from tasks.ingest.family import Ingested, remembered_family
from tasks.ingest.human import read_human_scores
from tasks.ingest.sample import sample
from tasks.ingest.sources import PaperSource, find_sources, read_source


def human_scores(suite: Suite) -> list[HumanScore]:
    """The human scores that the suite names; empty when it names none.

    Raises:
        InputError: naming the file and the row of what is wrong.
    """
    given = suite.families.human_scores
    return [] if given is None else read_human_scores(suite.path(given))


def sources_of(suite: Suite) -> list[PaperSource]:
    """The sources a suite takes in, after stratified sampling where it asks for it.

    Raises:
        SuiteError: when sampling is asked for without human scores.
        InputError: when the folder holds no paper.
    """
    if suite.families.source != "folder":
        raise SuiteError(f"families.source: {suite.families.source!r} cannot be used with {suite.benchmark} here")
    found = find_sources(suite.path(suite.families.path))
    wanted = suite.families.sample
    if wanted is None:
        return found
    scores = {row.family: row.score for row in human_scores(suite)}
    if not scores:
        raise SuiteError("families.sample: sampling by stratum needs families.human_scores")
    names = [source.name for source in found]
    drawn = sample(names, scores, strata=wanted.strata, per_stratum=wanted.per_stratum, seed=suite.seed)
    return [source for source in found if source.name in drawn.families]


def remembered(suite: Suite, store: Store) -> list[Ingested]:
    """What the store knows of the suite's sources, in their order."""
    known = (remembered_family(store, source.name, read_source(source)) for source in sources_of(suite))
    return [one for one in known if one is not None]


def families_in(known: Sequence[Ingested]) -> list[Family]:
    """The families among what was ingested."""
    return [one.family for one in known if one.family is not None]


def exclusions_in(known: Sequence[Ingested]) -> list[Exclusion]:
    """The sources that were excluded, with their reasons."""
    return [
        Exclusion(
            family=one.name, condition="", producer="", reason=one.step.reason or "excluded", detail=one.step.detail
        )
        for one in known
        if one.family is None
    ]
