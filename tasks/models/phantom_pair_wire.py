"""Pair phantoms behind the wire: what of a request is the pair, and the answer in the form that is asked for.

Here belongs the reading of prompts and the filling of forms; what a phantom prefers is ``phantom_pairs``. It is reached
through ``phantom_transport``, like the phantoms that review papers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson

from storage.pairs import Presentation
from tasks.models.fence import unfenced
from tasks.models.phantom_pairs import PairPhantom

QUESTION, ANSWER, ANSWER_A, ANSWER_B = "QUESTION", "ANSWER", "ANSWER A", "ANSWER B"
"""Labels of the fences that pairwise and pointwise prompts use."""
NO_VERDICT: Final = "Both answers have their merits, and I would rather not choose between them."
_LOWEST, _HIGHEST = 1.0, 10.0


def presented(user: str) -> Presentation | None:
    """The pair that a prompt shows, words between and after the answers with it; None when it shows none."""
    question, first, second = (unfenced(user, label) for label in (QUESTION, ANSWER_A, ANSWER_B))
    if question is None or first is None or second is None:
        return None
    between, _, rest = user.partition("-----END ANSWER A ")[2].partition("-----BEGIN ANSWER B ")
    after = rest.partition("-----END ANSWER B ")[2]
    return Presentation(question=question, first=first, second=second, between=between or None, after=after or None)


def pair_answer(phantom: PairPhantom, user: str, schema: Mapping[str, Any] | None) -> str | None:
    """What a phantom answers to a prompt with a pair or a single answer; None when the prompt shows neither.

    Args:
        phantom: who answers.
        user: what the user said.
        schema: the JSON schema the answer is to fill, if any.
    """
    shown = presented(user)
    if shown is not None:
        verdict = "A" if phantom.prefers_first(shown) else "B"
        return _in_form(phantom, verdict, schema) if not phantom.is_silent(shown) else NO_VERDICT
    question, answer = unfenced(user, QUESTION), unfenced(user, ANSWER)
    if question is None or answer is None:
        return None
    return orjson.dumps({"rating": round(_rating(phantom.score(question, answer)))}).decode()


def _rating(score: float) -> float:
    return min(max(5.5 + 1.5 * score, _LOWEST), _HIGHEST)


def _in_form(phantom: PairPhantom, verdict: str, schema: Mapping[str, Any] | None) -> str:
    if schema is None:
        return f"{phantom.title}: I weighed both answers. [[{verdict}]]"
    filled: dict[str, str] = {}
    for name, part in schema.get("properties", {}).items():
        options = [option for option in part.get("enum", []) if isinstance(option, str)]
        filled[name] = next((option for option in options if option.strip("[]") == verdict), phantom.title)
    return orjson.dumps(filled).decode()


def reward_answer(phantom: PairPhantom, messages: Any) -> str | None:
    """The score of the last answer of a dialogue, as a reward endpoint gives it; None when there is no answer."""
    if not isinstance(messages, list) or len(messages) < 2:
        return None
    question, answer = messages[-2].get("content"), messages[-1].get("content")
    if not isinstance(question, str) or not isinstance(answer, str):
        return None
    return orjson.dumps({"score": phantom.score(question, answer)}).decode()
