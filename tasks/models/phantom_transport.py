"""Phantoms behind the wire: an in-process transport that answers Chat Completions and Responses as a server would.

Here belongs the reading of a request and the filling of the form it asks for. What a phantom thinks is ``phantom``;
nothing here is random: equal requests get equal answers. A request's ``seed`` counts as its repeat.
"""

from __future__ import annotations

import math
import re
from hashlib import blake2b
from typing import Any, NamedTuple

import httpx2
import numpy as np
import orjson

from storage.records import now
from tasks.models.fence import unfenced
from tasks.models.phantom import PHANTOMS, Phantom, read
from tasks.models.phantom_idea_wire import idea_answer, reads_ideas
from tasks.models.phantom_pair_wire import pair_answer, reward_answer
from tasks.models.phantom_pairs import PAIR_PHANTOMS, PairPhantom
from tasks.models.scales import Scale
from tasks.models.science_core import asks_for_a_core, is_core, transcribed, written_back

SECONDARY_SD = 0.5
"""Noise of soundness, presentation, contribution and confidence, in their own points."""


class _Opinion(NamedTuple):
    """What a phantom thinks of the text of one request."""

    phantom: Phantom
    prompt: str
    """Digest of everything that was said: the seed of its noise."""
    repeat: int
    paper: str
    expected: float

    @property
    def rating(self) -> float:
        return self.phantom.score(self.expected, self.phantom.noise_seed(self.prompt, self.repeat))

    def secondary(self, name: str, low: float, high: float) -> float:
        """A score on another field, between its bounds: it follows the latent quality (presentation: the wording)."""
        share = (self.phantom.latent(self.paper) - 1.0) / 9.0
        if name == "presentation":
            share = 1.0 - read(self.paper).features["mean_sentence_words"] / 60.0
        seed = self.phantom.noise_seed(f"{name}\x00{self.prompt}", self.repeat)
        noise = (seed / 2**64 - 0.5) * 2 * SECONDARY_SD
        return min(max(low + share * (high - low) + noise, low), high)


def _texts(content: Any) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = (part.get("text") for part in content if isinstance(part, dict))
    return "".join(text for text in texts if isinstance(text, str))


def _prompt(body: dict[str, Any]) -> tuple[str, str]:
    """``(everything that was said, what the user said)`` in a request of either API."""
    turns = body.get("messages", body.get("input"))
    if isinstance(turns, str):
        return turns, turns
    said = [(turn.get("role"), _texts(turn.get("content"))) for turn in turns or [] if isinstance(turn, dict)]
    everything = "\x00".join([str(body.get("instructions") or ""), *(text for _, text in said)])
    return everything, "\n".join(text for role, text in said if role == "user")


def _schema(body: dict[str, Any]) -> dict[str, Any] | None:
    form = body.get("response_format") or (body.get("text") or {}).get("format") or {}
    schema = form.get("schema") or (form.get("json_schema") or {}).get("schema")
    return schema if isinstance(schema, dict) else None


def _nearest_legal(value: float, schema: dict[str, Any]) -> float | int:
    """The phantom's score as the schema allows it; unchanged where its planted scale fits the schema."""
    numbers = [option for option in schema.get("enum", []) if isinstance(option, int | float)]
    if numbers:
        value = float(Scale(name="asked", values=tuple(sorted(map(float, numbers)))).snap(np.asarray([value]))[0])
    value = min(max(value, schema.get("minimum", -math.inf)), schema.get("maximum", math.inf))
    return round(value) if schema.get("type") == "integer" else round(value, 6)


def _score(opinion: _Opinion, name: str, schema: dict[str, Any]) -> float | int:
    if name in ("rating", "overall", "score", "overall_score"):
        return _nearest_legal(opinion.rating, schema)
    numbers = schema.get("enum") or [schema.get("minimum", 1), schema.get("maximum", 10)]
    return _nearest_legal(float(round(opinion.secondary(name, min(numbers), max(numbers)))), schema)


def _fill(opinion: _Opinion, schema: dict[str, Any], name: str = "") -> Any:
    kind = schema.get("type")
    if kind == "object":
        return {key: _fill(opinion, part, key) for key, part in schema.get("properties", {}).items()}
    if kind == "array":
        return [_fill(opinion, schema.get("items", {"type": "string"}), name)]
    if kind in ("integer", "number"):
        return _score(opinion, name, schema)
    if kind == "boolean":
        return False
    if "enum" in schema:
        return schema["enum"][0]
    return f"{opinion.phantom.title}: it read {int(read(opinion.paper).features['words'])} words."


def _markdown(opinion: _Opinion) -> str:
    parts = {name: round(opinion.secondary(name, 1, 4)) for name in ("soundness", "presentation", "contribution")}
    lines = [f"## {name.title()}\n\n{score}\n" for name, score in parts.items()]
    return "\n".join([*lines, f"## Rating\n\n{opinion.rating:g}\n", "## Confidence\n\n3\n"])


_RATING_AT = re.compile(r'"(?:rating|overall|score|overall_score)":|\A(?=[0-9])')


