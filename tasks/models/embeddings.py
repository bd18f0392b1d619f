"""The embeddings endpoint's form: one text goes in, one vector comes back; and how a call row holds it.

Here belongs reading the answer. A vector is kept as base64 of little-endian 32-bit floats, a fifth of its JSON.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from storage.vocabulary import Outcome
from tasks.models.outcomes import Reply, Usage, one_line


def _broken(body: Mapping[str, Any]) -> Reply:
    return Reply(Outcome.provider_error, http_status=200, error=one_line(f"200 without one vector: {str(body)[:200]}"))


def read_embedding(body: Mapping[str, Any]) -> Reply:
    """The typed reply of a 200 from an embeddings endpoint: ``{"data": [{"embedding": [...]}]}``."""
    data = body.get("data")
    first = data[0] if isinstance(data, list) and len(data) == 1 else None
    numbers = first.get("embedding") if isinstance(first, Mapping) else None
    if not isinstance(numbers, list) or not numbers or not all(isinstance(each, int | float) for each in numbers):
        return _broken(body)
    vector = np.asarray(numbers, dtype="<f4")
    if not np.isfinite(vector).all():
        return _broken(body)
    usage, model = body.get("usage"), body.get("model")
    read = usage.get("prompt_tokens") if isinstance(usage, Mapping) else None
    return Reply(
        Outcome.answered, answer=base64.b64encode(vector.tobytes()).decode(), finish_reason="stop", http_status=200,
        usage=Usage(input=read if isinstance(read, int) else None, output=0),
        resolved_model=model if isinstance(model, str) else None,
    )


def vector_of(answer: str | None) -> NDArray[np.float64]:
    """The vector that a call row's answer holds.

    Raises:
        ValueError: when it holds none.
    """
    return np.frombuffer(base64.b64decode(answer or "", validate=True), dtype="<f4").astype(np.float64)
