"""The retrieve stage as Prefect sees it: one task run a context and group of ideas, and how contexts get their means.

Here belongs the wrapping only. The task uses none of Prefect's caches: the store is the only one.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.states import Completed, Failed, State

from storage.errors import EnvironmentProblem, InputError
from storage.ideas import Idea
from storage.records import Family, Step
from storage.store import Store
from tasks.retrieve.crossref import Crossref
from tasks.retrieve.files import FileWorks
from tasks.retrieve.limiter import Limiter
from tasks.retrieve.openalex import OpenAlex
from tasks.retrieve.snapshot import Source, retrieve
from tasks.retrieve.spec import ContextSpec

Tell = Callable[[Step], None]
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

    def source_of(self, idea: Idea) -> Source:
        """The context with its means, for one idea.

        Raises:
            InputError: when a file is missing, or a domain has no pool.
            EnvironmentProblem: when a variable it names is not set.
        """
        return source_of(self.spec, self.folder, self.limits, idea)


def _variable(name: str | None, what: str) -> str | None:
    if name is None:
        return None
    value = os.environ.get(name, "").strip()
    if not value:
        raise EnvironmentProblem(f"{what}: the environment variable {name} is not set")
    return value


def source_of(spec: ContextSpec, folder: Path, limits: Path, idea: Idea) -> Source:
    """A context with its means, for one idea.

    Args:
        spec: with ``provider`` other than ``none``.
        folder: what paths are relative to.
        limits: folder of the shared limiters.
        idea: whose domain chooses the pool.

    Raises:
        InputError: when a file is missing, or a domain has no pool.
        EnvironmentProblem: when a variable it names is not set.
    """
    if spec.provider == "corpus":
        return Source(spec, file=FileWorks((folder / str(spec.path)).resolve(), "corpus"))
    if spec.provider == "pool":
        path = spec.pools.get(idea.domain) or spec.pools.get("*")
        if path is None:
            raise InputError(f"context {spec.name}: no pool for the domain {idea.domain!r}: name one, or one for '*'")
        return Source(spec, file=FileWorks((folder / path).resolve(), "pool"))
    openalex = OpenAlex(
        Limiter("openalex", limits, interval_s=1 / spec.openalex_per_s, at_once=OPENALEX_AT_ONCE),
        base_url=spec.openalex_url, api_key=_variable(spec.openalex_key_env, "OpenAlex"), until=spec.until,
    )
    crossref = Crossref(
        Limiter("crossref", limits, interval_s=1 / spec.crossref_per_s, at_once=CROSSREF_AT_ONCE),
        base_url=spec.crossref_url, mailto=_variable(spec.mailto_env, "Crossref"), until=spec.until,
    )
    return Source(spec, services=(openalex, crossref))


def snapshot_keys(order: RetrieveOrder) -> dict[str, str]:
    """Family key -> key of its snapshot. A source is made once a domain: pools differ by it."""
    sources: dict[str, Source] = {}
    found: dict[str, str] = {}
    for family in order.families:
        idea = Idea.model_validate(family.facts)
        if idea.domain not in sources:
            sources[idea.domain] = order.source_of(idea)
        found[family.key] = sources[idea.domain].key(idea)
    return found


def missing_snapshots(store: Store, order: RetrieveOrder) -> list[Family]:
    """The ideas of an order whose snapshot is still to be made."""
    keys = snapshot_keys(order)
    missing = set(store.missing("steps", list(keys.values())))
    return [family for family in order.families if keys[family.key] in missing]


@task(name="retrieve-literature", task_run_name="retrieve-{order.spec.name}", cache_policy=NO_CACHE,
      persist_result=False, tags=["retrieve"])
def retrieve_task(
    store: Store, order: RetrieveOrder, run_id: str | None = None, tell: Tell = lambda _: None
) -> State[Counter[str]]:
    """Make what snapshots an order lacks: "Cached" when all were there, Failed when some are to be tried again."""
    todo = missing_snapshots(store, order)
    if not todo:
        return Completed(name="Cached", message=f"{len(order.families)} snapshots were there", data=Counter())
    steps = retrieve_all(store, order, todo, run_id, tell)
    outcomes = Counter(step.outcome for step in steps)
    short = sum(bool(step.output.get("shortfall")) for step in steps if step.outcome == "done")
    failed = [step for step in steps if step.outcome == "failed"]
    if failed:
        said = f"{len(failed)} snapshots are to be tried again; first: {failed[0].detail}"
        return Failed(message=said, data=outcomes)
    return Completed(message=f"{len(steps)} snapshots made, {short} with fewer works than wanted", data=outcomes)


def retrieve_all(
    store: Store, order: RetrieveOrder, families: Sequence[Family], run_id: str | None, tell: Tell
) -> list[Step]:
    """The snapshots of some ideas, one after another: the limiters allow no more."""
    sources: dict[str, Source] = {}
    steps = []
    for family in families:
        idea = Idea.model_validate(family.facts)
        if idea.domain not in sources:
            sources[idea.domain] = order.source_of(idea)
        steps.append(retrieve(store, sources[idea.domain], family, run_id))
        tell(steps[-1])
    return steps
