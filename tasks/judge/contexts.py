"""Literature beside an idea: how much of it a judge's window holds, by one rule for all variants.

The rule: when idea and literature together do not fit, the list is cut to its first whole works, to a length that
leaves room for the longest variant of that idea. So every variant is shown the same bytes of literature. Here belongs
that rule, as pure functions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from tasks.judge.cells import Manner, VersionRef
from tasks.judge.inputs import limit_for

ROUNDED_TO = 1000
"""Limits are rounded down to so many characters: a variant that is a word longer changes nobody's literature."""


def literature_limits(manner: Manner, versions: Sequence[VersionRef]) -> dict[str, int]:
    """Family -> characters of literature that every variant of it may be shown; families without a need are absent.

    Args:
        manner: whose endpoint has the window.
        versions: whole families, each variant with each of its contexts.
    """
    if manner.endpoint.context_tokens is None:
        return {}
    whole = limit_for(manner.endpoint.context_tokens)
    longest: defaultdict[str, int] = defaultdict(int)
    most: defaultdict[str, int] = defaultdict(int)
    for version in versions:
        longest[version.family_key] = max(longest[version.family_key], version.chars)
        most[version.family_key] = max(most[version.family_key], version.context_chars)
    limits: dict[str, int] = {}
    for family, chars in longest.items():
        room = max(whole - chars, 0) // ROUNDED_TO * ROUNDED_TO
        if most[family] > room:
            limits[family] = room
    return limits


def cut_works(literature: str, limit_chars: int | None) -> str:
    """The first whole works of a list that fit; works are divided by empty lines. At least a line says when none do."""
    if limit_chars is None or len(literature) <= limit_chars:
        return literature
    works = literature.split("\n\n")
    kept: list[str] = []
    length = 0
    for work in works:
        length += len(work) + (2 if kept else 0)
        if length > limit_chars:
            break
        kept.append(work)
    return "\n\n".join(kept) or "(The related work does not fit.)"
