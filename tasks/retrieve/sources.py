"""The means of a context: which file or services fill it, for which idea; and which snapshots are still to be made.

Here belongs the way from a description (``spec``) to something that can search, and the looking up of what is there.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from storage.errors import EnvironmentProblem, InputError
from storage.ideas import Idea
from storage.records import Family
from storage.store import Store
from tasks.retrieve.crossref import Crossref
from tasks.retrieve.files import FileWorks
from tasks.retrieve.limiter import Limiter
from tasks.retrieve.openalex import OpenAlex
from tasks.retrieve.snapshot import Source
from tasks.retrieve.spec import ContextSpec

OPENALEX_AT_ONCE = 4
CROSSREF_AT_ONCE = 1
"""What its public pool was seen to allow; more in flight is answered with 429."""


@dataclass(frozen=True)
class RetrieveOrder:
    """A context and some ideas."""

    spec: ContextSpec
    folder: Path
    """What paths are relative to."""
    limits: Path
    """Folder of the limiters that all processes of this machine share."""
    families: tuple[Family, ...]

    def source_of(self, idea: Idea, *, to_search: bool = True) -> Source:
        """The context with its means, for one idea.

        Args:
            idea: whose domain chooses the pool.
            to_search: with keys and addresses from the environment; without, for keys of snapshots only.

        Raises:
            InputError: when a file is missing, or a domain has no pool.
            EnvironmentProblem: when a variable it names is not set.
        """
        spec = self.spec
        if spec.provider == "corpus":
            return Source(spec, file=FileWorks((self.folder / str(spec.path)).resolve(), "corpus"))
        if spec.provider == "pool":
            path = spec.pools.get(idea.domain) or spec.pools.get("*")
            if path is None:
                raise InputError(f"context {spec.name}: no pool for the domain {idea.domain!r}: name one, or a '*'")
            return Source(spec, file=FileWorks((self.folder / path).resolve(), "pool"))
        return Source(spec, services=_services(spec, self.limits, to_search=to_search))


def _variable(name: str | None, what: str) -> str | None:
    if name is None:
        return None
    value = os.environ.get(name, "").strip()
    if not value:
        raise EnvironmentProblem(f"{what}: the environment variable {name} is not set")
    return value


def _services(spec: ContextSpec, limits: Path, *, to_search: bool) -> tuple[OpenAlex, Crossref]:
    openalex = Limiter("openalex", limits, interval_s=1 / spec.openalex_per_s, at_once=OPENALEX_AT_ONCE)
    crossref = Limiter("crossref", limits, interval_s=1 / spec.crossref_per_s, at_once=CROSSREF_AT_ONCE)
    key = _variable(spec.openalex_key_env, "OpenAlex") if to_search else None
    mailto = _variable(spec.mailto_env, "Crossref") if to_search else None
    return (OpenAlex(openalex, base_url=spec.openalex_url, api_key=key, until=spec.until),
            Crossref(crossref, base_url=spec.crossref_url, mailto=mailto, until=spec.until))


def snapshot_keys(order: RetrieveOrder) -> dict[str, str]:
    """Family key -> key of its snapshot. A source is made once a domain: pools differ by it."""
    sources: dict[str, Source] = {}
    found: dict[str, str] = {}
    for family in order.families:
        idea = Idea.model_validate(family.facts)
        if idea.domain not in sources:
            sources[idea.domain] = order.source_of(idea, to_search=False)
        found[family.key] = sources[idea.domain].key(idea)
    return found


def missing_snapshots(store: Store, order: RetrieveOrder) -> list[Family]:
    """The ideas of an order whose snapshot is still to be made."""
    keys = snapshot_keys(order)
    missing = set(store.missing("steps", list(keys.values())))
    return [family for family in order.families if keys[family.key] in missing]
