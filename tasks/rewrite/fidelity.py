"""The fidelity audit: does a version still say what its original says? Asked of a model that neither wrote nor judges.

Here belongs the question, how its answer is read, and that nothing is asked twice. Nothing is dropped because of the
audit; what becomes of the verdicts is the flows' matter, and so are people's verdicts on the same five dimensions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import json_repair
from pydantic import BaseModel, ConfigDict, Field

from storage.errors import SuiteError
from storage.keys import content_hash, step_key
from storage.records import Call, Step
from storage.store import Store
from storage.vocabulary import TRANSIENT, Outcome
from tasks.models.asks import Ask, Message, Part
from tasks.models.endpoints import EndpointSpec
from tasks.models.engine import Engine
from tasks.models.fence import fence
from tasks.rewrite.injections.asking import Wanted, answers
from tasks.rewrite.prompts import prompt

DIMENSIONS: Final = ("claims", "methods", "evidence", "results", "conclusions")
FIDELITY_VERSION: Final = 1
"""Raised by hand when the same question is asked or read in another way."""
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "differences": {"type": "array", "items": {"type": "string"}},
        **{name: {"type": "string", "enum": ["kept", "changed"]} for name in DIMENSIONS},
    },
    "required": ["differences", *DIMENSIONS],
    "additionalProperties": False,
}
TOGETHER: Final = 200
"""Audits whose verdicts are written at a time."""


class AuditSpec(BaseModel):
    """The auditor of a suite. Frozen; unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    endpoint: str
    """Name of an endpoint of the suite."""
    model: str = Field(min_length=1)
    parameters: dict[str, Any] = Field(default_factory=lambda: {"temperature": 0})


@dataclass(frozen=True, slots=True)
class Auditor:
    """An auditor with its endpoint."""

    spec: AuditSpec
    endpoint: EndpointSpec

    @property
    def identity(self) -> dict[str, Any]:
        """What of an audit can change its verdict; no label among it."""
        return {
            "base_url": self.endpoint.identity, "api": self.endpoint.api, "model": self.spec.model,
            "parameters": self.spec.parameters, "structured": self.endpoint.structured,
            "prompt": content_hash(prompt("fidelity")),
        }


class Compared(NamedTuple):
    """An original and a version of it, by the hashes of the texts that judges read."""

    original: str
    version: str


def resolve_auditor(spec: AuditSpec, endpoints: Mapping[str, EndpointSpec]) -> Auditor:
    """An auditor with its endpoint.

    Raises:
        SuiteError: when it names an endpoint that the suite does not have, or one that cannot compare.
    """
    if spec.endpoint not in endpoints:
        known = ", ".join(sorted(endpoints)) or "none"
        raise SuiteError(f"rewrite.audit: endpoint {spec.endpoint!r} is not among judge.endpoints ({known})")
    if endpoints[spec.endpoint].kind == "phantom" or endpoints[spec.endpoint].api == "reward":
        raise SuiteError(f"rewrite.audit: {spec.endpoint!r} only scores; an auditor must compare two texts")
    return Auditor(spec, endpoints[spec.endpoint])


def fidelity_key(auditor: Auditor, pair: Compared) -> str:
    """The key of one verdict: both texts and the auditor."""
    return step_key("fidelity", FIDELITY_VERSION, original=pair.original, variant=pair.version,
                    auditor=auditor.identity)


def read_fidelity(answer: str) -> dict[str, Any] | None:
    """The verdicts of an answer by dimension (True: kept) and its ``differences``; None when one is lacking."""
    first, last = answer.find("{"), answer.rfind("}")
    span = answer[first : last + 1] if 0 <= first < last else ""
    try:
        found = json.loads(span, strict=False)
    except ValueError:
        found = json_repair.loads(span) if span else None
    if not isinstance(found, dict):
        return None
    verdicts = {name: _verdict(found.get(name)) for name in DIMENSIONS}
    if None in verdicts.values():
        return None
    said = found.get("differences")
    differences = [str(each)[:500] for each in said[:50]] if isinstance(said, list) else []
    return {**verdicts, "differences": differences}


def _verdict(said: Any) -> bool | None:
    word = said.strip().strip("`'\".").lower() if isinstance(said, str) else ""
    return {"kept": True, "changed": False}.get(word)


def audit_fidelity(
    store: Store, engine: Engine, auditor: Auditor, pairs: Sequence[Compared], *, run_id: str | None = None,
    tell: Callable[[Step], None] = lambda _: None,
) -> list[Step]:
    """Audit what was not audited yet.

    Args:
        store: where verdicts go.
        engine: asks.
        auditor: who compares.
        pairs: originals and versions; equal pairs are one question, and equal texts are none.
        run_id: enters the steps.
        tell: called with each step, for progress.

    Returns:
        The steps that were made now, appended: ``done`` with the verdicts, ``excluded`` for an answer that would come
        again (too long for the window, refused), ``failed`` for what another run asks again.
    """
    wanted = {fidelity_key(auditor, pair): pair for pair in pairs}
    open_keys = store.missing("steps", list(wanted))
    made: list[Step] = []
    for keys in _batches(open_keys):
        asked = [key for key in keys if wanted[key].original != wanted[key].version]
        calls = answers(store, engine, [_ask(store, auditor, wanted[key]) for key in asked])
        steps = [_step(key, call, run_id) for key, call in zip(asked, calls, strict=True)]
        steps += [_equal(key, run_id) for key in keys if key not in set(asked)]
        store.append(*steps)
        made += steps
        for step in steps:
            tell(step)
    return made


def _batches(keys: Sequence[str]) -> Iterator[list[str]]:
    for start in range(0, len(keys), TOGETHER):
        yield list(keys[start : start + TOGETHER])


def _ask(store: Store, auditor: Auditor, pair: Compared) -> Wanted:
    first = fence(hash_of_content=pair.original, label="ORIGINAL")
    second = fence(hash_of_content=pair.version, label="VERSION")
    put = store.put_text
    parts = [
        put(first.opening), pair.original, put(f"{first.closing}\n{second.opening}"), pair.version, put(second.closing)
    ]
    messages = (
        Message(role="system", parts=(Part(hash=put(prompt("fidelity"))),)),
        Message(role="user", parts=tuple(Part(hash=part) for part in parts)),
    )
    ask = Ask.at(auditor.endpoint, auditor.spec.model, messages, parameters=auditor.spec.parameters,
                 response_schema=SCHEMA)
    return Wanted(ask, auditor.endpoint, _accept)


def _accept(call: Call) -> Outcome:
    return Outcome.unparsable if read_fidelity(call.answer or "") is None else Outcome.answered


def _step(key: str, call: Call, run_id: str | None) -> Step:
    found = read_fidelity(call.answer or "") if call.outcome is Outcome.answered else None
    if found is not None:
        return Step(key=key, step="fidelity", outcome="done", run_id=run_id, output={**found, "call": call.key})
    reason = Outcome.unparsable if call.outcome is Outcome.answered else call.outcome
    return Step(
        key=key, step="fidelity", outcome="failed" if reason in TRANSIENT else "excluded", reason=reason.value,
        detail=call.error, run_id=run_id,
    )


def _equal(key: str, run_id: str | None) -> Step:
    """Equal texts say the same; nobody has to be asked."""
    output: dict[str, Any] = {**dict.fromkeys(DIMENSIONS, True), "differences": [], "call": None}
    return Step(key=key, step="fidelity", outcome="done", run_id=run_id, output=output)
