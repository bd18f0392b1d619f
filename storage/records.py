"""The tables: each declared once, as a frozen pydantic record.

DDL, checks, Arrow schemas and the documentation come from these classes (see ``schema.py``). Tables are append-only and
have no primary keys; the views in ``views.py`` take the right row per key. A field's comment is its documentation.
"""

from __future__ import annotations

import os
import random
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from storage.vocabulary import Outcome


def now() -> datetime:
    """The present moment, in UTC."""
    return datetime.now(UTC)


# Seeded by the system, apart from the generator that suites seed; a system call for each row would cost more than
# the row.
_ids = random.Random()
os.register_at_fork(after_in_child=_ids.seed)


def new_id() -> str:
    """A fresh identifier for an attempt or a run (32 hexadecimal digits)."""
    return f"{_ids.getrandbits(128):032x}"


class Record(BaseModel):
    """A row. Frozen, and unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class TableRecord(Record):
    """A row of a table of the store."""

    table: ClassVar[str]
    at: datetime = Field(default_factory=now)
    """When the row was made."""


class Text(TableRecord):
    """A long text, stored once by content; calls and versions refer to it."""

    table: ClassVar[str] = "texts"
    hash: str
    text: str


class BlobEntry(TableRecord):
    """A blob that lies in the blob folder: a PDF, a source archive, a compile log."""

    table: ClassVar[str] = "blobs"
    hash: str
    size_bytes: int
    media_type: str


class Step(TableRecord):
    """The step ledger: one row for each time a step other than a model call ended."""

    table: ClassVar[str] = "steps"
    key: str
    step: str
    """``ingest``, ``build``, ``rewrite``, ``retrieve`` ..."""
    outcome: Literal["done", "excluded", "failed"]
    """``excluded`` is a final answer (this paper does not build); ``failed`` is tried again."""
    reason: str | None = None
    """A short typed word such as ``does_not_build``; None when done."""
    detail: str | None = None
    """One line for a person: the file, the family, the first error."""
    output: dict[str, Any] = Field(default_factory=dict)
    """What the step found besides its record rows, as JSON."""
    run_id: str | None = None
    seconds: float = 0.0


class Family(TableRecord):
    """An item of a benchmark: a paper, an idea or a preference pair, as it was ingested."""

    table: ClassVar[str] = "families"
    key: str
    family: str
    """The name people use: folder name, arXiv id."""
    benchmark: Literal["robust_review", "sci_style", "judge_bias"] = "robust_review"
    source_kind: Literal["latex", "pdf", "idea", "pair"]
    source_hash: str
    """Blob of the source: the project as a canonical tar, or the PDF."""
    title: str | None
    abstract_hash: str | None = None
    sections: list[str] = Field(default_factory=list)
    main_file: str | None = None
    text_hash: str | None
    """Text that judges read, extracted from the compiled original."""
    pdf_hash: str | None = None
    protected_hash: str | None = None
    """Text that lists the protected content (math, numbers, citations) one item a line."""
    pages: int | None = None
    words: int = 0
    flags: list[str] = Field(default_factory=list)
    """What a reader of the numbers should know, e.g. ``hidden_text``, ``no_abstract``."""
    facts: dict[str, Any] = Field(default_factory=dict)
    """Source-specific facts as JSON (fields of an idea or pair, arXiv id, build sets)."""


class HumanScore(TableRecord):
    """A human score of a family on one dimension, and where it came from."""

    table: ClassVar[str] = "human_scores"
    family: str
    dimension: str = "overall"
    score: float
    source: str


class Version(TableRecord):
    """One wording of a family: the original or a rewrite that passed its checks."""

    table: ClassVar[str] = "versions"
    key: str
    family_key: str
    condition: str
    """``original``, a condition's name, a variant's name, or an injection's name."""
    text_hash: str
    pdf_hash: str | None = None
    source_hash: str | None = None
    """Blob of the rewritten project as a canonical tar."""
    pages: int | None = None
    words: int = 0
    segments: int = 0
    segments_changed: int = 0
    segments_fallback: int = 0
    """Segments that kept the original wording because every rewrite of them failed a check."""
    facts: dict[str, Any] = Field(default_factory=dict)


class Call(TableRecord):
    """One attempt of one request to a model, and what came back. Never scored unless ``answered``."""

    table: ClassVar[str] = "calls"
    key: str
    attempt_id: str = Field(default_factory=new_id)
    run_id: str | None = None
    attempt: int
    outcome: Outcome
    """As the transport saw it: an answer that does not parse is ``answered`` here; its judgement says unparsable."""
    base_url: str
    api: str
    model: str
    resolved_model: str | None = None
    messages: list[dict[str, Any]]
    """``[{role, parts: [{kind: text|pdf, hash}]}]``: texts and PDFs by hash, so that the request can be rebuilt."""
    parameters: dict[str, Any]
    schema_hash: str | None = None
    """Text with the JSON schema the answer was asked in."""
    repeat: int
    answer: str | None = None
    logprobs: list[dict[str, Any]] | None = None
    """``[{token, logprob, top: {token: logprob}}]`` where the endpoint gave them."""
    finish_reason: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    """None when the price of the model is not known."""
    http_status: int | None = None
    error: str | None = None
    provider_id: str | None = None
    started_at: datetime
    latency_ms: float


class Judgement(TableRecord):
    """What one call (or one reviewer's chain of calls), parsed, says about one version."""

    table: ClassVar[str] = "judgements"
    key: str
    run_id: str | None = None
    protocol: str
    parser: str
    """Name and version, e.g. ``review_json/1``."""
    base_url: str
    model: str
    version_hash: str
    """Content hash of what was judged (the text, or the PDF where it was sent natively)."""
    repeat: int
    outcome: Outcome
    reason: str | None = None
    scores: dict[str, float]
    """By dimension; ``overall`` is the headline score. Empty unless answered."""
    call_keys: list[str]
    attempt_ids: list[str]
    """The attempts whose answers the scores were read from, in order."""
    flags: list[str] = Field(default_factory=list)
    """``json_repaired``, ``numeric_string`` ..."""


class Run(TableRecord):
    """The beginning and the end of one run of a suite (two rows with one ``run_id``)."""

    table: ClassVar[str] = "runs"
    run_id: str
    suite: str
    suite_hash: str
    event: Literal["started", "ended"]
    state: str
    flow_run_id: str | None = None
    facts: dict[str, Any] = Field(default_factory=dict)
    """Versions of Python, packages, TeX and ourselves; seeds; counts; spend."""


class Work(TableRecord):
    """One work of the literature that is shown with an idea, and where it came from: a row of a frozen snapshot."""

    table: ClassVar[str] = "works"
    key: str
    """Of the snapshot: the ``retrieve`` step that found it."""
    place: int
    """1, 2 ... in the order in which judges see it."""
    title: str
    abstract: str
    """Empty where the provider has none."""
    year: int | None = None
    authors: list[str] = Field(default_factory=list)
    doi: str = ""
    venue: str = ""
    provider: str
    """``openalex``, ``crossref``, ``pool`` or ``corpus``."""
    provider_id: str = ""
    query: str
    """The query that found it."""
    provider_rank: int
    """1, 2 ... in that query's answer."""
    score: float
    """BM25 of title and abstract against the idea."""
    fetched_at: datetime
    flags: list[str] = Field(default_factory=list)
    """``no_abstract``, ``merged`` (several records of one work) ..."""


TABLES: tuple[type[TableRecord], ...] = (Text, BlobEntry, Step, Family, HumanScore, Version, Call, Judgement, Run, Work)
