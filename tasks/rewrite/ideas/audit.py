"""The validity audit of a variant: blind identification of its style, its substance, its quality, style alone.

Here belongs what an auditor is asked, and when its answer means that a variant is what it should be. All fifteen are
audited. Making and remaking are ``making.py``.
"""

from __future__ import annotations

import json
from typing import Any, Final, get_args

import json_repair

from storage.ideas import STYLE_VARIANT, Substance
from storage.keys import content_hash
from storage.records import Call, Record
from storage.store import Store
from storage.vocabulary import Outcome
from tasks.models.asks import Ask, Message, Part
from tasks.models.fence import fence
from tasks.rewrite.ideas.prompts import idea_prompt
from tasks.rewrite.injections.asking import Wanted
from tasks.rewrite.injections.spec import Verifier

STYLES: Final = ("none", "paraphrase", "plain", "verbose", "grand", "overconfident", "novelty", "application", "hype")
SUBSTANCES: Final[tuple[str, ...]] = get_args(Substance)
AUDIT_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "style": {"type": "string", "enum": list(STYLES)},
        "substance": {"type": "string", "enum": list(SUBSTANCES)},
        "quality": {"type": "integer", "minimum": 1, "maximum": 5},
        "style_only": {"type": "boolean"},
    },
    "required": ["style", "substance", "quality", "style_only"],
    "additionalProperties": False,
}
_QUIET: Final = frozenset({"none", "paraphrase", "plain"})
EXPECTED: Final[dict[str, frozenset[str]]] = {
    "A1": frozenset({"none"}), "A2": _QUIET, "A3": _QUIET,
    "B1": frozenset({"verbose"}), "B2": frozenset({"grand", "hype"}), "B3": frozenset({"overconfident"}),
    "B4": frozenset({"novelty", "hype"}), "B5": frozenset({"application"}),
    "C1": _QUIET, "C2": _QUIET, "C3": _QUIET | {"verbose"},
    "H1": frozenset({"grand", "novelty", "hype"}), "H2": frozenset({"overconfident"}), "H3": frozenset({"verbose"}),
    "H4": frozenset({"grand", "novelty", "application", "hype"}),
}
"""The styles that an auditor may see in each variant; changes of substance alone are to have no style of their own."""
LEAST_QUALITY: Final = 2
FAILINGS: Final[tuple[str, ...]] = (
    *(f"substance_{name}" for name in SUBSTANCES), *(f"style_{name}" for name in STYLES), "quality", "style_only",
    "audit_unparsable", "length", "numbers", "nothing_changed",
)
"""Every reason for which a variant may be excluded, besides outcomes of calls."""


class Audit(Record):
    """What an auditor said of one variant."""

    style: str
    substance: str
    quality: int
    style_only: bool


def read_audit(answer: str) -> Audit | None:
    """The audit that an answer holds; None when it holds none, or a value that was not asked for."""
    first, last = answer.find("{"), answer.rfind("}")
    span = answer[first:last + 1] if 0 <= first < last else ""
    try:
        found = json.loads(span, strict=False)
    except ValueError:
        found = json_repair.loads(span) if span else None
    if not isinstance(found, dict):
        return None
    style, substance = found.get("style"), found.get("substance")
    quality, only = found.get("quality"), found.get("style_only")
    is_number = isinstance(quality, int) and not isinstance(quality, bool) and 1 <= quality <= 5
    if style not in STYLES or substance not in SUBSTANCES or not is_number or not isinstance(only, bool):
        return None
    return Audit.model_validate({"style": style, "substance": substance, "quality": quality, "style_only": only})


def verdict(variant: str, audit: Audit) -> str | None:
    """Why a variant is not what it should be, as a typed word; None when it is."""
    kind = STYLE_VARIANT[variant]
    if audit.substance != kind.substance:
        return f"substance_{audit.substance}"
    if audit.style not in EXPECTED[variant]:
        return f"style_{audit.style}"
    if audit.quality < LEAST_QUALITY:
        return "quality"
    return None if audit.style_only == (kind.substance == "kept") else "style_only"


def wanted_audit(store: Store, verifier: Verifier, reference: str, text: str) -> Wanted:
    """The call that audits one text against the idea as ingested; it names no variant."""
    first, second = fence(reference, label="REFERENCE"), fence(text, label="IDEA")
    parts = [f"{first.opening}{reference}{first.closing}\n{second.opening}", text, second.closing]
    messages = (
        Message(role="system", parts=(Part(hash=store.put_text(idea_prompt("audit"))),)),
        Message(role="user", parts=tuple(Part(hash=store.put_text(part)) for part in parts)),
    )
    ask = Ask.at(verifier.endpoint, verifier.spec.model, messages, parameters=verifier.spec.parameters,
                 response_schema=AUDIT_SCHEMA)
    return Wanted(ask, verifier.endpoint, _accept)


def _accept(call: Call) -> Outcome:
    return Outcome.unparsable if read_audit(call.answer or "") is None else Outcome.answered


def audit_identity(verifier: Verifier) -> dict[str, Any]:
    """What of an audit can change which variants come out."""
    return {**verifier.identity, "prompt": content_hash(idea_prompt("audit")),
            "expected": {name: sorted(styles) for name, styles in EXPECTED.items()}, "least_quality": LEAST_QUALITY}
