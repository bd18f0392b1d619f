"""How an ask becomes the body of a request, for Chat Completions and for Responses.

Here belongs the translation, and nothing that waits or sends. What an endpoint turned out not to accept is an
``Adaptation``: the body and the row's parameters follow it, the ask and its key do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from tasks.models.asks import Ask, Message

_SCHEMA_FIELDS = frozenset({"response_format", "text", "json_schema", "schema", "format", "strict"})
CAPS = ("max_output_tokens", "max_completion_tokens", "max_tokens")
"""The names under which a token cap goes."""


@dataclass(slots=True)
class Adaptation:
    """What a model at an endpoint was found not to accept; learnt once, kept for the process."""

    dropped: set[str] = field(default_factory=set)
    renamed: dict[str, str] = field(default_factory=dict)
    structured: str | None = None
    """The weaker way to ask for JSON that is used instead; None: as asked."""
    version: int = 0
    """Raised with everything learnt: a request refused in an earlier form is simply sent again."""

    def learn(self, culprit: str, sent: Mapping[str, Any], structured: str) -> bool:
        """Takes in one refusal; False when there is nothing to leave out.

        Args:
            culprit: the field the endpoint named, e.g. ``max_tokens`` or ``text.format``.
            sent: the parameters that were refused.
            structured: how the refused body asked for JSON.
        """
        root = culprit.split(".", 1)[0].split("[", 1)[0]
        if root in _SCHEMA_FIELDS and root not in sent:
            weaker = {"json_schema": "json_object", "json_object": "none"}.get(structured)
            self.structured = weaker or self.structured
            known = weaker is not None
        elif root == "max_tokens" and root in sent:
            self.renamed[root] = "max_completion_tokens"
            known = True
        else:
            known = root in sent
            self.dropped |= {root} if known else set()
        self.version += known
        return known

    def adapt(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters as they are sent."""
        sent = {}
        for name, value in parameters.items():
            name = self.renamed.get(name, name)
            if name not in self.dropped:
                sent[name] = value
        return sent


def raised_cap(parameters: Mapping[str, Any], factor: int) -> dict[str, Any]:
    """The parameters with their token cap multiplied; without a cap, as they are."""
    return {
        name: value * factor if name in CAPS and isinstance(value, int) else value for name, value in parameters.items()
    }


def token_cap(parameters: Mapping[str, Any]) -> int | None:
    """The token cap among the parameters, under any of its names."""
    return next((parameters[name] for name in CAPS if isinstance(parameters.get(name), int)), None)


def _chat_content(message: Message, texts: Mapping[str, str], files: Mapping[str, Any]) -> Any:
    if all(part.kind == "text" for part in message.parts):
        return "".join(texts[part.hash] for part in message.parts)
    return [
        {"type": "text", "text": texts[p.hash]} if p.kind == "text" else {"type": "file", "file": files[p.hash]}
        for p in message.parts
    ]


def _chat_format(ask: Ask, structured: str) -> dict[str, Any]:
    if ask.response_schema is None or structured == "none":
        return {}
    if structured == "json_object":
        return {"response_format": {"type": "json_object"}}
    schema = {"name": "answer", "strict": True, "schema": ask.response_schema}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


def _responses_format(ask: Ask, structured: str) -> dict[str, Any]:
    if ask.response_schema is None or structured == "none":
        return {}
    if structured == "json_object":
        return {"text": {"format": {"type": "json_object"}}}
    form = {"type": "json_schema", "name": "answer", "strict": True, "schema": ask.response_schema}
    return {"text": {"format": form}}


def _responses_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters in the Responses API's words; names it shares with Chat Completions stay."""
    named = dict(parameters)
    for cap in ("max_completion_tokens", "max_tokens"):
        if cap in named:
            named.setdefault("max_output_tokens", named[cap])
            del named[cap]
    effort = named.pop("reasoning_effort", None)
    if effort is not None:
        named["reasoning"] = {**named.get("reasoning", {}), "effort": effort}
    if named.pop("logprobs", None):
        named["include"] = [*named.get("include", []), "message.output_text.logprobs"]
    return named


def _responses_content(message: Message, texts: Mapping[str, str], files: Mapping[str, Any]) -> list[dict[str, Any]]:
    kind = "output_text" if message.role == "assistant" else "input_text"
    return [
        {"type": kind, "text": texts[part.hash]} if part.kind == "text" else {"type": "input_file", **files[part.hash]}
        for part in message.parts
    ]


def parameters_sent(ask: Ask, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Sampling parameters as the ask's API names them."""
    return _responses_parameters(parameters) if ask.api == "responses" else dict(parameters)


def body_of(
    ask: Ask, texts: Mapping[str, str], files: Mapping[str, Any], parameters: Mapping[str, Any], structured: str
) -> bytes:
    """The request's body.

    Args:
        ask: what is asked.
        texts: the texts of its parts, by hash.
        files: for each PDF part, by hash: ``{"file_id": ...}`` or ``{"filename": ..., "file_data": ...}``.
        parameters: what ``parameters_sent`` gave, adapted.
        structured: how JSON is asked for: ``json_schema``, ``json_object`` or ``none``.
    """
    if ask.api == "embeddings":
        text = "".join(texts[part.hash] for message in ask.messages for part in message.parts)
        return orjson.dumps({"model": ask.model, "input": text, **parameters})
    if ask.api == "responses":
        turns = [{"role": m.role, "content": _responses_content(m, texts, files)} for m in ask.messages]
        form = _responses_format(ask, structured)
        if "text" in parameters and form:
            form = {"text": {**parameters["text"], **form["text"]}}
        return orjson.dumps({"model": ask.model, "input": turns, **parameters, **form})
    turns = [{"role": m.role, "content": _chat_content(m, texts, files)} for m in ask.messages]
    return orjson.dumps({"model": ask.model, "messages": turns, **parameters, **_chat_format(ask, structured)})
