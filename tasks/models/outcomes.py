"""What a failed request means: every status, error body and broken connection has one typed outcome.

Here belongs the reading of failures. Bodies that carry an answer are read in ``answers.py``; what is done about an
outcome (wait, ask again, stop the endpoint) is decided in ``retries.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

import httpx2
import orjson

from storage.lazy import LazyModule
from storage.records import now
from storage.vocabulary import Outcome
from tasks.models.endpoints import redact

if TYPE_CHECKING:
    import aiohttp
else:
    aiohttp = LazyModule("aiohttp")

ERROR_CHARS = 600
"""An error is kept up to this length: enough for a person, never a whole page."""

_QUOTA = re.compile(
    r"insufficient[_ ](?:quota|credits?|balance|funds)|billing_hard_limit|billing_not_active"
    r"|payment required|out of credits|credit balance is too low|account[^.]{0,40}(?:deactivated|suspended)"
    r"|arrearage|prepayment credits are depleted",
    re.I,
)
_CONTEXT = re.compile(
    r"context_length_exceeded|maximum context length|context (?:window|size|length)|exceed_context_size"
    r"|prompt is too long|input is too long|too many (?:input )?tokens|reduce the length|string_above_max_length"
    r"|request too large for|input token count",
    re.I,
)
_FILTER = re.compile(
    r"content[_ ]?(?:filter|policy|management)|invalid_prompt|responsible ?ai|moderation|flagged|safety system"
    r"|data_inspection_failed",
    re.I,
)
_BAD_KEY = re.compile(r"invalid[_ ]api[_ ]key|incorrect api key|api key not valid|authentication|unauthori[sz]ed", re.I)
_RATE = re.compile(
    r"rate[_ -]?limit|too many requests|resource_exhausted|requests per|tokens per|slow down|throttl", re.I
)
_OVERLOADED = re.compile(r"overloaded|at capacity|unavailable|busy", re.I)
_CULPRIT = re.compile(
    r"(?:unsupported[_ ](?:parameter|value)|unrecognized request argument(?: supplied)?"
    r"|unknown[_ ](?:parameter|name|field)|unexpected keyword argument|extra inputs are not permitted"
    r"|does not support(?: the)?(?: parameter)?"
    r"|parameter not supported|not support(?:ed)?(?: parameter)?)"
    r"\W{0,4}([A-Za-z_][\w.]*)?",
    re.I,
)
_LOCATION = re.compile(r"loc\W+body\W+([A-Za-z_]\w*)")
_QUOTED = re.compile(r"['\"`]([A-Za-z_][\w.]*)['\"`]")


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the endpoint counted them; None where it did not say."""

    input: int | None = None
    output: int | None = None
    reasoning: int | None = None
    cached: int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What one attempt brought back, whatever it was."""

    outcome: Outcome
    answer: str | None = None
    logprobs: list[dict[str, Any]] | None = None
    finish_reason: str | None = None
    usage: Usage = field(default_factory=Usage)
    http_status: int | None = None
    error: str | None = None
    resolved_model: str | None = None
    provider_id: str | None = None
    retry_after_s: float | None = None
    """The wait the server asked for; None when it did not."""
    culprit: str | None = None
    """The request field that the endpoint does not accept, where a 400 names it."""
    overloaded: bool = False
    """The server asks for less: 429, 503, 529 and bodies that say so."""


def one_line(text: str) -> str:
    """An error as it may be stored: keys redacted, white space collapsed, cut to ``ERROR_CHARS``."""
    line = " ".join(redact(text).split())
    return line if len(line) <= ERROR_CHARS else line[: ERROR_CHARS - 1] + "…"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The wait in seconds that a reply asks for, from ``Retry-After-Ms`` or ``Retry-After`` (number or date)."""
    milliseconds = headers.get("retry-after-ms")
    if milliseconds is not None:
        try:
            return max(float(milliseconds) / 1000, 0.0)
        except ValueError:
            pass
    value = headers.get("retry-after")
    if value is None:
        return None
    try:
        return max(float(value), 0.0)
    except ValueError:
        pass
    try:
        return max((parsedate_to_datetime(value) - now()).total_seconds(), 0.0)
    except (ValueError, TypeError):
        return None


