"""How an answer's body is read: Chat Completions and Responses, as the many servers that speak them really write them.

Here belongs everything that turns a 200 into a typed reply. An answer is ``answered`` only when there is visible text,
it ended by itself and nothing was refused or filtered; whether that text parses as a review is the judge's matter.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from storage.vocabulary import Outcome
from tasks.models.embeddings import read_embedding
from tasks.models.outcomes import Reply, Usage, error_in_200, failure, one_line
from tasks.models.reward import read_reward

_CUT = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
_FILTERED = frozenset({"content_filter", "safety", "prohibited_content", "recitation", "blocklist", "spii"})
_REFUSED = frozenset({"refusal"})


@dataclass(frozen=True, slots=True)
class _Turn:
    """What both APIs have in common once their forms are taken apart."""

    text: str
    refusal: str | None
    finish: str | None
    reasoning_only: bool = False


def parse_body(content: bytes) -> Any:
    """The JSON value of a body, or its text where it is not JSON (servers that write NaN are understood)."""
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        text = content.decode("utf-8", errors="replace")
    try:
        return json.loads(text)
    except ValueError:
        return text


def read_reply(api: str, status: int, content: bytes, headers: Mapping[str, str]) -> Reply:
    """The typed reply of any HTTP response to a request for an answer.

    Args:
        api: ``chat``, ``responses``, ``reward`` or ``embeddings``: which form a good answer has.
        status: the HTTP status.
        content: the body's bytes.
        headers: the response's headers (case-insensitive, or lower-cased).
    """
    body = parse_body(content)
    if status >= 300:
        return failure(status, body, headers)
    if not isinstance(body, Mapping):
        start = body if isinstance(body, str) else str(body)
        return _broken(body, f"200 with a body that is no answer: {start[:200]}")
    if body.get("error"):
        return error_in_200(body["error"], headers)
    if api == "reward":
        return read_reward(body)
    if api == "embeddings":
        return read_embedding(body)
    return _read_responses(body) if api == "responses" else _read_chat(body)


def _broken(body: Any, error: str) -> Reply:
    facts = body if isinstance(body, Mapping) else {}
    return Reply(
        Outcome.provider_error, http_status=200, error=one_line(error), provider_id=_text_or_none(facts.get("id"))
    )


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    """The objects of a JSON list; nothing of what is no list."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _joined(content: Any) -> str:
    """The visible text of a chat message: a string, or a list of typed parts."""
    if isinstance(content, str):
        return content
    parts = (part for part in _mappings(content) if part.get("type") in ("text", "output_text"))
    return "".join(part["text"] for part in parts if isinstance(part.get("text"), str))


def _verdict(turn: _Turn) -> tuple[Outcome, str | None]:
    """The outcome of a completed turn, and the line that says why when it is no answer."""
    finish = (turn.finish or "").lower()
    if turn.refusal or finish in _REFUSED:
        return Outcome.refused, f"refused: {turn.refusal or 'no text'}"
    if finish in _FILTERED:
        return Outcome.filtered, f"finish reason {finish}"
    if finish in _CUT:
        return Outcome.truncated, f"finish reason {finish} after {len(turn.text)} characters"
    if not turn.text.strip():
        return Outcome.empty, "reasoning without an answer" if turn.reasoning_only else "no text in the answer"
    return Outcome.answered, None


def _reply(body: Mapping[str, Any], turn: _Turn, usage: Usage, logprobs: list[dict[str, Any]] | None) -> Reply:
    outcome, error = _verdict(turn)
    return Reply(
        outcome=outcome,
        answer=turn.text or None,
        logprobs=logprobs,
        finish_reason=turn.finish,
        usage=usage,
        http_status=200,
        error=None if error is None else one_line(error),
        resolved_model=_text_or_none(body.get("model")),
        provider_id=_text_or_none(body.get("id")),
    )