def _log_probabilities(opinion: _Opinion, answer: str, wanted: int) -> list[dict[str, Any]] | None:
    """The answer in three tokens, of which the rating's carries the planted probabilities of its alternatives."""
    label = _RATING_AT.search(answer)
    if label is None:
        return None
    number = re.compile(r"[0-9.]+").match(answer, label.end())
    if number is None:
        return None
    chances = opinion.phantom.probabilities(opinion.expected)
    likely = sorted(((chance, value) for value, chance in chances.items() if chance > 1e-12), reverse=True)
    tops = [{"token": f"{value:g}", "logprob": math.log(chance)} for chance, value in likely[: max(wanted, 1)]]
    chosen = max(chances.get(float(number.group()), 0.0), 1e-12)
    before, after = answer[: number.start()], answer[number.end() :]
    tokens = [(before, 0.0, []), (number.group(), math.log(chosen), tops), (after, 0.0, [])]
    return [{"token": text, "logprob": value, "top_logprobs": top} for text, value, top in tokens if text]


def _answer(opinion: _Opinion, body: dict[str, Any]) -> tuple[str, list[dict[str, Any]] | None]:
    """The answer's text, and token probabilities where they were asked for."""
    schema = _schema(body)
    if schema is not None and asks_for_a_core(schema):
        return orjson.dumps(transcribed(opinion.paper)).decode(), None
    if schema is None and is_core(opinion.paper):
        return written_back(opinion.paper), None
    if schema is not None:
        answer = orjson.dumps(_fill(opinion, schema)).decode()
    else:
        answer = f"{opinion.rating:g}" if opinion.phantom.protocol == "rating" else _markdown(opinion)
    if body.get("logprobs") is True or body.get("include"):
        return answer, _log_probabilities(opinion, answer, int(body.get("top_logprobs") or 1))
    return answer, None


def _chat(name: str, answer: str, logprobs: list[dict[str, Any]] | None, tokens: tuple[int, int]) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": answer}, "finish_reason": "stop",
              "logprobs": None if logprobs is None else {"content": logprobs}}
    usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}
    return {"id": "phantom", "object": "chat.completion", "created": int(now().timestamp()), "model": name,
            "choices": [choice], "usage": usage}


def _responses(
    name: str, answer: str, logprobs: list[dict[str, Any]] | None, tokens: tuple[int, int]
) -> dict[str, Any]:
    part = {"type": "output_text", "text": answer, "annotations": [], "logprobs": logprobs or []}
    message = {"id": "msg", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    usage = {"input_tokens": tokens[0], "output_tokens": tokens[1], "total_tokens": sum(tokens)}
    return {"id": "phantom", "object": "response", "created_at": int(now().timestamp()), "model": name,
            "status": "completed", "output": [message], "usage": usage}


def _refused(status: int, code: str, message: str) -> httpx2.Response:
    return httpx2.Response(status, json={"error": {"message": message, "type": "invalid_request_error", "code": code}})


def _about_ideas(model: str, body: dict[str, Any], path: str, tokens: int) -> httpx2.Response:
    """The answer of a judge or reader of ideas; a prompt without an idea is a request it cannot serve."""
    said, user = _prompt(body)
    digest = blake2b(said.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    answer = idea_answer(model, user, _schema(body), digest, int(body.get("seed") or 0))
    if answer is None:
        return _refused(400, "invalid_request", f"{model} reads research ideas, and this prompt shows none")
    form = _responses if path.endswith("/responses") else _chat
    return httpx2.Response(200, json=form(model, answer, None, (tokens, len(answer) // 4 + 1)))


def _about_pairs(phantom: PairPhantom, body: dict[str, Any], path: str, tokens: int) -> httpx2.Response:
    """The answer of a judge of pairs; a prompt without a pair is a request it cannot serve."""
    is_reward = path.endswith("/reward")
    user = _prompt(body)[1]
    answer = reward_answer(phantom, body.get("messages")) if is_reward else pair_answer(phantom, user, _schema(body))
    if answer is None:
        return _refused(400, "invalid_request", f"{phantom.name} judges pairs of answers, and this prompt shows none")
    if is_reward:
        return httpx2.Response(200, json={**orjson.loads(answer), "usage": {"prompt_tokens": tokens}})
    form = _responses if path.endswith("/responses") else _chat
    return httpx2.Response(200, json=form(phantom.name, answer, None, (tokens, len(answer) // 4 + 1)))


class PhantomTransport(httpx2.AsyncBaseTransport):
    """Answers requests to phantom judges; unknown models get the 404 that a server would give."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The response to one request at ``/chat/completions``, ``/responses`` or ``/reward``."""
        raw = await request.aread()
        path = request.url.path
        if not path.endswith(("/chat/completions", "/responses", "/reward")):
            return _refused(404, "not_found", f"phantoms do not serve {path}")
        body = orjson.loads(raw)
        judge_of_pairs = PAIR_PHANTOMS.get(str(body.get("model")))
        if judge_of_pairs is not None:
            return _about_pairs(judge_of_pairs, body, path, len(raw) // 4)
        if reads_ideas(str(body.get("model"))):
            return _about_ideas(str(body["model"]), body, path, len(raw) // 4)
        phantom = PHANTOMS.get(str(body.get("model")))
        if phantom is None:
            known = f"{min(PHANTOMS)} to {max(PHANTOMS)}"
            return _refused(404, "model_not_found", f"there is no phantom {body.get('model')!r}; known are {known}")
        said, user = _prompt(body)
        prompt = blake2b(said.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        inside = unfenced(user)
        paper = user if inside is None else inside
        opinion = _Opinion(phantom, prompt, int(body.get("seed") or 0), paper, phantom.expected(paper))
        answer, logprobs = _answer(opinion, body)
        form = _responses if path.endswith("/responses") else _chat
        return httpx2.Response(200, json=form(phantom.name, answer, logprobs, (len(raw) // 4, len(answer) // 4 + 1)))
