"""What an answer says, as scores: a pure function of the answer's text and the form that was asked for.

Only the labelled field that the prompt asked for is read, never the first number, and nothing is ever filled in.

Rules, in order:
1.  The whole answer is tried as JSON; then objects inside talk and fences; json-repair last (``json_repaired``).
2.  Objects that do not hold the rating field are passed over. Two different ones that do, or one whose rating comes
    twice with different values, are ambiguous: unparsable.
3.  Without any object, a Markdown review is read: the line or heading labelled with the field's name, else with one of
    its other labels (``markdown``). Two such lines with different numbers are ambiguous.
4.  A number must be finite and a legal value of the scale, else ``out_of_range``; never clamped or rounded. Booleans,
    null, NaN and lists are no numbers. Strings are accepted (``numeric_string``) when they are a number alone ("7"), a
    number and the words of its anchor ("8: accept", "3 good", "6 (weak accept)"), or a number of the scale's maximum
    ("7/10", "7 out of 10"). "7,5", "7 or 8", "1-10" and "N/A" are not.
5.  The rating decides the outcome. Another score that is missing or illegal is left out and flagged (``no_soundness``).
"""

from __future__ import annotations

import math
import re
from typing import Any

from pydantic import Field as Default

from storage.records import Record
from storage.vocabulary import Outcome
from tasks.judge.form import Field, Form
from tasks.judge.json_objects import DuplicateKeys, find_objects
from tasks.models.scales import Scale

PARSER = "review/1"
"""Name and version of the rules above: raised by hand when they change, so that kept answers are read again."""


class Parsed(Record):
    """What was read from one answer."""

    outcome: Outcome
    """``answered``, ``unparsable`` or ``out_of_range``."""
    reason: str | None = None
    scores: dict[str, float] = Default(default_factory=dict)
    flags: list[str] = Default(default_factory=list)


class _Unreadable(Exception):
    """A value or an answer that gives no score, with its typed reason."""

    def __init__(self, reason: str, outcome: Outcome = Outcome.unparsable) -> None:
        super().__init__(reason)
        self.reason = reason
        self.outcome = outcome


_PLAIN = re.compile(r"[+-]?[0-9]{1,20}(?:\.[0-9]{1,20})?")
_OF_MAXIMUM = re.compile(r"\s*(?:/|out\s+of)\s*([0-9]{1,3})(?:\.0+)?\s*[.!]?\s*(?:\([^()]*\)\s*)?$", re.I)
# After the number: nothing; ": words"; "- words"; "(anything)"; or plain words without another number.
_ANCHOR = re.compile(
    r"\s*(?:[.!]?\s*|[.]?\s*:\s*\S.*|\s[-–—]+\s*[^\W\d].*|\s*\([^()]*\)\s*[.]?|\s+(?!(?:or|to|and|till|of)\b)[^\W\d][^0-9]*)$",
    re.I | re.S,
)


def _number_in_words(text: str, scale: Scale) -> float:
    """The number that a string states by the rules above."""
    stripped = text.strip().strip("*_`\"' ").strip()
    found = _PLAIN.match(stripped)
    if found is None:
        raise _Unreadable("no_number")
    rest = stripped[found.end():].lstrip("*_`") if found.end() < len(stripped) else ""
    share = _OF_MAXIMUM.match(rest)
    if share is not None:
        if float(share.group(1)) != scale.bounds[1]:
            raise _Unreadable("other_scale")
    elif not _ANCHOR.match(rest):
        raise _Unreadable("no_single_number")
    return float(found.group())


def read_value(value: Any, scale: Scale) -> tuple[float, list[str]]:
    """The score that one JSON value gives, and flags.

    Raises:
        _Unreadable: when it gives none.
    """
    flags: list[str] = []
    if isinstance(value, str):
        number = _number_in_words(value, scale)
        flags.append("numeric_string")
    elif value is None:
        raise _Unreadable("null_score")
    elif isinstance(value, bool):
        raise _Unreadable("boolean_score")
    elif isinstance(value, int | float):
        if isinstance(value, int) and abs(value) > 10**15:
            raise _Unreadable("out_of_range", Outcome.out_of_range)
        number = float(value)
    else:
        raise _Unreadable("score_not_a_number")
    if not math.isfinite(number):
        raise _Unreadable("not_finite")
    if not scale.contains(number):
        raise _Unreadable("out_of_range", Outcome.out_of_range)
    return number, flags


def _same_name(key: str, name: str) -> bool:
    return re.sub(r"[\s_-]+", "_", key.strip()).casefold() == name.casefold()


def _values_of(found: dict[str, Any], name: str) -> list[Any]:
    """Every value that an object gives a field: exact name first, else ignoring case; all values of doubled keys."""
    keys = [name] if name in found else [key for key in found if _same_name(key, name)]
    values: list[Any] = []
    for key in keys:
        values += found.seen.get(key, [found[key]]) if isinstance(found, DuplicateKeys) else [found[key]]
    return values


def _holder(found: dict[str, Any], name: str) -> dict[str, Any] | None:
    """The object that holds the field: this one, or the one it merely wraps."""
    if _values_of(found, name):
        return found
    inner = [value for value in found.values() if isinstance(value, dict)]
    if len(found) == 1 and inner and _values_of(inner[0], name):
        return inner[0]
    return None


def _one(values: list[Any]) -> Any:
    first = values[0]
    if any(type(value) is not type(first) or value != first for value in values[1:]):
        raise _Unreadable("ambiguous")
    return first