def _finite(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _count(value: Any) -> int | None:
    return int(value) if _finite(value) else None


def _within(value: Any, name: str) -> int | None:
    return _count(value.get(name)) if isinstance(value, Mapping) else None


def _usage(usage: Any, names: tuple[str, str]) -> Usage:
    """Token counts of either API: ``names`` are its words for input and output."""
    if not isinstance(usage, Mapping):
        return Usage()
    given, made = names
    return Usage(
        input=_count(usage.get(f"{given}_tokens")),
        output=_count(usage.get(f"{made}_tokens")),
        reasoning=_within(usage.get(f"{made}_tokens_details"), "reasoning_tokens"),
        cached=_within(usage.get(f"{given}_tokens_details"), "cached_tokens"),
    )


def _logprobs(items: Any) -> list[dict[str, Any]] | None:
    """Token probabilities as ``[{token, logprob, top: {token: logprob}}]``; entries not finite are left out."""
    read: list[dict[str, Any]] = []
    for item in _mappings(items):
        if not _finite(item.get("logprob")):
            continue
        tops = _mappings(item.get("top_logprobs"))
        top = {str(t.get("token", "")): float(t["logprob"]) for t in tops if _finite(t.get("logprob"))}
        read.append({"token": str(item.get("token", "")), "logprob": float(item["logprob"]), "top": top})
    return read or None


def _flat_or_broken(body: Mapping[str, Any], error: str) -> Reply:
    """Some servers (vLLM among them) put errors flat into the body: ``{"object": "error", "message": ...}``."""
    return error_in_200(body) if body.get("message") or body.get("detail") else _broken(body, error)


def _read_chat(body: Mapping[str, Any]) -> Reply:
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(first, Mapping):
        return _flat_or_broken(body, "200 without a choice")
    if first.get("error"):
        return error_in_200(first["error"])
    message = first.get("message")
    if not isinstance(message, Mapping):
        return _broken(body, "200 with a choice that holds no message")
    finish = _text_or_none(first.get("finish_reason"))
    native = (_text_or_none(first.get("native_finish_reason")) or "").lower()
    if native in _FILTERED | _REFUSED:
        finish = native
    if finish == "error":
        return _broken(body, "finish reason error")
    turn = _Turn(
        text=_joined(message.get("content")),
        refusal=_text_or_none(message.get("refusal")),
        finish=finish,
        reasoning_only=bool(message.get("reasoning_content") or message.get("reasoning")),
    )
    chosen = first.get("logprobs")
    logprobs = _logprobs(chosen.get("content")) if isinstance(chosen, Mapping) else None
    return _reply(body, turn, _usage(body.get("usage"), ("prompt", "completion")), logprobs)


def _read_responses(body: Mapping[str, Any]) -> Reply:
    output = body.get("output")
    status = body.get("status")
    details = body.get("incomplete_details")
    reason = _text_or_none(details.get("reason")) if isinstance(details, Mapping) else None
    if not isinstance(output, list):
        return _flat_or_broken(body, "200 without output")
    if status not in (None, "completed", "incomplete"):
        return _broken(body, f"the response ended as {status}")
    texts: list[str] = []
    refusals: list[str] = []
    logprobs: list[Any] = []
    for item in (item for item in _mappings(output) if item.get("type") == "message"):
        for part in _mappings(item.get("content")):
            if part.get("type") == "refusal":
                refusals.append(str(part.get("refusal") or "no reason given"))
            elif isinstance(part.get("text"), str):
                texts.append(part["text"])
                logprobs += _mappings(part.get("logprobs"))
    turn = _Turn(
        text="".join(texts),
        refusal=" ".join(refusals) or None,
        finish=reason or ("incomplete" if status == "incomplete" else "stop"),
        reasoning_only=any(item.get("type") == "reasoning" for item in _mappings(output)),
    )
    if turn.finish == "incomplete":
        return _broken(body, "the response is incomplete without a reason")
    return _reply(body, turn, _usage(body.get("usage"), ("input", "output")), _logprobs(logprobs))
