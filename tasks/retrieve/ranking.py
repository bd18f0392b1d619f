"""Which works come first: BM25 of title and abstract against the idea, works without an abstract after the others.

Here belongs the order. It depends on nothing but its inputs; equal scores keep the providers' order.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from storage.lazy import LazyModule
from tasks.retrieve.cleaning import folded
from tasks.retrieve.works import Found

if TYPE_CHECKING:
    import bm25s
else:
    bm25s = LazyModule("bm25s")

RANKING_VERSION: Final = 1
MOST_FORMS: Final = 500_000
_TOKEN: Final = re.compile(r"[^\W_]{2,}")


@cache
def _common() -> frozenset[str]:
    """Words too common to tell works apart."""
    return frozenset(bm25s.stopwords.STOPWORDS_EN)


# bm25s tells of every index it builds.
logging.getLogger("bm25s").setLevel(logging.WARNING)


class Ranked(NamedTuple):
    """A work and its score."""

    found: Found
    score: float


class _Forms(dict[str, str]):
    """Word -> the form it counts as, remembered: empty for a common word, without the s of a plural."""

    def __missing__(self, word: str) -> str:
        is_plural = len(word) > 4 and word.endswith("s") and not word.endswith("ss")
        form = "" if word in _common() else word[:-1] if is_plural else word
        if len(self) > MOST_FORMS:
            self.clear()
        self[word] = form
        return form


_forms: Final = _Forms()


def tokens(text: str) -> list[str]:
    """The words that count: two letters or more, folded, in small letters, common words left out, plural s cut."""
    return list(filter(None, map(_forms.__getitem__, _TOKEN.findall(folded(text).lower()))))


class Index:
    """Works ready to be ranked against any idea: built once for a pool, or for one idea's candidates."""

    def __init__(self, works: Sequence[Found]) -> None:
        self.works = list(works)
        said = [tokens(f"{found.title} {found.abstract}") for found in self.works]
        # An index needs a vocabulary; without any word all scores are 0.
        self._bm25 = bm25s.BM25() if any(said) else None
        if self._bm25 is not None:
            self._bm25.index(said, show_progress=False)

    def scores(self, text: str) -> list[float]:
        """The score of each work, in their order."""
        wanted = list(dict.fromkeys(tokens(text)))
        if self._bm25 is None or not wanted:
            return [0.0] * len(self.works)
        return [round(float(score), 6) for score in self._bm25.get_scores(wanted)]

    def ranked(self, text: str) -> list[Ranked]:
        """All works, the most relevant first."""
        found = [Ranked(work, score) for work, score in zip(self.works, self.scores(text), strict=True)]
        return sorted(found, key=lambda each: (not each.found.abstract, -each.score))


def ranked(works: Sequence[Found], text: str) -> list[Ranked]:
    """Works in the order in which they are kept."""
    return Index(works).ranked(text)
