"""What a producer hands back, and the rule-based one.

A producer takes segments and returns wordings; whatever does not pass the guard does not leave here. The language-model
producer is in ``model.py``; turning wordings into a compiled version is ``variants.py``'s matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tasks.latex.guard import problems
from tasks.latex.masks import Segment
from tasks.rewrite.rules.conditions import rewrite_text
from tasks.rewrite.rules.review import review

UNTOUCHED_KINDS = frozenset({"title", "heading"})
"""Names of things, not prose: they stay."""


@dataclass(frozen=True)
class Wording:
    """New wordings of segments, and what became of the rest.

    Attributes:
        texts: segment id -> wording that passed the guard and differs from the segment's text.
        fallbacks: segment id -> why its rewrites were refused, so that it keeps what it had.
        facts: what a reader of the numbers may want to know, as JSON.
    """

    texts: dict[str, str]
    fallbacks: dict[str, str] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)


def rewritable(segments: Sequence[Segment]) -> list[Segment]:
    """The segments that a producer is given."""
    return [segment for segment in segments if segment.kind not in UNTOUCHED_KINDS]


def reword_by_rules(segments: Sequence[Segment], condition: str, seed: int) -> Wording:
    """Reword segments by the packaged rules.

    Args:
        segments: of the version that the condition is made from.
        condition: a condition, or ``null_paraphrase``.
        seed: the producer's.
    """
    texts: dict[str, str] = {}
    fallbacks: dict[str, str] = {}
    for segment in rewritable(segments):
        new = rewrite_text(segment.text, condition, seed)
        if new == segment.text:
            continue
        found = problems(segment, new)
        if found:
            fallbacks[segment.id] = found[0].word
        else:
            texts[segment.id] = new
    facts: dict[str, Any] = {}
    if condition == "feedback_guided":
        facts["review"] = review(segment.text for segment in rewritable(segments))
    return Wording(texts, fallbacks, facts)
