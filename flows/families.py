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
from tasks.ingest.arxiv.source import arxiv_sources
from tasks.ingest.family import Ingested, remembered_sources
from tasks.ingest.human import read_human_scores
from tasks.ingest.openreview.source import openreview_sources
from tasks.ingest.openreview.submissions import human_scores_of, read_submissions
from tasks.ingest.release import read_release, release_human_scores, release_sources
from tasks.ingest.sample import sample
from tasks.ingest.sources import Source, find_sources


def human_scores(suite: Suite) -> list[HumanScore]:
    """The human scores that the suite names, else those that its source brings; empty when there are none.

    Raises:
        InputError: naming the file and the row of what is wrong.
    """
    given = suite.families.human_scores
    if given is None and suite.families.source == "openreview":
        return human_scores_of(read_submissions(suite.path(suite.families.path)))
    if given is None and suite.families.source == "release":
        return release_human_scores(read_release(suite.path(suite.families.path)))
    return [] if given is None else read_human_scores(suite.path(given))


def _found(suite: Suite) -> list[Source]:
    """All that the source holds, in its order."""
    given = suite.families
    path = suite.path(given.path)
    if suite.benchmark == "robust_review":
        match given.source:
            case "folder":
                return list(find_sources(path))
            case "arxiv":
                return list(arxiv_sources(path, given.base_url))
            case "openreview":
                return list(openreview_sources(path, given.base_url))
            case "release":
                return list(release_sources(read_release(path)))
    raise SuiteError(f"families.source: {given.source!r} cannot be used with {suite.benchmark} here")


def sources_of(suite: Suite) -> list[Source]:
    """The sources a suite takes in, after stratified sampling where it asks for it.

    Raises:
        SuiteError: when sampling is asked for without human scores.
        InputError: when the folder holds no paper.
    """
    found = _found(suite)
    wanted = suite.families.sample
    if wanted is None:
        return found
    scores = {row.family: row.score for row in human_scores(suite) if row.dimension == "overall"}
    if not scores:
        raise SuiteError("families.sample: sampling by stratum needs families.human_scores")
    names = [source.name for source in found]
    drawn = sample(names, scores, strata=wanted.strata, per_stratum=wanted.per_stratum, seed=suite.seed)
    return [source for source in found if source.name in drawn.families]


def remembered(suite: Suite, store: Store) -> list[Ingested]:
    """What the store knows of the suite's sources, in their order."""
    return [one for one in remembered_sources(store, sources_of(suite)) if one is not None]


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
