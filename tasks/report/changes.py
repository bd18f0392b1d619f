"""What changed between two wordings, word by word: for the pages of versions and for people who check rewrites.

Here belongs comparing texts. Which texts belong together, and how changes are shown, is the callers' matter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from rapidfuzz.distance import Indel

Kind = Literal["same", "gone", "new"]
_TOKEN = re.compile(r"(?:\w+(?:[-'’]\w+)*|\\[a-zA-Z]+|[^\w\s])\s*|\s+")
MOST_TOKENS = 20_000
"""Longer texts are compared paragraph by paragraph only."""


class Run(NamedTuple):
    """Neighbouring words that are in both texts, in the first only (``gone``), or in the second only (``new``)."""

    kind: Kind
    text: str


def word_changes(before: str, after: str) -> list[Run]:
    """The runs that make both texts: without ``new`` the first, without ``gone`` the second.

    Words are compared without the blanks behind them, so that a new line end is no change; a shared run is shown as the
    second text writes it.
    """
    if before == after:
        return [Run("same", after)] if after else []
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    if max(len(old), len(new)) > MOST_TOKENS:
        return [Run("gone", before), Run("new", after)]
    runs: list[Run] = []
    for code in Indel.opcodes([token.strip() for token in old], [token.strip() for token in new]):
        tag = code.tag
        first, first_end, second, second_end = code.src_start, code.src_end, code.dest_start, code.dest_end
        if tag == "equal":
            runs.append(Run("same", "".join(new[second:second_end])))
        else:
            runs += [Run("gone", "".join(old[first:first_end])), Run("new", "".join(new[second:second_end]))]
    return _tidy([run for run in runs if run.text])


def _tidy(runs: Sequence[Run]) -> list[Run]:
    """Neighbouring changes as one loss and one gain; a lone mark between two changes is part of them."""
    joined: list[Run] = []
    gone = new = ""
    for place, run in enumerate(runs):
        is_last = place == len(runs) - 1
        if run.kind == "gone":
            gone += run.text
        elif run.kind == "new":
            new += run.text
        elif (gone or new) and not is_last and not re.search(r"\w", run.text):
            gone, new = gone + run.text, new + run.text
        else:
            joined += [*_change(gone, new), run]
            gone = new = ""
    return [*joined, *_change(gone, new)]


def _change(gone: str, new: str) -> list[Run]:
    return [run for run in (Run("gone", gone), Run("new", new)) if run.text]


def changed_words(runs: Sequence[Run]) -> tuple[int, int]:
    """Words that are gone, and words that are new."""
    counts = {"gone": 0, "new": 0, "same": 0}
    for run in runs:
        counts[run.kind] += len(re.findall(r"\w+(?:[-'’]\w+)*", run.text))
    return counts["gone"], counts["new"]


def paragraphs(text: str) -> list[str]:
    """A text's paragraphs, at empty lines."""
    return [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]
