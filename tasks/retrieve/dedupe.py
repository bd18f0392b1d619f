"""One work, one entry: records of the same work are merged, comments dropped, the idea's own paper excluded.

Two records are one work when they share a DOI, or a title with years at most two apart and a common author. Where
authors or years are unknown a title must be long enough to be nobody else's. Here belongs that rule.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from storage.ideas import Idea
from tasks.retrieve.cleaning import doi_key, folded, title_key
from tasks.retrieve.works import Found

DEDUPE_VERSION: Final = 1
YEARS_APART: Final = 2
"""A preprint and its published version."""
TELLING_WORDS: Final = 5
"""A title of so many words names one work even where authors are unknown; "Editorial" does not."""
_NOT_WORKS: Final = frozenset({"peer-review", "component", "paratext", "erratum", "retraction", "grant", "journal",
                               "journal-issue", "journal-volume", "proceedings"})
_COMMENT_DOI: Final = re.compile(r"-(?:rc|ac|cc|ec|sc|re)\d{1,3}$")
_COMMENT_TITLE: Final = re.compile(
    r"^(?:reply on [a-z]{2}\d|comment on [a-z]+-\d{4}-\d+|review for \"|author response for \""
    r"|decision letter (?:for|:))",
    re.IGNORECASE,
)
_PREPRINT: Final = re.compile(
    r"arxiv|biorxiv|medrxiv|ssrn|preprint|10\.(?:48550|1101|2139|21203|31234|20944|36227)/", re.IGNORECASE
)


class Unique(NamedTuple):
    """The works that remain, and what was taken away."""

    works: list[Found]
    dropped: int
    """Comments, errata and records without a title."""
    merged: int
    excluded: int
    """The idea's own paper."""


def _names(authors: Iterable[str]) -> frozenset[str]:
    """Family names, folded: the last word, or what stands before a comma."""
    found = set()
    for author in authors:
        name = folded(author).casefold().strip()
        name = name.split(",")[0] if "," in name else name.rsplit(" ", 1)[-1]
        if name:
            found.add(name)
    return frozenset(found)


def is_work(found: Found) -> bool:
    """Whether a record is a work at all, not a comment on one."""
    if not found.title or found.kind in _NOT_WORKS:
        return False
    return not (_COMMENT_DOI.search(found.doi) or _COMMENT_TITLE.match(found.title))


def is_preprint(found: Found) -> bool:
    """Whether a record is the preprint of a work."""
    return found.kind in ("preprint", "posted-content") or bool(_PREPRINT.search(f"{found.doi} {found.venue}"))


class _Known(NamedTuple):
    """A record with what it is compared by."""

    found: Found
    doi: str
    title: str
    names: frozenset[str]


def _same(one: _Known, two: _Known) -> bool:
    """Whether two records with one title are one work."""
    if one.found.year and two.found.year and abs(one.found.year - two.found.year) > YEARS_APART:
        return False
    if one.names and two.names:
        return bool(one.names & two.names)
    return len(one.title.split()) >= TELLING_WORDS


def _groups(known: Sequence[_Known]) -> list[list[_Known]]:
    parents = list(range(len(known)))

    def root(place: int) -> int:
        while parents[place] != place:
            parents[place] = parents[parents[place]]
            place = parents[place]
        return place

    def join(one: int, two: int) -> None:
        first, second = sorted((root(one), root(two)))
        parents[second] = first

    by_doi: dict[str, int] = {}
    by_title: defaultdict[str, list[int]] = defaultdict(list)
    for place, each in enumerate(known):
        if each.doi:
            join(by_doi.setdefault(each.doi, place), place)
        if each.title:
            for other in by_title[each.title]:
                if root(other) != root(place) and _same(known[other], each):
                    join(other, place)
            by_title[each.title].append(place)
    groups: dict[int, list[_Known]] = {}
    for place, each in enumerate(known):
        groups.setdefault(root(place), []).append(each)
    return list(groups.values())


def _merged(group: Sequence[_Known]) -> Found:
    """The entry of a group: the published version, with what it lacks filled in from the others."""
    best = min(group, key=lambda each: (is_preprint(each.found), not each.doi, not each.found.abstract)).found
    if len(group) == 1:
        return best
    first = group[0].found
    abstract = best.abstract or max((each.found.abstract for each in group), key=len)
    return best.model_copy(update={
        "abstract": abstract,
        "year": best.year or next((each.found.year for each in group if each.found.year), None),
        "authors": best.authors or next((each.found.authors for each in group if each.found.authors), ()),
        "venue": best.venue or next((each.found.venue for each in group if each.found.venue), ""),
        # Where it was first seen decides its provider rank: merging must not push a work back.
        "provider": first.provider, "provider_id": first.provider_id, "query": first.query, "rank": first.rank,
        "fetched_at": first.fetched_at,
        "flags": tuple(sorted({"merged", *(flag for each in group for flag in each.found.flags)}
                              - ({"no_abstract"} if abstract else set()))),
    })


def is_source(found: Found, idea: Idea) -> bool:
    """Whether a work is the paper that the idea was taken from, or bears the idea's own title."""
    if idea.source.doi and doi_key(found.doi) == doi_key(idea.source.doi):
        return True
    titles = {title_key(title) for title in (idea.source.title, idea.title) if title}
    return title_key(found.title) in titles


def unique(works: Sequence[Found], idea: Idea) -> Unique:
    """Each work once, in the order of first appearance.

    Args:
        works: records of all queries and providers, the provider to be preferred first.
        idea: whose own paper is left out.
    """
    real = [found for found in works if is_work(found)]
    known = [_Known(found, doi_key(found.doi), title_key(found.title), _names(found.authors)) for found in real]
    groups = _groups(known)
    kept = [group for group in groups if not any(is_source(each.found, idea) for each in group)]
    return Unique([_merged(group) for group in kept], len(works) - len(real), len(real) - len(groups),
                  len(groups) - len(kept))
