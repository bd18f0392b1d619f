"""Reading reviews in Markdown: the text under a heading, and the number that a field states.

Here belongs what the ``fixed`` parsers share. A released parser's faults are its reviewer's own matter.
"""

from __future__ import annotations

import re

from storage.vocabulary import Outcome
from tasks.judge.native.reviewer import Stopped
from tasks.judge.renderings import sections

_NUMBER = re.compile(r"[\W_]*(?<![\d.])(\d{1,3}(?:\.\d{1,3})?)(?![\d.]*\d)(?!\s*,\d)")
_RANGE = re.compile(r"\s*(?:-|–|—|or|to)\s*\d")


def under(answer: str, name: str) -> list[str]:
    """The texts under every heading of that name, of any level, with or without a colon."""
    wanted = name.casefold()
    found = []
    for section in sections(answer):
        title, colon, rest = section.title.partition(":")
        if section.level and title.strip("*_ ").casefold() == wanted:
            body = section.text.partition("\n")[2]
            found.append(f"{rest.strip()}\n{body}" if colon and rest.strip() else body)
    return found


def number(text: str) -> float | None:
    """The number a field begins with (``6``, ``**8: accept**``, ``3 good``); None for ``7,5``, ``N/A``, ``1-10``."""
    line = next((line for line in text.splitlines() if line.strip()), "")
    found = _NUMBER.match(line)
    if found is None or _RANGE.match(line, found.end()) or "-" in line[: found.start(1)]:
        return None
    return float(found[1])


def one_number(answer: str, name: str) -> float:
    """The number under the one heading of that name.

    Raises:
        Stopped: when there is none, or two that differ.
    """
    bodies = under(answer, name)
    if not bodies:
        raise Stopped(Outcome.unparsable, f"no_{name.lower()}")
    values = {number(body) for body in bodies}
    if len(values) > 1:
        raise Stopped(Outcome.unparsable, "ambiguous")
    value = values.pop()
    if value is None:
        raise Stopped(Outcome.unparsable, "no_single_number")
    return value


def checked(value: float, low: float, high: float) -> float:
    """A score within its bounds.

    Raises:
        Stopped: when it is not; nothing is clipped.
    """
    if not low <= value <= high:
        raise Stopped(Outcome.out_of_range, "out_of_range")
    return value


def side_scores(answer: str, bounds: dict[str, tuple[float, float]]) -> tuple[dict[str, float], list[str]]:
    """Scores besides the overall one that can be read, and flags for those that cannot."""
    scores: dict[str, float] = {}
    flags: list[str] = []
    for name, (low, high) in bounds.items():
        try:
            scores[name] = checked(one_number(answer, name), low, high)
        except Stopped:
            flags.append(f"no_{name}")
    return scores, flags


_QUARTERS = (1.0, 4.0)
FORM_BOUNDS = {"soundness": _QUARTERS, "presentation": _QUARTERS, "contribution": _QUARTERS, "confidence": (1.0, 5.0)}
"""The review form's scores besides the rating."""
