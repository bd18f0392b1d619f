"""JSON objects inside an answer: the whole text first, then objects found in talk and fences, repair last.

Here belongs finding and reading objects without ever choosing between two of them. What the values mean is ``parse``.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

import json_repair

MAX_CANDIDATES = 64
"""Braces that are tried as the beginning of an object: an answer full of braces costs bounded time."""


class DuplicateKeys(dict[str, Any]):
    """An object in which a key came more than once; ``seen`` holds every value of each such key."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.seen: dict[str, list[Any]] = {}
        for key, value in pairs:
            self.seen.setdefault(key, []).append(value)
        self.seen = {key: values for key, values in self.seen.items() if len(values) > 1}


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    plain = dict(pairs)
    return plain if len(plain) == len(pairs) else DuplicateKeys(pairs)


# ``strict=False`` lets raw line breaks in strings pass: models write them, and they are not ambiguous.
_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, strict=False)


@dataclass(frozen=True, slots=True)
class Found:
    """The objects of an answer, in order of appearance."""

    objects: list[tuple[dict[str, Any], str]] = field(default_factory=list)
    """Each with the text it was read from."""
    flags: tuple[str, ...] = ()
    is_cut_off: bool = False
    """An object began and never ended."""


def _load(text: str) -> Any:
    """The JSON value of a whole text.

    Raises:
        ValueError: when it is none (also for integers of thousands of digits and hopeless nesting).
    """
    try:
        return _DECODER.decode(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _balanced_end(text: str, start: int) -> int | None:
    """Where the object that begins at ``start`` ends, minding strings; None when it never does."""
    depth, inside, place = 0, False, start
    while place < len(text):
        letter = text[place]
        if inside:
            if letter == "\\":
                place += 1
            elif letter == '"':
                inside = False
        elif letter == '"':
            inside = True
        elif letter == "{":
            depth += 1
        elif letter == "}":
            depth -= 1
            if depth == 0:
                return place + 1
        place += 1
    return None


def _unwrapped(value: Any, text: str) -> Found | None:
    """The object of a whole answer that is valid JSON, also as a list of one or as a JSON text within a string."""
    if isinstance(value, dict):
        return Found([(value, text)])
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return Found([(item, text) for item in value], ("in_list",))
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            inner = _load(value.strip())
        except ValueError:
            return None
        return Found([(inner, value)], ("double_encoded",)) if isinstance(inner, dict) else None
    return None


def _repaired(span: str) -> dict[str, Any] | None:
    try:
        value = json_repair.loads(span, skip_json_loads=True)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and value else None


_OBJECT_START = re.compile(r"\{\s*(?:[\"'“]|\w+\s*:)")


def _looks_like_object(text: str, start: int) -> bool:
    return _OBJECT_START.match(text, start, start + 80) is not None


def find_objects(answer: str) -> Found:
    """Every top-level JSON object of an answer.

    A valid answer is never searched: text fields may quote code and braces. An object inside a broken or cut-off one
    is never taken for the answer.
    """
    text = answer.strip().lstrip("\ufeff")
    try:
        whole = _unwrapped(_load(text), text)
    except ValueError:
        whole = None
    return whole if whole is not None else _search(text)


def _search(text: str) -> Found:
    objects: list[tuple[dict[str, Any], str]] = []
    flags: list[str] = ["embedded_json"]
    place = tried = 0
    while (start := text.find("{", place)) >= 0 and tried < MAX_CANDIDATES:
        tried += 1
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            end_or_none = _balanced_end(text, start)
            if end_or_none is None:
                if _looks_like_object(text, start):
                    return Found(objects, tuple(flags), is_cut_off=True)
                place = start + 1
                continue
            end = end_or_none
            value = _repaired(text[start:end]) if _looks_like_object(text, start) else None
            if value is not None and "json_repaired" not in flags:
                flags.append("json_repaired")
        if isinstance(value, dict) and value:
            objects.append((value, text[start:end]))
        place = end
    return Found(objects, tuple(flags) if objects else ())
