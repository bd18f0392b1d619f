"""The language-model producer of variants: one call a single variant, a chain of calls for a hybrid, each checked.

Here belong what is asked and which answers may be used. What becomes of a variant is ``making.py``'s matter.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

import json_repair
from pydantic import ValidationError

from storage.ideas import NEEDED, PROSE, STYLE_VARIANT, Idea
from storage.records import Call
from storage.store import Store
from storage.vocabulary import Outcome
from tasks.models.asks import Ask, Message, Part
from tasks.models.fence import fence
from tasks.rewrite.ideas.prompts import idea_prompt
from tasks.rewrite.injections.asking import Wanted
from tasks.rewrite.spec import Producer

FIELDS: Final = ("title", *PROSE, "variables")
IDEA_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {name: {"type": "array", "items": {"type": "string"}} if name == "variables" else {"type": "string"}
                   for name in FIELDS},
    "required": list(FIELDS),
    "additionalProperties": False,
}
LONGEST: Final = 4.0
SHORTEST: Final = 0.3
"""Bounds on a variant's length against the text it is made from; hollow ideas may be shorter."""
_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")


def wanted_variant(store: Store, producer: Producer, idea: Idea, variant: str, repeat: int) -> Wanted:
    """The call for one single variant.

    Args:
        store: where the prompt's texts go.
        producer: of kind model.
        idea: what it is made from.
        variant: a single variant's name.
        repeat: 0 for the first making, then a number for each remake.

    Raises:
        ValueError: for a producer of kind rules.
    """
    if producer.endpoint is None:
        raise ValueError(f"producer {producer.name} asks no model")
    given = json.dumps({name: getattr(idea, name) for name in FIELDS}, ensure_ascii=False, indent=1)
    lines = fence(given, label="IDEA")
    texts = [idea_prompt(STYLE_VARIANT[variant].style), f"\n{lines.opening}", given, lines.closing]
    messages = (
        Message(role="system", parts=(Part(hash=store.put_text(idea_prompt("vary"))),)),
        Message(role="user", parts=tuple(Part(hash=store.put_text(text)) for text in texts)),
    )
    ask = Ask.at(producer.endpoint, producer.model, messages, parameters=producer.spec.parameters,
                 response_schema=IDEA_SCHEMA, repeat=repeat)

    def accept(call: Call) -> Outcome:
        made = read_idea(call.answer or "", idea)
        return Outcome.unparsable if made is None or problem(idea, made, variant) else Outcome.answered

    return Wanted(ask, producer.endpoint, accept)


def read_idea(answer: str, idea: Idea) -> Idea | None:
    """The idea that an answer holds, with what a model may not change taken from ``idea``; None when it holds none."""
    first, last = answer.find("{"), answer.rfind("}")
    if first < 0 or last < first:
        return None
    span = answer[first:last + 1]
    try:
        found = json.loads(span, strict=False)
    except ValueError:
        found = json_repair.loads(span)
    if not isinstance(found, dict) or not all(isinstance(found.get(name), str) for name in NEEDED[1:]):
        return None
    variables = found.get("variables")
    changed: dict[str, Any] = {name: " ".join(str(found.get(name) or "").split()) for name in PROSE}
    if isinstance(variables, list) and all(isinstance(each, str) for each in variables):
        changed["variables"] = tuple(variables)
    try:
        return Idea.model_validate({**idea.model_dump(), **changed})
    except ValidationError:
        return None


def problem(idea: Idea, made: Idea, variant: str) -> str | None:
    """Why a variant may not be used, as a typed word; None when it may. Style may not lose or bring in a number."""
    kind = STYLE_VARIANT[variant]
    ratio = len(made.text) / len(idea.text)
    if ratio > LONGEST or (ratio < SHORTEST and kind.substance != "removed"):
        return "length"
    before, after = set(_NUMBER.findall(idea.text)), set(_NUMBER.findall(made.text))
    if kind.substance == "kept" and before != after:
        return "numbers"
    if kind.substance == "added" and not before <= after:
        return "numbers"
    if variant != "A3" and made.text == idea.text:
        return "nothing_changed"
    return None
