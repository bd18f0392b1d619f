"""A work as a provider gave it, before it is chosen.

Here belongs the record that providers, de-duplication and ranking share. A chosen work is ``storage.records.Work``.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from storage.records import Record, now


class Found(Record):
    """One record of a provider, cleaned."""

    title: str
    abstract: str = ""
    year: int | None = None
    authors: tuple[str, ...] = ()
    doi: str = ""
    venue: str = ""
    kind: str = ""
    """The provider's word for what it is: ``article``, ``preprint``, ``peer-review`` ..."""
    provider: str
    provider_id: str = ""
    query: str = ""
    rank: int = 0
    """1, 2 ... in the answer to that query."""
    fetched_at: datetime = Field(default_factory=now)
    flags: tuple[str, ...] = ()


class Answer(Record):
    """What one provider answered to one query."""

    works: tuple[Found, ...] = ()
    count: int | None = None
    """How many works the provider says it has for the query; None where it does not say."""
    flags: tuple[str, ...] = ()
    """``shortfall``: fewer than were asked for although the provider counts more; ``malformed_records``;
    ``repeated_page``."""

    def stored(self) -> dict[str, Any]:
        """As JSON, for the step that remembers it."""
        return self.model_dump(mode="json")
