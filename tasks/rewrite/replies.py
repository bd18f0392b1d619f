"""What a rewriting model answered: passages by id, or a review's weaknesses.

Here belongs the reading of answers and the schemas they are asked in. Whether a passage may be used is decided by the
guard.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection
from typing import Any, Final

import json_repair

from tasks.latex.guard import Problem, problems, tidied
from tasks.latex.masks import MASK, Segment

_STRING: Final = {"type": "string"}


def _list_of(name: str, fields: tuple[str, ...]) -> dict[str, Any]:
    item = {"type": "object", "properties": dict.fromkeys(fields, _STRING), "required": list(fields),
            "additionalProperties": False}
    return {"type": "object", "properties": {name: {"type": "array", "items": item}}, "required": [name],
            "additionalProperties": False}


SEGMENTS_SCHEMA: Final = _list_of("segments", ("id", "text"))
REVIEW_SCHEMA: Final = _list_of("weaknesses", ("where", "weakness", "advice"))
_FENCED: Final = re.compile(r"```[A-Za-z]*[ \t]*\n(.*?)```", re.S)
_WORDS: Final = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_ENGLISH_WORDS: Final = """
the of and to in a is that for with as we are this on by be it our from which an at these can not or has have
    was were its their than then more most all any each how when where if but so such they there here will may
    into over under between only also use used using one two both no what who does do
"""
_ENGLISH: Final = frozenset(_ENGLISH_WORDS.split())
SHORT_WORDS: Final = 12
"""Below so many words the guard's own language check is silent."""


def _items(answer: str, name: str) -> list[Any] | None:
    """The list called ``name`` in an answer: as JSON, in a fence, between the outer braces, repaired."""
    fenced = _FENCED.search(answer)
    first, last = answer.find("{"), answer.rfind("}")
    between = [answer[first:last + 1]] if 0 <= first < last else []
    candidates = [answer, *([fenced[1]] if fenced else []), *between]
    for text in candidates:
        try:
            found = json.loads(text, strict=False)
        except ValueError:
            continue
        if isinstance(found, dict) and isinstance(found.get(name), list):
            return list(found[name])
    repaired = json_repair.loads(candidates[-1]) if first >= 0 else None
    return list(repaired[name]) if isinstance(repaired, dict) and isinstance(repaired.get(name), list) else None


def read_segments(answer: str | None, ids: Collection[str]) -> dict[str, str] | None:
    """The rewritten passages of an answer.

    Args:
        answer: the model's answer.
        ids: the ids that were asked for.

    Returns:
        By id, only ids that were asked for and came exactly once; None when the answer holds no list of passages.
    """
    items = _items(answer or "", "segments")
    if items is None:
        return None
    read = [(str(item["id"]), item["text"]) for item in items
            if isinstance(item, dict) and isinstance(item.get("text"), str) and "id" in item]
    times = Counter(name for name, _ in read)
    return {name: text for name, text in read if name in ids and times[name] == 1}


def read_review(answer: str | None) -> list[str] | None:
    """A review's advice, one line a weakness; None when the answer holds no list of weaknesses."""
    items = _items(answer or "", "weaknesses")
    if items is None:
        return None
    fields = ("where", "weakness", "advice")
    said = [[" ".join(str(item.get(field) or "").split()) for field in fields]
            for item in items if isinstance(item, dict)]
    return [f"{where}: {weakness} -> {advice}" for where, weakness, advice in said if advice]


def usable(segment: Segment, given: str) -> tuple[str, list[Problem]]:
    """A wording as it would be used, and why it may not be.

    Stricter than the guard where a passage is short: a caption of six words in another language, or said three times
    over, does not pass here.
    """
    new = tidied(given)
    found = problems(segment, new)
    if found or new == segment.text:
        return new, found
    before = [word.lower() for word in _WORDS.findall(MASK.sub(" ", segment.text))]
    after = [word.lower() for word in _WORDS.findall(MASK.sub(" ", new))]
    if len(after) > 2 * len(before) + 2:
        found.append(Problem("too_long", f"{len(after)} words for {len(before)}: stay near the original's length."))
    if min(len(before), len(after)) < SHORT_WORDS and _foreign(before, after):
        found.append(Problem("other_language", "Keep the language of the original."))
    return new, found


def _foreign(before: list[str], after: list[str]) -> bool:
    """Whether a short wording shares neither function words with English nor any word with its original."""
    shared = {word for word in before if len(word) > 3} & set(after)
    return not shared and (not _ENGLISH & set(after) or not _ENGLISH & set(before))
