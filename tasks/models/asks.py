"""What is asked: one request to one model, with everything that can change its answer, and its key.

Here belongs identity. Texts and PDFs are named by content hash, so that thirty configurations hold a paper once. How an
ask becomes a body is ``bodies.py``; how an answer is read is the caller's matter and so no part of the key.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple

import orjson
from pydantic import BaseModel, ConfigDict, Field

from storage.keys import canonical_json, content_hash, step_key
from tasks.models.endpoints import EndpointSpec

CALL_VERSION = 1
"""Raised by hand when the same ask is sent in another form, so that earlier answers are no longer its answers."""

PartKind = Literal["text", "pdf"]
Role = Literal["system", "developer", "user", "assistant"]


class _Schema(NamedTuple):
    text: str
    hash: str


@lru_cache(maxsize=256)
def _checked(schema: bytes) -> _Schema:
    """A schema's text and hash; a run has few schemas and many asks."""
    canonical_json(orjson.loads(schema))
    return _Schema(schema.decode(), content_hash(schema))


class Part(BaseModel):
    """A piece of a message: a stored text, or a PDF blob sent as a file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: PartKind = "text"
    hash: str


class Message(BaseModel):
    """One message. The texts of neighbouring text parts are joined as they are, with nothing between them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Role
    parts: tuple[Part, ...]


class Ask(BaseModel):
    """One request. Two asks with equal keys are the same question, whatever labels their configurations carry."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    base_url: str
    """The endpoint's ``identity``."""
    api: Literal["responses", "chat", "reward", "embeddings"] = "chat"
    model: str
    messages: tuple[Message, ...]
    parameters: dict[str, Any] = Field(default_factory=dict)
    """Sampling parameters as Chat Completions names them (``temperature``, ``max_tokens``, ``reasoning_effort``,
    ``logprobs`` ...); translated where the Responses API names them otherwise."""
    response_schema: dict[str, Any] | None = None
    structured: Literal["json_schema", "json_object", "none"] = "json_schema"
    """How the schema is asked for; without a schema it changes nothing."""
    repeat: int = Field(default=0, ge=0)

    @classmethod
    def at(
        cls,
        endpoint: EndpointSpec,
        model: str,
        messages: tuple[Message, ...],
        *,
        parameters: dict[str, Any] | None = None,
        response_schema: dict[str, Any] | None = None,
        repeat: int = 0,
    ) -> Ask:
        """An ask of ``model`` at ``endpoint``: address, API and the way to ask for JSON are taken from it."""
        return cls(
            base_url=endpoint.identity,
            api=endpoint.api,
            model=model,
            messages=messages,
            parameters=parameters or {},
            response_schema=response_schema,
            structured=endpoint.structured,
            repeat=repeat,
        )

    @cached_property
    def key(self) -> str:
        """The hash of everything above: base_url, api, model, contents, parameters, schema, repeat.

        Raises:
            storage.keys.NotCanonical: when a parameter or the schema has no canonical JSON form.
        """
        return step_key(
            "call",
            CALL_VERSION,
            base_url=self.base_url,
            api=self.api,
            model=self.model,
            messages=self.messages_by_hash,
            parameters=self.parameters,
            schema=self.schema_hash,
            structured=self.structured if self.response_schema is not None else None,
            repeat=self.repeat,
        )

    @cached_property
    def messages_by_hash(self) -> list[dict[str, Any]]:
        """The messages as a call row holds them: ``[{role, parts: [{kind, hash}]}]``."""
        return [
            {"role": message.role, "parts": [{"kind": part.kind, "hash": part.hash} for part in message.parts]}
            for message in self.messages
        ]

    @cached_property
    def schema_text(self) -> str | None:
        """The response schema as JSON, stored as a text beside the call; None without one.

        Its fields keep their order: a model answers in the order the schema names them, so order is part of the ask.
        """
        return None if self.response_schema is None else _checked(orjson.dumps(self.response_schema)).text

    @cached_property
    def schema_hash(self) -> str | None:
        """The content hash of ``schema_text``."""
        return None if self.response_schema is None else _checked(orjson.dumps(self.response_schema)).hash

    def hashes(self, kind: PartKind) -> list[str]:
        """The distinct content hashes of the parts of one kind, in order of appearance."""
        return list(
            dict.fromkeys(part.hash for message in self.messages for part in message.parts if part.kind == kind)
        )
