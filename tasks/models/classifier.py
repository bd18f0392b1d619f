"""A sequence classifier in this process as a reward endpoint: any model that gives one number for a dialogue.

Needs transformers and torch, which nothing else of Evenhand needs and which are not installed with it: without them the
endpoint says so in one line. The configuration's ``model`` is a folder or a name that transformers can load. Here
belongs only the serving: it answers in the reward form (``reward.py``), through the same client, journal and limiter as
any endpoint.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import threading
from typing import Any

import httpx2
import orjson

from storage.errors import EnvironmentProblem

MISSING = (
    "an endpoint of kind: classifier needs the packages transformers and torch: install them beside Evenhand, or leave "
    "such endpoints out"
)
MAX_TOKENS = 2048
"""Longer dialogues are cut there, as in the published evaluation; the parameter ``max_length`` sets it otherwise."""


class _Scorer:
    """One loaded model; one dialogue at a time."""

    def __init__(self, name: str) -> None:
        transformers: Any = importlib.import_module("transformers")
        self._torch: Any = importlib.import_module("torch")
        self._words = transformers.AutoTokenizer.from_pretrained(name)
        self._model = transformers.AutoModelForSequenceClassification.from_pretrained(name, num_labels=1)
        self._model.eval()
        self._lock = threading.Lock()

    def score(self, messages: list[dict[str, str]], max_length: int) -> tuple[float, int]:
        """The number of a dialogue, and how many tokens were read."""
        if getattr(self._words, "chat_template", None):
            text = self._words.apply_chat_template(messages, tokenize=False)
        else:
            text = "\n\n".join(message["content"] for message in messages)
        with self._lock, self._torch.no_grad():
            given = self._words(text, return_tensors="pt", truncation=True, max_length=max_length)
            logits = self._model(**given).logits
        return float(logits.reshape(-1)[0]), int(given["input_ids"].shape[-1])


_scorers: dict[str, _Scorer] = {}
_loading = threading.Lock()


def _scorer(name: str) -> _Scorer:
    with _loading:
        if name not in _scorers:
            _scorers[name] = _Scorer(name)
        return _scorers[name]


class ClassifierTransport(httpx2.AsyncBaseTransport):
    """Answers ``/reward`` with the scores of local classifiers.

    Raises:
        EnvironmentProblem: when transformers or torch is not installed.
    """

    def __init__(self) -> None:
        if any(importlib.util.find_spec(name) is None for name in ("transformers", "torch")):
            raise EnvironmentProblem(MISSING)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The response to one request; a model that cannot be loaded is a 404 that says why."""
        body = orjson.loads(await request.aread())
        name, messages = str(body.get("model")), body.get("messages")
        if not request.url.path.endswith("/reward") or not isinstance(messages, list):
            return _refused(400, "a local classifier serves /reward with messages")
        try:
            scorer = await asyncio.to_thread(_scorer, name)
        except (OSError, ValueError) as error:
            return _refused(404, f"the classifier {name} cannot be loaded: {' '.join(str(error).split())[:300]}")
        score, tokens = await asyncio.to_thread(scorer.score, messages, int(body.get("max_length") or MAX_TOKENS))
        return httpx2.Response(200, json={"model": name, "score": score, "usage": {"prompt_tokens": tokens}})


def _refused(status: int, message: str) -> httpx2.Response:
    error = {"message": message, "type": "invalid_request_error", "code": "model_not_found"}
    return httpx2.Response(status, json={"error": error})
