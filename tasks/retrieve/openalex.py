"""OpenAlex through pyalex: searches and look-ups, with time-outs, typed faults and the headers that pyalex drops.

pyalex fixes the service's host and makes a session for each call, so a transport adapter of our own stands in its
session: it sets a time-out, reads status and headers before pyalex does, and can send requests elsewhere (tests). Here
belongs what is asked of OpenAlex and how its records are read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import pyalex
import requests
from requests.adapters import HTTPAdapter

from tasks.retrieve.cleaning import clean, doi_key
from tasks.retrieve.faults import LONGEST_WAIT_S, ProviderFault, fault_of, patiently
from tasks.retrieve.limiter import Limiter
from tasks.retrieve.spec import OPENALEX as HOST
from tasks.retrieve.works import Answer, Found

VERSION: Final = 1
"""Raised by hand when other records come out of the same reply."""
PER_PAGE: Final = 100
"""The most the service gives since 2026; pyalex would let 200 through."""
FIELDS: Final = ("id", "doi", "title", "publication_year", "type", "authorships", "abstract_inverted_index",
                 "primary_location")
_TIMEOUT_S: Final = (5.0, 30.0)
_FAULTS: Final = (requests.RequestException, json.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError)


class _Adapter(HTTPAdapter):
    """The wire: time-out, redirection, key, and faults by status and headers."""

    def __init__(self, base_url: str, api_key: str | None) -> None:
        super().__init__()
        self._base_url = base_url.rstrip("/")
        self._api_key = api_key

    def send(self, request: requests.PreparedRequest, stream: bool = False, timeout: Any = None,  # noqa: ARG002
             verify: Any = True, cert: Any = None, proxies: Any = None) -> requests.Response:
        """One request; a reply that is no JSON or no success is a fault."""
        asked = request.url or ""
        request.url = asked.replace(HOST, self._base_url, 1)
        # The key goes here and not into pyalex's global settings: two suites of one process may have two keys.
        request.headers.pop("Authorization", None)
        if self._api_key:
            request.headers["Authorization"] = f"Bearer {self._api_key}"
        response = super().send(request, stream=stream, timeout=_TIMEOUT_S, verify=verify, cert=cert, proxies=proxies)
        response.url = asked
        if response.is_redirect:
            return response
        is_json = "json" in response.headers.get("Content-Type", "").lower()
        if response.status_code != 200 or not is_json:
            raise fault_of(response.status_code, response.headers, response.text)
        return response


class Works(pyalex.Works):
    """pyalex's works over a session of ours; the class's name is the path that pyalex asks."""

    session: requests.Session | None = None
    # pyalex makes a dict of every record, so that one malformed record would cost its whole page.
    resource_class = staticmethod(lambda record: record)

    def _get_from_url(self, url: str, session: requests.Session | None = None) -> Any:  # noqa: ARG002
        try:
            return super()._get_from_url(url, self.session)
        except ProviderFault:
            raise
        except pyalex.api.QueryError as error:
            raise ProviderFault("bad_query", str(error)) from error
        except _FAULTS as error:
            raise ProviderFault("unavailable", f"{type(error).__name__}: {error}") from error


class OpenAlex:
    """The searches and look-ups of one suite."""

    name = "openalex"

    def __init__(self, limiter: Limiter, *, base_url: str = HOST, api_key: str | None = None,
                 until: str | None = None, cap_s: float = LONGEST_WAIT_S) -> None:
        """A provider.

        Args:
            limiter: the machine's for this provider.
            base_url: where requests go instead of the service (tests, a mirror).
            api_key: since 2026 needed for more than a few searches a day.
            until: only works published up to this day (``YYYY-MM-DD``).
            cap_s: the longest wait that a server may ask for.
        """
        self._limiter = limiter
        self._base_url = base_url
        self._until = until
        self._cap_s = cap_s
        self._session = requests.Session()
        self._session.mount(HOST, _Adapter(base_url, api_key))

    @property
    def identity(self) -> dict[str, Any]:
        """What can change its answers."""
        return {"provider": self.name, "version": VERSION, "base_url": self._base_url, "until": self._until}

    def _works(self) -> Works:
        works = Works()
        works.session = self._session
        return works

    def search(self, query: str, wanted: int) -> Answer:
        """The works for a query, the most relevant first.

        Args:
            query: plain words; encoded here, once.
            wanted: how many.

        Raises:
            ProviderFault, ProviderClosed: when there is no answer.
        """
        seen: dict[str, Found] = {}
        flags: set[str] = set()
        count: int | None = None
        cursor: str | None = "*"
        while cursor is not None and len(seen) < wanted:
            page = self._page(query, cursor, min(PER_PAGE, wanted))
            count = page.meta.get("count") if isinstance(page.meta, Mapping) else None
            before = len(seen)
            for record in page:
                found = read_work(record, query, len(seen) + 1)
                if found is None:
                    flags.add("malformed_records")
                else:
                    seen.setdefault(found.provider_id or f"{query}#{len(seen)}", found)
            if len(seen) == before:
                # The same page again, or an empty one: rows are not works, and asking on would not end.
                flags |= {"repeated_page"} if len(page) else set()
                break
            cursor = page.meta.get("next_cursor") if isinstance(page.meta, Mapping) else None
        if count is not None and len(seen) < min(wanted, count):
            flags.add("shortfall")
        return Answer(works=tuple(seen.values())[:wanted], count=count, flags=tuple(sorted(flags)))

    def _page(self, query: str, cursor: str, size: int) -> Any:
        def request() -> Any:
            works = self._works().search(query).select(list(FIELDS))
            if self._until:
                works = works.filter(to_publication_date=self._until)
            return works.get(per_page=size, cursor=cursor)

        return patiently(self._limiter, request, cap_s=self._cap_s)

    def look_up(self, ids: Sequence[str]) -> tuple[list[Found], list[str]]:
        """Works by OpenAlex id or DOI, each once, and the ids that nobody is called by.

        A merged work is followed to what it was merged into; a missing one is an answer and not an outage.

        Raises:
            ProviderFault, ProviderClosed: for anything but a missing work.
        """
        found: dict[str, Found] = {}
        misses: list[str] = []
        for name in dict.fromkeys(ids):
            doi = doi_key(name)
            try:
                record = patiently(self._limiter, partial(self._record, f"doi:{doi}" if doi else name),
                                   cap_s=self._cap_s)
            except ProviderFault as fault:
                if fault.kind != "not_found":
                    raise
                misses.append(name)
                continue
            work = read_work(record, name, 1)
            if work is None:
                misses.append(name)
            else:
                found.setdefault(work.provider_id, work)
        return list(found.values()), misses

    def _record(self, name: str) -> Any:
        return self._works()[name]


def _abstract(record: Mapping[str, Any]) -> str:
    """The abstract, whether its index is there, null or absent."""
    index = record.get("abstract_inverted_index")
    if not isinstance(index, Mapping) or not all(isinstance(places, list) for places in index.values()):
        return ""
    return clean(pyalex.invert_abstract(index))


def _authors(record: Mapping[str, Any]) -> tuple[str, ...]:
    named = (each.get("author") or {} for each in record.get("authorships") or [] if isinstance(each, Mapping))
    return tuple(name for author in named if isinstance(author, Mapping) and (name := author.get("display_name")))


def read_work(record: Any, query: str, rank: int) -> Found | None:
    """A record as a work; None for what is no record. Missing fields are empty, never an error."""
    if not isinstance(record, Mapping) or not isinstance(record.get("id"), str):
        return None
    year, location = record.get("publication_year"), record.get("primary_location")
    source = location.get("source") if isinstance(location, Mapping) else None
    abstract = _abstract(record)
    doi, title = record.get("doi"), record.get("title")
    return Found(
        title=clean(title) if isinstance(title, str) else "", abstract=abstract,
        year=year if isinstance(year, int) and not isinstance(year, bool) else None,
        authors=_authors(record), doi=doi_key(doi) if isinstance(doi, str) else "",
        venue=clean(source.get("display_name")) if isinstance(source, Mapping) else "",
        kind=str(record.get("type") or ""), provider=OpenAlex.name, provider_id=record["id"], query=query, rank=rank,
        flags=() if abstract else ("no_abstract",),
    )
