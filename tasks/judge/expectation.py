"""A score as the expectation over rating tokens, where an endpoint gives token probabilities.

Here belongs the arithmetic. A small model's sampled rating collapses onto one value; the probabilities it gave to the
other values do not.

At the place of the rating's number, the probabilities of all tokens that spell a legal value are summed by value and
normalised over the scale. A token that is a whole value and also begins a longer one ("1" of "10", for tokenisers
that cut numbers into digits) is divided by what the next place says when it is the token that was taken; otherwise
nobody knows which of the two it meant, so its mass is left out (``prefix_unresolved``). Below ``MINIMUM_MASS`` there
is no score.
"""

from __future__ import annotations

import math
import re
from typing import Any

from storage.vocabulary import Outcome
from tasks.judge.form import Form
from tasks.judge.parse import Parsed
from tasks.models.scales import Scale

EXPECTATION = "expectation/1"
"""Name and version of the rules above; together with the parser's it enters judgement keys."""
MINIMUM_MASS = 0.2
"""Share of the probability at the rating's place that must lie on legal values."""
LOW_MASS = 0.8
"""Below this a score is flagged."""
TOP_LOGPROBS = 20


def _place(tokens: list[str], form: Form) -> int | None:
    """Which token begins the rating's number; None when there is none, or more than one labelled number."""
    text = "".join(tokens)
    label = rf"""["'“]?\b{re.escape(form.headline.name)}\b["'”]?\**\s*[:=]\s*\**["'“]?\s*"""
    starts = [found.end() for found in re.finditer(label, text, re.I)]
    if not starts and form.is_bare:
        starts = [len(text) - len(text.lstrip(" \n\t*\"'`"))]
    if len(starts) != 1 or starts[0] >= len(text):
        return None
    position = 0
    for place, token in enumerate(tokens):
        position += len(token)
        if position > starts[0]:
            return place
    return None


def _spelled(token: str) -> str | None:
    """The digits that a token spells, if it spells nothing but a number and what surrounds one."""
    stripped = token.strip(" \n\t\"'*:“”")
    return stripped if stripped.isascii() and stripped.isdigit() else None


def _chances(entry: dict[str, Any]) -> dict[str, float]:
    """Digits -> probability at one place. The token that was taken counts even when it is not among the top ones."""
    tokens = {entry["token"]: float(entry["logprob"])} | {token: float(value) for token, value in entry["top"].items()}
    chances: dict[str, float] = {}
    for token, value in tokens.items():
        digits = _spelled(token)
        if digits is not None:
            chances[digits] = chances.get(digits, 0.0) + math.exp(min(value, 0.0))
    return chances


def _by_value(logprobs: list[dict[str, Any]], place: int, scale: Scale) -> tuple[dict[float, float], bool]:
    """``(value -> probability, whether mass was left out)`` at the rating's place."""
    names = {f"{value:g}": float(value) for value in scale.points}
    following = _chances(logprobs[place + 1]) if place + 1 < len(logprobs) else {}
    taken = _spelled(logprobs[place]["token"])
    masses: dict[float, float] = dict.fromkeys(names.values(), 0.0)
    unresolved = False
    for digits, chance in _chances(logprobs[place]).items():
        longer = [name for name in names if name.startswith(digits) and name != digits]
        if not longer:
            if digits in names:
                masses[names[digits]] += chance
        elif digits == taken:
            rests = {name: following.get(name[len(digits):], 0.0) for name in longer}
            for name, rest in rests.items():
                masses[names[name]] += chance * rest
            if digits in names:
                # Any other digit next would spell a number that is not on the scale.
                ends = max(1.0 - sum(following.values()), 0.0)
                masses[names[digits]] += chance * ends
        elif any(name in _chances(logprobs[place]) for name in longer):
            # This tokeniser spells the longer number in one token, so the short one means itself.
            masses[names[digits]] = masses.get(names[digits], 0.0) + chance if digits in names else 0.0
        else:
            unresolved = True
    return masses, unresolved


def expected_rating(logprobs: list[dict[str, Any]] | None, form: Form) -> Parsed:
    """The expectation of the rating.

    Args:
        logprobs: ``[{token, logprob, top: {token: logprob}}]`` of the whole answer, as a call holds them.
        form: what the prompt asked for; its rating must be on a scale of whole numbers.

    Returns:
        ``answered`` with ``overall`` alone, or ``unparsable`` with ``no_logprobs``, ``no_rating_token`` or
        ``little_rating_mass``.

    Raises:
        ValueError: for a scale with values that are not whole.
    """
    headline = form.headline
    if headline.scale is None or headline.dimension is None or not headline.scale.whole:
        raise ValueError(f"form {form.name}: an expectation needs a rating on a scale of whole numbers")
    if not logprobs:
        return Parsed(outcome=Outcome.unparsable, reason="no_logprobs")
    place = _place([str(entry["token"]) for entry in logprobs], form)
    if place is None:
        return Parsed(outcome=Outcome.unparsable, reason="no_rating_token")
    masses, unresolved = _by_value(logprobs, place, headline.scale)
    total = sum(masses.values())
    if total < MINIMUM_MASS:
        return Parsed(outcome=Outcome.unparsable, reason="little_rating_mass")
    value = sum(point * mass for point, mass in masses.items()) / total
    flags = [*(["prefix_unresolved"] if unresolved else []), *(["low_mass"] if total < LOW_MASS else [])]
    return Parsed(outcome=Outcome.answered, scores={headline.dimension: round(value, 6)}, flags=sorted(flags))
