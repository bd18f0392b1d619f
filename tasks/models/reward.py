"""The reward endpoint's form: a dialogue goes in, one number comes back.

    POST {base_url}/reward
    {"model": "NAME",
     "messages": [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": ANSWER}], ...}

    200 {"score": -1.25}                      a finite number; larger is better
    200 {"model": "...", "score": 3, "usage": {"prompt_tokens": 180}}     model, id and usage may be given

Parameters of the configuration (``max_length`` ...) stand beside ``messages``. Errors are those of any
OpenAI-compatible server: a status, and ``{"error": {"message": ...}}``. A server of a sequence classifier needs about
twenty lines to speak this. Here belongs reading the answer, and what the call row holds of it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from storage.vocabulary import Outcome
from tasks.models.outcomes import Reply, Usage, one_line


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def read_reward(body: Mapping[str, Any]) -> Reply:
    """The typed reply of a 200 from a reward endpoint; its answer is ``{"score": NUMBER}``."""
    score = body.get("score")
    if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
        return Reply(Outcome.provider_error, http_status=200, error=one_line(f"200 without a score: {body}"))
    usage = body.get("usage")
    model, name = body.get("model"), body.get("id")
    return Reply(
        Outcome.answered, answer=json.dumps({"score": score}), finish_reason="stop", http_status=200,
        usage=Usage(input=_whole(usage.get("prompt_tokens"))) if isinstance(usage, Mapping) else Usage(),
        resolved_model=model if isinstance(model, str) else None, provider_id=name if isinstance(name, str) else None,
    )


def score_of(answer: str | None) -> float | None:
    """The score that a call row's answer holds; None when it holds none."""
    try:
        value = json.loads(answer or "")
    except json.JSONDecodeError:
        return None
    score = value.get("score") if isinstance(value, dict) else None
    if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
        return None
    return float(score)
