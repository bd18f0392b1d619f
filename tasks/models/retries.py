"""What is done about an outcome: ask again at once, later, with a higher cap, in another form, or not at all.

Here belongs the policy for one ask, as a function of what came back; it sends nothing and sleeps for nobody. What an
outcome means for everybody at the endpoint is ``limiter.py``.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from storage.vocabulary import Outcome
from tasks.models.bodies import Adaptation, raised_cap, token_cap
from tasks.models.endpoints import EndpointSpec
from tasks.models.outcomes import Reply

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 30.0
RATE_LIMITS_PER_ATTEMPT = 5
"""Waiting as told is no failure: so many rate limits count as one attempt."""
CAP_FACTORS = (1, 2, 4, 8)
ADAPTATIONS = 8
UNAUTHORISED_ATTEMPTS = 3
"""Gateways refuse a good key now and then; more often than this it is the key."""

UNUSABLE = frozenset({Outcome.empty, Outcome.unparsable, Outcome.out_of_range, Outcome.truncated})
"""Answers that were paid for and cannot be read; asking again may bring a better one."""
_LATER = frozenset({Outcome.provider_error, Outcome.timed_out, Outcome.unauthorised, Outcome.rate_limited})


@dataclass(slots=True)
class Effort:
    """What one ask has taken so far."""

    endpoint: EndpointSpec
    tried: float = 0.0
    """Attempts that count, of ``endpoint.attempts``."""
    adaptations: int = 0
    cap_step: int = 0

    @property
    def cap_factor(self) -> int:
        """By how much the token cap is raised now."""
        return CAP_FACTORS[self.cap_step]


@dataclass(frozen=True, slots=True)
class Form:
    """In which form an attempt goes out."""

    parameters: dict[str, Any]
    structured: str
    version: int


def backoff_s(tried: float) -> float:
    """A wait that doubles with each attempt, with a quarter of it left to chance so that askers spread."""
    return min(FIRST_WAIT_S * 2 ** max(tried - 1, 0), LONGEST_WAIT_S) * random.uniform(0.75, 1.25)


def next_wait(reply: Reply, verdict: Outcome, effort: Effort, parameters: dict[str, Any]) -> float | None:
    """How long to wait before asking again; None to leave it at this reply.

    Args:
        reply: what came back.
        verdict: its outcome, or what the caller's reading of the answer made of it.
        effort: taken so far; counts this attempt in.
        parameters: as they were sent.
    """
    limited = verdict is Outcome.rate_limited
    effort.tried += 1 / RATE_LIMITS_PER_ATTEMPT if limited else 1
    allowed = effort.endpoint.attempts
    if verdict is Outcome.unauthorised:
        allowed = min(allowed, UNAUTHORISED_ATTEMPTS)
    if verdict not in UNUSABLE | _LATER or effort.tried >= allowed - 1e-9:
        return None
    if verdict is Outcome.truncated and token_cap(parameters) is not None:
        if effort.cap_step + 1 >= len(CAP_FACTORS):
            return None
        effort.cap_step += 1
    if limited and reply.retry_after_s is not None:
        return None if reply.retry_after_s > effort.endpoint.retry_after_cap_s else reply.retry_after_s
    return backoff_s(effort.tried) if verdict in _LATER else 0.0


def adapts(reply: Reply, effort: Effort, adaptation: Adaptation, form: Form) -> bool:
    """Whether a refusal taught how to ask in a form the endpoint takes; then the ask goes out again, uncounted."""
    if reply.outcome is not Outcome.bad_request or reply.culprit is None or effort.adaptations >= ADAPTATIONS:
        return False
    effort.adaptations += 1
    # Others who asked meanwhile may have been refused, and have learnt it, first.
    return adaptation.version > form.version or adaptation.learn(reply.culprit, form.parameters, form.structured)


def form_for(sent: dict[str, Any], structured: str, adaptation: Adaptation, effort: Effort) -> Form:
    """The form of the next attempt: adapted, with the token cap as high as truncations made it."""
    adapted = raised_cap(adaptation.adapt(sent), effort.cap_factor)
    return Form(adapted, adaptation.structured or structured, adaptation.version)
