"""Injections written by a language model: the cue out of the better answer, the cue into the worse one.

Here belongs what is asked and which answers may be used. Every answer is a ``calls`` row.
"""

from __future__ import annotations

import json
from typing import Any, Final

import json_repair

from storage.records import Call
from storage.store import Store
from storage.vocabulary import Outcome
from tasks.models.asks import Ask, Message, Part
from tasks.models.fence import fence
from tasks.rewrite.injections.asking import Wanted
from tasks.rewrite.injections.injection import Injection, pair_of
from tasks.rewrite.injections.prompts import instructions, prompt

SCHEMA: Final[dict[str, Any]] = {
    "type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"],
    "additionalProperties": False,
}
REMOVED_WORDS: Final = (0.35, 1.3)
ADDED_WORDS: Final = (0.7, 3.0)
"""Bounds of the new answer's words over the old one's, without and with the cue."""


def asks_of(store: Store, injection: Injection) -> tuple[Wanted, Wanted]:
    """What is asked for one injection: the better answer without the cue, the worse one with it.

    Raises:
        ValueError: for an injection that no model writes.
    """
    producer = injection.producer
    if producer is None or producer.endpoint is None:
        raise ValueError(f"the injection of {injection.bias} is not written by a model")
    pair, told = pair_of(injection.family), instructions()[injection.bias]
    made = []
    for answer, instruction in ((pair.chosen, told["remove"]), (pair.rejected, told[injection.style])):
        parts = [_fenced(pair.question, "QUESTION"), "\n", _fenced(answer, "ANSWER"), f"\nInstruction: {instruction}\n"]
        messages = (
            Message(role="system", parts=(Part(hash=store.put_text(prompt("inject"))),)),
            Message(role="user", parts=tuple(Part(hash=store.put_text(part)) for part in parts)),
        )
        ask = Ask.at(producer.endpoint, producer.model, messages, parameters=producer.spec.parameters,
                     response_schema=SCHEMA)
        made.append(Wanted(ask, producer.endpoint, _accept))
    return made[0], made[1]


def _fenced(text: str, label: str) -> str:
    lines = fence(text, label=label)
    return f"{lines.opening}{text}{lines.closing}"


def _accept(call: Call) -> Outcome:
    return Outcome.answered if read_answer(call.answer) is not None else Outcome.unparsable


def read_answer(text: str | None) -> str | None:
    """The answer in a model's JSON; None where there is none."""
    first, last = (text or "").find("{"), (text or "").rfind("}")
    if text is None or not 0 <= first < last:
        return None
    inner = text[first : last + 1]
    try:
        found = json.loads(inner, strict=False)
    except ValueError:
        found = json_repair.loads(inner)
    answer = found.get("answer") if isinstance(found, dict) else None
    return answer.strip() if isinstance(answer, str) and answer.strip() else None


def problem(before: str, after: str, bounds: tuple[float, float], *, must_differ: bool) -> str | None:
    """Why a new answer may not be used, as a typed word; None where it may."""
    ratio = len(after.split()) / max(len(before.split()), 1)
    if not bounds[0] <= ratio <= bounds[1]:
        return "length_out_of_bounds"
    return "nothing_changed" if must_differ and after == before else None
