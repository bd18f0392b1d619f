"""The line to the export host: bounded tries, answers told apart by content, a host that refuses left alone a while.

Here belongs how a request goes. What is asked for is ``papers.py``'s matter; the pause between requests is ``pace.py``.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from importlib.metadata import version
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from storage.errors import EnvironmentProblem
from storage.lazy import LazyModule
from tasks.ingest.archive import UnpackLimits, sniff
from tasks.ingest.arxiv.faults import NotFetched, NotThere
from tasks.ingest.arxiv.pace import Pace, interval_for

if TYPE_CHECKING:
    import httpx
else:
    httpx = LazyModule("httpx")

BASE_URL = "https://export.arxiv.org"
URL_VARIABLE = "EVENHAND_ARXIV_URL"
WAITS_S = (5.0, 20.0, 60.0)
"""Before the second, third and fourth try; a Retry-After that is longer counts, up to its cap."""
RETRY_AFTER_CAP_S = 120.0
CLOSED_FOR_S = 600.0
CONNECT_S, READ_S = 30.0, 120.0
_REFUSALS = frozenset({"rate_limited", "blocked"})

_closed_lock = threading.Lock()
_closed_until: dict[str, float] = {}
"""Host -> until when (monotonic) it is not asked: it refused every try of somebody in this process."""

Check = Callable[[bytes], object]


def base_url(given: str | None = None) -> str:
    """The host that is asked: what the suite says, else the variable, else arXiv's host for programs.

    Raises:
        EnvironmentProblem: it is no http(s) address.
    """
    url = (given or os.environ.get(URL_VARIABLE) or BASE_URL).rstrip("/")
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        raise EnvironmentProblem(f"{url!r} is no http(s) address; mend families.base_url or {URL_VARIABLE}")
    return url


class Line:
    """One host, asked one request at a time."""

    def __init__(
        self, url: str, *, pace: Pace | None = None, waits_s: tuple[float, ...] = WAITS_S,
        sleep: Callable[[float], None] = time.sleep, transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.url = url
        self._host = urlsplit(url).netloc
        self._interval = interval_for(url)
        self._pace = pace or Pace(self._host, self._interval)
        # Waits shrink with the pause of a mirror, which stands in for arXiv in tests.
        self._waits = tuple(wait * min(self._interval / 3.0, 1.0) for wait in waits_s)
        self._sleep, self._transport = sleep, transport

    def get(self, path: str, check: Check, **parameters: str) -> bytes:
        """The body of a good answer.

        Args:
            path: below the host's address.
            check: looks at the body; raises NotFetched or NotThere when it is not what was asked for.
            parameters: of the query.

        Raises:
            NotFetched: every try failed in a way that passes.
            NotThere: there is nothing to fetch.
        """
        self._refuse_if_closed()
        for wait in (*self._waits, None):
            try:
                with self._pace.turn():
                    data = self._once(path, parameters)
                check(data)
                return data
            except NotFetched as fault:
                if wait is None:
                    self._close(fault)
                    raise
                self._sleep(max(wait, min(fault.retry_after_s or 0.0, RETRY_AFTER_CAP_S)))
        raise AssertionError("unreachable: the last try returns or raises")

    def _refuse_if_closed(self) -> None:
        with _closed_lock:
            left = _closed_until.get(self._host, 0.0) - time.monotonic()
        if left > 0:
            raise NotFetched("closed", f"{self._host} refused requests just now; it is not asked for {left:.0f} s")

    def _close(self, fault: NotFetched) -> None:
        """After a refusal of every try, others need not try one by one for hours."""
        if fault.reason in _REFUSALS:
            with _closed_lock:
                _closed_until[self._host] = time.monotonic() + CLOSED_FOR_S

    def _once(self, path: str, parameters: dict[str, str]) -> bytes:
        limit = UnpackLimits().packed_bytes
        agent = f"evenhand/{version('evenhand')} (benchmark of paper reviewers; one request at a time)"
        data = bytearray()
        try:
            with (
                httpx.Client(
                    timeout=httpx.Timeout(CONNECT_S, read=READ_S), follow_redirects=True,
                    headers={"User-Agent": agent}, transport=self._transport,
                ) as client,
                client.stream("GET", f"{self.url}{path}", params=parameters or None) as reply,
            ):
                _refuse_status(reply, path)
                for chunk in reply.iter_bytes():
                    data += chunk
                    if len(data) > limit:
                        raise NotThere("too_big", f"{path}: it has more than {limit:,} bytes")
        except httpx.TimeoutException as error:
            raise NotFetched("timed_out", f"{path}: {type(error).__name__}") from error
        except (httpx.DecodingError, httpx.RemoteProtocolError) as error:
            raise NotFetched("broken_answer", f"{path}: the answer broke off: {error}") from error
        except httpx.RequestError as error:
            raise NotFetched("no_connection", f"{path}: {error or type(error).__name__}") from error
        return bytes(data)


def _refuse_status(reply: httpx.Response, path: str) -> None:
    """What a status means that is not 200."""
    status, said = reply.status_code, f"{path}: HTTP {reply.status_code}"
    if status == 200:
        return
    if status == 429:
        raise NotFetched("rate_limited", said, retry_after_s=_retry_after(reply))
    if status in (401, 403):
        raise NotFetched("blocked", said, retry_after_s=_retry_after(reply))
    if status >= 500 or status in (202, 204, 408, 425):
        raise NotFetched("server_error", said, retry_after_s=_retry_after(reply))
    if status in (404, 410):
        raise NotThere("not_found", said)
    raise NotThere("refused", said)


def _retry_after(reply: httpx.Response) -> float | None:
    """Seconds, given as seconds or as a date."""
    given = reply.headers.get("Retry-After", "").strip()
    if given.isdigit():
        return float(given)
    try:
        return max(parsedate_to_datetime(given).timestamp() - time.time(), 0.0)
    except ValueError:
        return None


def refuse_pages(data: bytes) -> None:
    """A check for answers that may be no web page and not empty, whatever their status said.

    Raises:
        NotFetched: they are.
    """
    kind = sniff(data)
    if kind == "html":
        title = " ".join(data[:4096].decode("utf-8", "replace").split())[:120]
        raise NotFetched("html_page_instead", f"a web page came instead of the paper: {title}")
    if kind == "empty":
        raise NotFetched("empty_answer", "the answer was empty")
