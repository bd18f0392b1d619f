"""The style signal: what another reader says of an idea's wording before it is judged, and how that reader is asked.

Used by the methods ``llm_injection`` (a strong model) and ``extractor`` (a trained one). A signal depends on the idea's
text alone, so all judges and settings share one call. Here belong its form, its reading and its ask.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from pydantic import Field

from storage.keys import canonical_json, content_hash
from storage.records import Call, Record
from storage.store import Store
from storage.vocabulary import Outcome
from tasks.judge.json_objects import find_objects
from tasks.judge.wording import shipped_prompt
from tasks.models.asks import Ask, Message, Part
from tasks.models.endpoints import EndpointSpec
from tasks.models.fence import fence

SIGNAL_PARSER: Final = "style_signal/1"
TYPES: Final = ("none", "verbose", "grand", "overconfident", "novelty", "application", "hype", "hollow")
SIGNAL_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "type": {"type": "string", "enum": list(TYPES)},
        "deviation": {"type": "number", "minimum": 0, "maximum": 1},
        "hint": {"type": "string"},
    },
    "required": ["type", "deviation", "hint"],
    "additionalProperties": False,
}
MOST_HINT_CHARS: Final = 600


class SignalSpec(Record):
    """Who writes the style signal, as a configuration's ``options.signal`` says."""

    endpoint: str
    """Name of an endpoint of the suite."""
    model: str = Field(min_length=1)
    parameters: dict[str, Any] = Field(default_factory=lambda: {"temperature": 0})
    served: EndpointSpec | None = None
    """That endpoint; filled in when the suite is loaded."""

    def at(self) -> EndpointSpec:
        """Where it is asked.

        Raises:
            ValueError: when the suite has no such endpoint.
        """
        if self.served is None:
            raise ValueError(f"options.signal: {self.endpoint!r} is no endpoint of the suite")
        return self.served

    def identity(self) -> dict[str, Any]:
        """What can change a signal; no label among it."""
        place = self.at()
        return {"base_url": place.identity, "api": place.api, "structured": place.structured, "model": self.model,
                "parameters": self.parameters, "prompt": shipped_prompt("idea_signal").hash,
                "form": content_hash(canonical_json(SIGNAL_SCHEMA)), "parser": SIGNAL_PARSER}


class Signal(Record):
    """A style signal."""

    type: str
    deviation: float
    hint: str

    @property
    def text(self) -> str:
        """As the judge reads it: equal signals are one text."""
        return canonical_json(self.model_dump()).decode()


def read_signal(answer: str) -> Signal | None:
    """The signal that an answer holds; None when it holds none, several, or a value that was not asked for."""
    found = [value for value, _ in find_objects(answer).objects if "deviation" in value]
    return _checked(found[0]) if len(found) == 1 else None


def _checked(value: Mapping[str, Any]) -> Signal | None:
    kind, deviation, hint = value.get("type"), value.get("deviation"), value.get("hint")
    if isinstance(deviation, bool) or not isinstance(deviation, int | float) or not math.isfinite(deviation):
        return None
    if kind not in TYPES or not 0 <= deviation <= 1 or not isinstance(hint, str):
        return None
    return Signal(type=kind, deviation=float(deviation), hint=" ".join(hint.split())[:MOST_HINT_CHARS])


def accept_signal(call: Call) -> Outcome:
    """Whether an answer holds a signal."""
    return Outcome.unparsable if read_signal(call.answer or "") is None else Outcome.answered


def signal_ask(store: Store, spec: SignalSpec, text_hash: str, repeat: int) -> Ask:
    """The call for the signal of one idea's text; its parts are stored when this returns."""
    prompt, lines = shipped_prompt("idea_signal"), fence(hash_of_content=text_hash, label="IDEA")
    put = store.put_text
    parts = (Part(hash=put(f"{prompt.before}\n\n")), Part(hash=put(lines.opening)), Part(hash=text_hash),
             Part(hash=put(lines.closing)), Part(hash=put(f"\n{prompt.after}")))
    messages = (Message(role="system", parts=(Part(hash=put(prompt.system)),)), Message(role="user", parts=parts))
    return Ask.at(spec.at(), spec.model, messages, parameters=spec.parameters, response_schema=SIGNAL_SCHEMA,
                  repeat=repeat)