def error_parts(body: Any) -> tuple[str, str, str | None]:
    """``(message, codes, param)`` of an error body in the shapes that gateways use; empty where there is none."""
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, Mapping):
        return (str(body) if body else ""), "", None
    error = body.get("error", body)
    if isinstance(error, str):
        return error, str(body.get("code") or ""), None
    if not isinstance(error, Mapping):
        return str(error), "", None
    message = error.get("message") or error.get("detail") or error.get("msg") or ""
    codes = [error.get(name) for name in ("code", "type", "status", "reason")]
    metadata = error.get("metadata")
    if isinstance(metadata, Mapping) and metadata.get("raw"):
        message = f"{message}: {metadata['raw']}"
    param = error.get("param")
    text = message if isinstance(message, str) else orjson.dumps(message).decode()
    return text, " ".join(str(code) for code in codes if code), param if isinstance(param, str) else None


def _culprit(message: str, codes: str, param: str | None) -> str | None:
    found = _CULPRIT.search(f"{codes} {message}")
    if found is None:
        return None
    if param:
        return param
    located = _LOCATION.search(message)
    if located is not None:
        return located.group(1)
    quoted = _QUOTED.search(message)
    if quoted is not None:
        return quoted.group(1)
    return found.group(1)


def _client_error(status: int, said: str, parts: tuple[str, str, str | None]) -> tuple[Outcome, str | None]:
    """The outcome of a 4xx that is neither a rate nor a money matter, and the field to blame."""
    if status == 413 or _CONTEXT.search(said):
        return Outcome.context_too_long, None
    if _FILTER.search(said):
        return Outcome.filtered, None
    if status in (401, 403) or _BAD_KEY.search(said):
        return Outcome.unauthorised, None
    return Outcome.bad_request, _culprit(*parts)


def _by_status(status: int, said: str, parts: tuple[str, str, str | None]) -> tuple[Outcome, str | None]:
    if status == 402 or (status in (400, 403, 429) and _QUOTA.search(said)):
        return Outcome.quota_gone, None
    if status == 429 or (status == 403 and _RATE.search(said)):
        return Outcome.rate_limited, None
    if status in (408, 504, 522, 524):
        return Outcome.timed_out, None
    if status >= 500:
        return (Outcome.context_too_long if _CONTEXT.search(said) else Outcome.provider_error), None
    if status in (409, 425) or status < 400:
        return Outcome.provider_error, None
    return _client_error(status, said, parts)


def failure(status: int, body: Any, headers: Mapping[str, str] | None = None) -> Reply:
    """The reply that a failed request amounts to.

    Args:
        status: the HTTP status, or the numeric code of an error inside a 200.
        body: the parsed body, or its text where it is not JSON.
        headers: the reply's headers, lower-cased or case-insensitive.
    """
    parts = error_parts(body)
    message, codes, _ = parts
    said = f"{codes} {message}"
    outcome, culprit = _by_status(status, said, parts)
    overloaded = status in (429, 503, 529) or (status >= 500 and bool(_OVERLOADED.search(said)))
    return Reply(
        outcome=outcome,
        http_status=status,
        error=one_line(f"{status} {said}".strip()),
        retry_after_s=retry_after(headers or {}),
        culprit=culprit,
        overloaded=overloaded and outcome is not Outcome.quota_gone,
    )


def error_in_200(error: Any, headers: Mapping[str, str] | None = None) -> Reply:
    """A 200 that carries an error object: read by the code inside it, and never an answer."""
    code = error.get("code") if isinstance(error, Mapping) else None
    inner = int(code) if isinstance(code, int | str) and str(code).isdigit() and 400 <= int(code) < 600 else 0
    if not inner:
        message, codes, _ = error_parts({"error": error})
        said = f"{codes} {message}"
        inner = 429 if _QUOTA.search(said) or _RATE.search(said) else 502
    reply = failure(inner, {"error": error}, headers)
    return Reply(
        outcome=reply.outcome,
        http_status=200,
        error=one_line(f"200 with an error: {reply.error}"),
        retry_after_s=reply.retry_after_s,
        culprit=reply.culprit,
        overloaded=reply.overloaded,
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__


def classify_exception(error: Exception) -> Reply:
    """The reply that a broken request amounts to: reset, refused, unreachable, or timed out.

    openai's aiohttp transport reports a dropped connection as a connect time-out; the cause behind it says what it was.
    """
    causes = list(_causes(error))
    dropped = (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError, aiohttp.ClientPayloadError, ConnectionError)
    if any(isinstance(cause, dropped) for cause in causes):
        outcome = Outcome.provider_error
    elif any(isinstance(cause, TimeoutError | httpx2.TimeoutException) for cause in causes):
        outcome = Outcome.timed_out
    else:
        outcome = Outcome.provider_error
    said = next((str(cause) for cause in reversed(causes) if str(cause)), "") or type(error).__name__
    return Reply(outcome=outcome, error=one_line(f"{type(causes[-1]).__name__}: {said}"))
