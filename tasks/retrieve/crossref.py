"""Crossref through habanero: the filler where OpenAlex has too little.

habanero has no retries, a short time-out and three kinds of errors; here each becomes a typed fault. Here belongs what
is asked of Crossref and how its records are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import httpx2

from storage.lazy import LazyModule
from tasks.retrieve.cleaning import clean, doi_key
from tasks.retrieve.faults import LONGEST_WAIT_S, ProviderFault, fault_of, patiently
from tasks.retrieve.limiter import Limiter
from tasks.retrieve.spec import CROSSREF as HOST
from tasks.retrieve.works import Answer, Found

if TYPE_CHECKING:
    import habanero
    from habanero import exceptions as habanero_errors
else:
    habanero = LazyModule("habanero")
    habanero_errors = LazyModule("habanero.exceptions")

VERSION: Final = 1
"""Raised by hand when other records come out of the same reply."""
TYPES: Final = ("journal-article", "proceedings-article", "posted-content", "book-chapter", "report", "dissertation")
"""What counts as literature: no peer reviews, no components, no data sets."""
SELECT: Final = ("DOI", "title", "abstract", "author", "issued", "posted", "published", "type", "container-title")
_TIMEOUT_S: Final = 30.0
MOST_ROWS: Final = 1000


class Crossref:
    """The searches and look-ups of one suite."""

    name = "crossref"

    def __init__(self, limiter: Limiter, *, base_url: str = HOST, mailto: str | None = None, until: str | None = None,
                 cap_s: float = LONGEST_WAIT_S) -> None:
        """A provider.

        Args:
            limiter: the machine's for this provider.
            base_url: where requests go.
            mailto: an address for the polite pool.
            until: only works published up to this day (``YYYY-MM-DD``).
            cap_s: the longest wait that a server may ask for.
        """
        self._limiter = limiter
        self._base_url = base_url.rstrip("/")
        self._until = until
        self._cap_s = cap_s
        self._client = habanero.Crossref(base_url=self._base_url, mailto=mailto, ua_string="evenhand",
                                         timeout=_TIMEOUT_S)

    @property
    def identity(self) -> dict[str, Any]:
        """What can change its answers."""
        return {"provider": self.name, "version": VERSION, "base_url": self._base_url, "until": self._until}

    def search(self, query: str, wanted: int) -> Answer:
        """The works for a query, the most relevant first.

        Raises:
            ProviderFault, ProviderClosed: when there is no answer.
        """
        # The name of this argument changes in habanero's next release, which would drop the filter without a word.
        chosen: dict[str, Any] = {"type": list(TYPES), **({"until_pub_date": self._until} if self._until else {})}

        def request() -> Any:
            return _asked(lambda: self._client.works(query=query, filter=chosen, limit=min(wanted, MOST_ROWS),
                                                     select=list(SELECT)))

        message = _message(patiently(self._limiter, request, cap_s=self._cap_s))
        items = message.get("items")
        if not isinstance(items, list):
            raise ProviderFault("unavailable", "a reply without a list of items")
        read = [read_item(item, query, rank) for rank, item in enumerate(items, 1)]
        works = tuple({found.doi or found.provider_id: found for found in reversed(read) if found is not None}.values())
        count = message.get("total-results")
        flags = {"malformed_records"} if None in read else set()
        if isinstance(count, int) and len(works) < min(wanted, count):
            flags.add("shortfall")
        return Answer(works=works[::-1], count=count if isinstance(count, int) else None, flags=tuple(sorted(flags)))

    def look_up(self, ids: Sequence[str]) -> tuple[list[Found], list[str]]:
        """Works by DOI, one request each so that an unknown one spoils nothing, and the DOIs that are not registered.

        Raises:
            ProviderFault, ProviderClosed: for anything but an unknown DOI.
        """
        found: dict[str, Found] = {}
        misses: list[str] = []
        for name in dict.fromkeys(ids):
            doi = doi_key(name) or name
            try:
                # A DOI may hold characters that mean something else in an address.
                call = partial(self._client.works, ids=quote(doi, safe="/()._;:-"))
                reply = patiently(self._limiter, partial(_asked, call), cap_s=self._cap_s)
            except ProviderFault as fault:
                if fault.kind != "not_found":
                    raise
                misses.append(name)
                continue
            work = read_item(_message(reply), name, 1)
            if work is None:
                misses.append(name)
            else:
                found.setdefault(work.doi, work)
        return list(found.values()), misses


def _asked(call: Any) -> Any:
    """One habanero call with its errors as faults.

    Whatever it raises, a failed reply stands behind it: habanero reads error bodies in one form only, and of others it
    tells the missing key and not the status.
    """
    try:
        return call()
    except (habanero_errors.RequestError, httpx2.HTTPError, RuntimeError, KeyError, ValueError, TypeError) as error:
        behind: BaseException | None = error
        while behind is not None:
            if isinstance(behind, httpx2.HTTPStatusError):
                reply = behind.response
                raise fault_of(reply.status_code, reply.headers, reply.text) from error
            behind = behind.__cause__ or behind.__context__
        raise ProviderFault("unavailable", f"{type(error).__name__}: {' '.join(str(error).split())[:200]}") from error


def _message(reply: Any) -> Mapping[str, Any]:
    message = reply.get("message") if isinstance(reply, Mapping) else None
    if not isinstance(message, Mapping):
        raise ProviderFault("unavailable", "a reply without a message")
    return message


def _first(value: Any) -> str:
    if isinstance(value, list):
        value = next((each for each in value if isinstance(each, str) and each.strip()), "")
    return clean(value) if isinstance(value, str) else ""


def _year(item: Mapping[str, Any]) -> int | None:
    """The year of publication, of posting where there is none, or None."""
    for name in ("issued", "published", "posted"):
        entry = item.get(name)
        parts = entry.get("date-parts") if isinstance(entry, Mapping) else None
        if isinstance(parts, list) and parts and isinstance(parts[0], list) and parts[0]:
            year = parts[0][0]
            if isinstance(year, int) and not isinstance(year, bool):
                return year
    return None


def _authors(item: Mapping[str, Any]) -> tuple[str, ...]:
    names = []
    for author in item.get("author") or []:
        if isinstance(author, Mapping):
            name = " ".join(str(author[part]) for part in ("given", "family") if author.get(part)) or author.get("name")
            if name:
                names.append(clean(str(name)))
    return tuple(names)


def read_item(item: Any, query: str, rank: int) -> Found | None:
    """An item as a work; None for what is no item. Missing fields are empty, never an error."""
    if not isinstance(item, Mapping) or not isinstance(item.get("DOI"), str):
        return None
    given = item.get("abstract")
    abstract = clean(given) if isinstance(given, str) else ""
    return Found(
        title=_first(item.get("title")), abstract=abstract, year=_year(item), authors=_authors(item),
        doi=doi_key(item["DOI"]), venue=_first(item.get("container-title")), kind=str(item.get("type") or ""),
        provider=Crossref.name, provider_id=item["DOI"], query=query, rank=rank,
        flags=() if abstract else ("no_abstract",),
    )