def _literal_agrees(span: str, name: str, value: Any) -> bool:
    """Whether a repaired object's value stands in the text as it was read: once, whole, at its label.

    Repair may split ``7,5`` or drop what it does not understand; a rating is only taken when it did not touch it.
    """
    label = rf"""["'“]?\b{re.escape(name)}\b["'”]?\s*:\s*"""
    value_then_end = r"""(?:"((?:[^"\\]|\\.)*)"|([^\s,}\]"]+))(?=\s*(?:\}|,\s*(?:["'“}]|//|$|\w+["']?\s*:)|\n|$))"""
    literals = re.findall(label + value_then_end, span, re.I)
    if len(literals) != 1 or len(re.findall(label, span, re.I)) != 1:
        return False
    quoted, bare = literals[0]
    return quoted == value if isinstance(value, str) and quoted else bare == str(value) or bare == f"{value:g}"


def _scores_from(found: dict[str, Any], form: Form) -> tuple[dict[str, float], list[str]]:
    headline = form.headline
    if headline.scale is None or headline.dimension is None:
        raise _Unreadable("no_headline")
    number, flags = read_value(_one(_values_of(found, headline.name)), headline.scale)
    scores = {headline.dimension: number}
    for field in form.scores:
        if field.name == headline.name or field.scale is None or field.dimension is None:
            continue
        try:
            value, more = read_value(_one(_values_of(found, field.name) or [None]), field.scale)
        except _Unreadable:
            flags.append(f"no_{field.name}")
            continue
        scores[field.dimension] = value
        flags += more
    return scores, flags


def _from_objects(
    form: Form, objects: list[tuple[dict[str, Any], str]], is_repaired: bool
) -> tuple[dict[str, float], list[str]]:
    holders = [(held, span) for found, span in objects if (held := _holder(found, form.headline.name)) is not None]
    if not holders:
        raise _Unreadable("missing_field")
    first, span = holders[0]
    if any(held != first for held, _ in holders[1:]):
        raise _Unreadable("ambiguous")
    if is_repaired and not _literal_agrees(span, form.headline.name, _one(_values_of(first, form.headline.name))):
        raise _Unreadable("ambiguous_repair")
    return _scores_from(first, form)


def _labelled(answer: str, labels: tuple[str, ...]) -> list[str]:
    """What follows a label: on its own line after a separator, or as the first line under a heading or bold label."""
    name = "|".join(label.replace(" ", "[ _]") for label in sorted(labels, key=len, reverse=True))
    line = re.compile(
        r"^[ \t>]*(?:[-*+•][ \t]+|[0-9]{1,2}[.)][ \t]+)?(?P<mark>\#{1,6}[ \t]*)?(?P<bold>[*_]{1,3})?"
        rf"(?:{name})[ \t]*(?P<inner>[:=：])?[ \t]*(?(bold)[*_]{{1,3}})[ \t]*(?P<outer>[:=：])?[ \t]*(?P<rest>[^\n]*)$",
        re.I | re.M,
    )
    values: list[str] = []
    for found in line.finditer(answer):
        rest = found.group("rest").strip()
        separated = found.group("inner") or found.group("outer")
        if rest and (separated or (found.group("mark") and rest[0].isdigit())):
            values.append(rest)
        elif not rest and (found.group("mark") or found.group("bold") or separated):
            following = answer[found.end():].lstrip().split("\n", 1)[0].strip()
            values.append(following)
    return values


def _labelled_value(answer: str, field: Field, scale: Scale) -> float:
    for labels in ((field.name,), field.labels):
        values = _labelled(answer, labels) if labels else []
        if values:
            numbers = {_number_in_words(value, scale) for value in values}
            if len(numbers) > 1:
                raise _Unreadable("ambiguous")
            return read_value(numbers.pop(), scale)[0]
    raise _Unreadable("no_labelled_field")


def _from_markdown(form: Form, answer: str) -> tuple[dict[str, float], list[str]]:
    scores: dict[str, float] = {}
    flags = ["markdown"]
    for field in sorted(form.scores, key=lambda field: field.name != form.headline.name):
        if field.scale is None or field.dimension is None:
            continue
        try:
            scores[field.dimension] = _labelled_value(answer, field, field.scale)
        except _Unreadable:
            if field.name == form.headline.name:
                raise
            flags.append(f"no_{field.name}")
    return scores, flags


def _bare(form: Form, answer: str) -> tuple[dict[str, float], list[str]] | None:
    """The score of an answer that is a number and nothing else, where the form allows it."""
    headline = form.headline
    text = answer.strip().removesuffix(".").strip("*_`\"' ").removesuffix(".")
    if not form.is_bare or headline.scale is None or headline.dimension is None or not _PLAIN.fullmatch(text):
        return None
    return {headline.dimension: read_value(float(text), headline.scale)[0]}, []


def _read(answer: str, form: Form) -> tuple[dict[str, float], list[str]]:
    if not answer.strip():
        raise _Unreadable("empty")
    bare = _bare(form, answer)
    if bare is not None:
        return bare
    found = find_objects(answer)
    if found.is_cut_off:
        raise _Unreadable("incomplete_json")
    if not found.objects:
        return _from_markdown(form, answer)
    scores, flags = _from_objects(form, found.objects, "json_repaired" in found.flags)
    return scores, [*found.flags, *flags]


def parse_review(answer: str, form: Form) -> Parsed:
    """The scores of one answer, or why it has none.

    Args:
        answer: the visible text of an answered call.
        form: what the prompt asked for.

    Returns:
        ``answered`` with at least ``overall``; ``unparsable`` or ``out_of_range`` with a reason and no score.
    """
    try:
        scores, flags = _read(answer, form)
    except _Unreadable as problem:
        return Parsed(outcome=problem.outcome, reason=problem.reason)
    return Parsed(outcome=Outcome.answered, scores=scores, flags=sorted(set(flags)))
