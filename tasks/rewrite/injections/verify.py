"""Whether an injected pair keeps its order of quality: verifiers vote on the injected answers, style set aside.

Here belong the question and the count. A pair is kept when more than half of the votes cast name the better answer. An
answer that holds no vote is none; without any vote a pair is not verified.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, Literal

from storage.pairs import Presentation
from storage.records import Call
from storage.store import Store
from storage.vocabulary import TRANSIENT, Outcome
from tasks.models.asks import Ask, Message, Part
from tasks.models.fence import fence
from tasks.rewrite.injections.asking import Wanted
from tasks.rewrite.injections.prompts import prompt
from tasks.rewrite.injections.spec import Verifier

Vote = Literal["A", "B", "equal"]
VOTES: Final[tuple[Vote, ...]] = ("A", "B", "equal")
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "better": {"type": "string", "enum": list(VOTES)}},
    "required": ["reason", "better"], "additionalProperties": False,
}
KEPT, CHANGED, NOT_VERIFIED, UNAVAILABLE = None, "order_changed", "not_verified", "verifier_unavailable"


def question_to(store: Store, verifier: Verifier, shown: Presentation) -> Wanted:
    """What a verifier is asked about an injected pair; words around the answers are not shown."""
    texts = [_fenced(shown.question, "QUESTION"), "\n", _fenced(shown.first, "ANSWER A"), "\n",
             _fenced(shown.second, "ANSWER B")]
    messages = (
        Message(role="system", parts=(Part(hash=store.put_text(prompt("verify"))),)),
        Message(role="user", parts=tuple(Part(hash=store.put_text(text)) for text in texts)),
    )
    ask = Ask.at(verifier.endpoint, verifier.spec.model, messages, parameters=verifier.spec.parameters,
                 response_schema=SCHEMA)
    return Wanted(ask, verifier.endpoint, _accept)


def _fenced(text: str, label: str) -> str:
    lines = fence(text, label=label)
    return f"{lines.opening}{text}{lines.closing}"


def _accept(call: Call) -> Outcome:
    return Outcome.answered if read_vote(call.answer) is not None else Outcome.unparsable


def read_vote(text: str | None) -> Vote | None:
    """The vote in an answer: the field ``better`` of its one JSON object; None where there is none."""
    first, last = (text or "").find("{"), (text or "").rfind("}")
    if text is None or not 0 <= first < last:
        return None
    try:
        found = json.loads(text[first : last + 1], strict=False)
    except ValueError:
        return None
    vote = found.get("better") if isinstance(found, dict) else None
    return next((known for known in VOTES if vote == known), None)


def votes_of(calls: Sequence[Call]) -> list[Vote | None]:
    """The verifiers' votes, in their order; None for a verifier whose answer holds none."""
    return [read_vote(call.answer) if call.outcome is Outcome.answered else None for call in calls]


def counted(calls: Sequence[Call], better: Vote) -> str | None:
    """Why a pair is not kept, as a typed word; None where it is.

    Args:
        calls: the verifiers' last calls.
        better: the letter of the better answer.
    """
    if any(call.outcome in TRANSIENT for call in calls):
        return UNAVAILABLE
    votes = Counter(vote for vote in votes_of(calls) if vote is not None)
    if not votes:
        return NOT_VERIFIED
    return KEPT if 2 * votes[better] > votes.total() else CHANGED
