"""A context: what literature a judge is shown beside an idea, as a suite describes it.

Here belongs the description. What is found is ``snapshot.py``'s matter.
"""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field, model_validator

from storage.records import Record

OPENALEX: Final = "https://api.openalex.org"
CROSSREF: Final = "https://api.crossref.org"


class ContextSpec(Record):
    """One setting of a suite. Secrets are never here, only the names of variables."""

    name: str = Field(min_length=1, pattern=r"^[a-z0-9][a-z0-9_-]*$")
    """The label people use; no part of any key."""
    provider: Literal["none", "corpus", "pool", "online"] = "none"
    """``corpus``: a local file searched by BM25; ``pool``: a file of the idea's domain; ``online``: OpenAlex, filled up
    from Crossref."""
    path: str | None = None
    """Of a corpus: JSON lines, CSV or Parquet, relative to the suite's file."""
    pools: dict[str, str] = Field(default_factory=dict)
    """Of pools: domain -> file; the domain ``*`` stands for every other one."""
    order: Literal["relevance", "file"] = "relevance"
    """Of pools: the works closest to the idea, or the first of the file, the same for every idea of a domain."""
    works: int = Field(default=50, ge=1, le=200)
    """How many works are shown."""
    per_query: int = Field(default=100, ge=1, le=400)
    """How many candidates a query asks for."""
    snapshot: int = Field(default=1, ge=1)
    """Raised by hand to search anew; what was found before stays under the old number."""
    until: str | None = Field(default=None, pattern=r"^\d{4}-\d{2}-\d{2}$")
    """Of online searches: nothing published later."""
    openalex_url: str = OPENALEX
    openalex_key_env: str | None = None
    """The variable with the key; without one OpenAlex answers few searches a day."""
    openalex_per_s: float = Field(default=5.0, gt=0, le=50)
    crossref_url: str = CROSSREF
    mailto_env: str | None = None
    """The variable with an e-mail address, for Crossref's polite pool."""
    crossref_per_s: float = Field(default=2.0, gt=0, le=20)
    """Under the limits that were measured in 2026; a lower one that the server states is obeyed."""

    @model_validator(mode="after")
    def _complete(self) -> ContextSpec:
        if (self.provider == "corpus") != (self.path is not None):
            raise ValueError(f"context {self.name!r}: a corpus, and only a corpus, needs path")
        if (self.provider == "pool") != bool(self.pools):
            raise ValueError(f"context {self.name!r}: a pool, and only a pool, needs pools")
        return self
