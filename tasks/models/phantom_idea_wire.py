"""Idea phantoms behind the wire: what of a request is the idea, and the answer in the form that is asked for.

Here belongs the reading of prompts and the filling of forms; what a phantom thinks is ``phantom_ideas``. It is reached
through ``phantom_transport``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import orjson

from tasks.models.fence import unfenced
from tasks.models.phantom_ideas import (
    IDEA_PHANTOMS,
    IDEA_READERS,
    OVERALL,
    Circumstances,
    IdeaPhantom,
    IdeaReader,
    audited,
    seen,
)

IDEA, LITERATURE, SIGNAL, REFERENCE = "IDEA", "LITERATURE", "STYLE SIGNAL", "REFERENCE"
"""Labels of the fences that prompts about ideas use."""
REFLECTION: Final = "style_reflection"
"""The field of a form that asks to think about style first."""
_BARE: Final = ("rating", "score")


def reads_ideas(model: str) -> bool:
    """Whether a model's name is one of the phantoms here."""
    return model in IDEA_PHANTOMS or model in IDEA_READERS


def idea_answer(model: str, user: str, schema: Mapping[str, Any] | None, prompt: str, repeat: int) -> str | None:
    """What a phantom answers; None when the prompt shows no idea.

    Args:
        model: a name of ``IDEA_PHANTOMS`` or ``IDEA_READERS``.
        user: what the user said.
        schema: the JSON schema to fill; without one the answer is JSON all the same.
        prompt: digest of everything that was said: the seed of its noise.
        repeat: of the request.
    """
    idea = unfenced(user, IDEA)
    if idea is None:
        return None
    fields = dict((schema or {}).get("properties", {}))
    if model in IDEA_READERS:
        return _read(IDEA_READERS[model], idea, unfenced(user, REFERENCE))
    phantom = IDEA_PHANTOMS[model]
    circumstances = Circumstances(
        literature=unfenced(user, LITERATURE) is not None, reflects=REFLECTION in fields, deviation=_deviation(user)
    )
    scores = phantom.scores(idea, circumstances, prompt, repeat)
    if not fields:
        fields = {name: {"type": "integer"} for name in scores}
    return orjson.dumps({name: _filled(phantom, name, part, scores) for name, part in fields.items()}).decode()


def _filled(phantom: IdeaPhantom, name: str, part: Mapping[str, Any], scores: Mapping[str, float]) -> Any:
    value = scores.get(OVERALL if name in _BARE else name)
    if value is not None:
        return round(value)
    return [] if part.get("type") == "array" else f"{phantom.title}."


def _deviation(user: str) -> float:
    signal = unfenced(user, SIGNAL)
    try:
        found = json.loads(signal) if signal is not None else {}
    except json.JSONDecodeError:
        return 0.0
    value = found.get("deviation") if isinstance(found, dict) else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def _read(reader: IdeaReader, idea: str, reference: str | None) -> str:
    if reference is not None:
        said = audited(reference, idea)
        return orjson.dumps({"style": said.style, "substance": said.substance, "quality": 4,
                             "style_only": said.style_only}).decode()
    style, deviation = seen(reader, idea)
    hint = "Score the content alone." if deviation < 0.2 else f"Discount the {style} wording; score the content alone."
    return orjson.dumps({"type": style, "deviation": deviation, "hint": hint}).decode()
