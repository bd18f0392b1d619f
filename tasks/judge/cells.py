"""Cells: one version, asked in one manner, once. And the key that says when two cells are the same question.

Here belongs identity. Everything that can change a judgement is in its key: the protocol's words and form, the
endpoint's address, the model, every parameter, what of the version is shown, the repeat, and how the answer is read.
No label is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import polars as pl
from pydantic import Field

from storage.keys import canonical_json, content_hash, step_key
from storage.records import Record
from storage.store import Store
from tasks.judge.inputs import Given, InputKind, limit_for
from tasks.models.asks import CALL_VERSION
from tasks.models.endpoints import EndpointSpec

JUDGEMENT_VERSION = 1
"""Raised by hand when cells are judged in another way although nothing in their key changed."""

Scoring = Literal["sampled", "expectation"]
TooLong = Literal["refuse", "trim"]


class Manner(Record):
    """How a shard's cells are asked: what they share."""

    endpoint: EndpointSpec
    model: str
    parameters: dict[str, Any] = Field(default_factory=dict)
    """The protocol's own and the configuration's, merged; what is sent."""
    scoring: Scoring = "sampled"
    input: Literal["auto"] | InputKind = "auto"
    """``latex``: the flattened source, or the text of a version without one."""
    too_long: TooLong = "refuse"


class VersionRef(Record):
    """A version by its hashes: what a flow passes instead of a paper."""

    key: str
    family_key: str
    text_hash: str
    pdf_hash: str | None = None
    source_hash: str | None = None
    """Of the archive of its LaTeX project; None for a version without source."""
    chars: int = 0
    """Length of its text."""
    first_repeat: int = 0
    """Where its repeats begin: a repeat of the original is the original asked again, not its answer shown again."""
    context_hash: str | None = None
    """Of the literature that is shown beside it."""
    context_chars: int = 0


@dataclass(slots=True, unsafe_hash=True)
class Cell:
    """One question about one version. Never changed; not declared frozen, as a plan makes 300,000 in a moment."""

    key: str
    """Of the judgement."""
    version: VersionRef
    given: Given
    repeat: int
    refused: str | None = None
    """Why it is not asked at all."""
    is_trimmed: bool = False
    """Its family's texts are cut at one length, because one of them is too long."""


def version_refs(store: Store, version_keys: Iterable[str]) -> list[VersionRef]:
    """The versions by key, in the order given, in one query.

    Raises:
        KeyError: when a key names no version.
    """
    wanted = list(dict.fromkeys(version_keys))
    found = store.query(
        "SELECT key, family_key, text_hash, pdf_hash, source_hash, coalesce(t.chars, 0) AS chars FROM versions_best "
        "LEFT JOIN (SELECT hash, any_value(length(text)) AS chars FROM texts GROUP BY hash) t ON t.hash = text_hash "
        "WHERE key IN (SELECT key FROM wanted_versions)",
        frames={"wanted_versions": pl.DataFrame({"key": wanted}, schema={"key": pl.String})},
    )
    refs = {row["key"]: VersionRef(**row) for row in found.iter_rows(named=True)}
    return [refs[key] for key in wanted]


def _kind(manner: Manner, version: VersionRef) -> InputKind:
    if manner.input == "latex":
        return "latex" if version.source_hash not in (None, version.pdf_hash) else "text"
    if manner.input != "auto":
        return manner.input
    return "pdf" if manner.endpoint.pdf == "native" and version.pdf_hash is not None else "text"


def _limits(manner: Manner, versions: Sequence[VersionRef]) -> dict[str, int]:
    """Families that do not fit the endpoint's window, with the number of characters that would.

    The rule for papers longer than the context (the same for every version of a family, so that no comparison is
    between a whole text and a cut one): when one version of a family does not fit, either none of them is asked
    (``refuse``) or all are cut at the same length (``trim``), and each judgement says so.
    """
    if manner.endpoint.context_tokens is None or manner.input == "abstract":
        return {}
    limit = limit_for(manner.endpoint.context_tokens)
    longest: defaultdict[str, int] = defaultdict(int)
    for version in versions:
        longest[version.family_key] = max(longest[version.family_key], version.chars)
    return {family: limit for family, chars in longest.items() if chars > limit}


def manner_key(protocol: dict[str, Any], manner: Manner) -> str:
    """The part of a judgement's key that a shard's cells share.

    Args:
        protocol: the protocol's ``identity``: hashes of its words and form, and its parser's name and version.
        manner: how it is asked; the endpoint counts with its address, API and way to ask for JSON, not with its label,
            limits or prices.
    """
    endpoint = manner.endpoint
    return step_key(
        "manner", JUDGEMENT_VERSION, calls=CALL_VERSION, protocol=protocol, base_url=endpoint.identity,
        api=endpoint.api, structured=endpoint.structured, model=manner.model, parameters=manner.parameters,
        scoring=manner.scoring,
    )


def judgement_key(manner: str, given: Given, repeat: int, too_long: str | None) -> str:
    """The key of one judgement.

    Args:
        manner: the manner's key.
        given: what of the version is shown.
        repeat: 0, 1, 2 ... of the same question.
        too_long: ``refuse`` or ``trim`` for a family that does not fit the window, else None.
    """
    # What step_key("judgement", ..., given=, manner=, repeat=, too_long=) hashes, put together: a plan makes 300,000.
    rule = "null" if too_long is None else f'"{too_long}"'
    return content_hash(
        f'{{"parts":{{"given":{_shown(given)},"manner":"{manner}","repeat":{repeat},"too_long":{rule}}},'
        f'"step":"judgement","version":{JUDGEMENT_VERSION}}}'
    )


@lru_cache(maxsize=65536)
def _shown(given: Given) -> str:
    return canonical_json(given.identity()).decode()


def cells_of(
    protocol: dict[str, Any], manner: Manner, versions: Sequence[VersionRef], repeats: int = 1,
    context_limits: Mapping[str, int] | None = None,
) -> list[Cell]:
    """Every cell of one manner over some versions.

    Args:
        protocol: the protocol's ``identity``.
        manner: how they are asked.
        versions: whole families, so that the rule for long papers sees all of each.
        repeats: how often each is asked.
        context_limits: family -> characters of literature that each of its versions may be shown beside it.

    Raises:
        ValueError: when the PDF is to be shown of a version that has none.
    """
    limits = _limits(manner, versions)
    shared = manner_key(protocol, manner)
    cells: list[Cell] = []
    for version in versions:
        kind = _kind(manner, version)
        content = version.pdf_hash if kind == "pdf" else version.source_hash if kind == "latex" else version.text_hash
        if content is None:
            raise ValueError(f"version {version.key} has no PDF to show: set input to auto or text")
        limit = limits.get(version.family_key)
        # A PDF cannot be cut: such a family is refused whatever the rule says.
        rule = None if limit is None else "refuse" if kind == "pdf" else manner.too_long
        room = (context_limits or {}).get(version.family_key)
        beside = room if room is not None and version.context_chars > room else None
        given = Given(kind, content, limit, version.context_hash, beside)
        refused = "family_over_context" if rule == "refuse" else None
        for repeat in range(version.first_repeat, version.first_repeat + repeats):
            key = judgement_key(shared, given, repeat, rule)
            cells.append(Cell(key, version, given, repeat, refused, rule == "trim"))
    return cells
