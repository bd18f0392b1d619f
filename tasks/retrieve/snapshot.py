"""The literature of one idea: searched, made unique, ranked, cut to the wanted number, and frozen under a key.

Every search is remembered as a step of its own, so that a killed run does not ask again. A snapshot holds exactly the
wanted number of works, or says how many it lacks and why. When a provider failed and works are lacking, the snapshot is
left open for the next run: it is never frozen as if that were all there is. Here belongs the order of it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from storage.ideas import Idea
from storage.keys import content_hash, step_key
from storage.records import Family, Step, Work
from storage.store import Store
from tasks.retrieve.dedupe import DEDUPE_VERSION, unique
from tasks.retrieve.faults import ProviderFault
from tasks.retrieve.files import FileWorks
from tasks.retrieve.limiter import ProviderClosed
from tasks.retrieve.queries import QUERIES_VERSION, queries_of, ranking_text
from tasks.retrieve.ranking import RANKING_VERSION, Ranked, ranked
from tasks.retrieve.spec import ContextSpec
from tasks.retrieve.works import Answer, Found

SNAPSHOT_VERSION: Final = 1
"""Raised by hand when this code changes which works are chosen, or how they are written."""
ABSTRACT_CHARS: Final = 1500
"""A longer abstract is cut: one rule for every work, so the list is the same for all variants and judges."""
NOTHING: Final = "(No related work was found.)"


class Searcher(Protocol):
    """A literature service."""

    name: str

    @property
    def identity(self) -> dict[str, Any]:
        """What can change its answers."""

    def search(self, query: str, wanted: int) -> Answer:
        """The works for a query."""


@dataclass(frozen=True)
class Source:
    """A context with the means to fill it."""

    spec: ContextSpec
    services: tuple[Searcher, ...] = ()
    """To be asked in this order, each only while works are lacking."""
    file: FileWorks | None = None

    def key(self, idea: Idea) -> str:
        """The key of the snapshot for an idea; the context's label is no part of it."""
        asked: dict[str, Any] = (
            {"file": self.file.identity, "order": self.spec.order} if self.file is not None
            else {"services": [service.identity for service in self.services], "queries": queries_of(idea),
                  "per_query": self.spec.per_query, "queries_version": QUERIES_VERSION}
        )
        return step_key(
            "retrieve", SNAPSHOT_VERSION, **asked, against=content_hash(ranking_text(idea)),
            source=idea.source.model_dump(mode="json"), title=idea.title, works=self.spec.works,
            snapshot=self.spec.snapshot, dedupe=DEDUPE_VERSION, ranking=RANKING_VERSION,
        )


@dataclass
class _Search:
    """The searches for one idea, as they go."""

    found: list[Found] = field(default_factory=list)
    providers: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Name -> what it gave: records, flags, fault."""
    asked: int = 0
    recalled: int = 0

    @property
    def faults(self) -> dict[str, str]:
        """Provider -> why it could not answer."""
        return {name: told["fault"] for name, told in self.providers.items() if "fault" in told}


def _remembered(
    store: Store, service: Searcher, query: str, spec: ContextSpec, run_id: str | None
) -> tuple[Answer, bool]:
    """A search's answer, and whether it was asked just now."""
    key = step_key("search", 1, service=service.identity, query=query, wanted=spec.per_query, snapshot=spec.snapshot)
    known = next((step for step in store.load(Step, [key]) if step.outcome == "done"), None)
    if known is not None:
        return Answer.model_validate_json(store.get_text(known.output["answer"])), False
    started = time.perf_counter()
    answer = service.search(query, spec.per_query)
    stored = store.put_text(answer.model_dump_json())
    store.append(Step(key=key, step="search", outcome="done", run_id=run_id, seconds=time.perf_counter() - started,
                      output={"answer": stored, "provider": service.name, "query": query, "got": len(answer.works),
                              "count": answer.count, "flags": list(answer.flags)}))
    return answer, True


def _searched(store: Store, source: Source, idea: Idea, run_id: str | None) -> _Search:
    search = _Search()
    if source.file is not None:
        # A margin, because records of one work are merged afterwards.
        answer = source.file.for_idea(idea, 2 * source.spec.works + 10, source.spec.order)
        search.found += answer.works
        search.providers[source.file.name] = {"records": len(answer.works), "count": answer.count, "flags": []}
        return search
    for service in source.services:
        if len(unique(search.found, idea).works) >= source.spec.works:
            break
        told: dict[str, Any] = {"records": 0, "flags": []}
        search.providers[service.name] = told
        for query in queries_of(idea):
            try:
                answer, is_new = _remembered(store, service, query, source.spec, run_id)
            except ProviderClosed as closed:
                told["fault"] = f"closed: {closed.why}"
                break
            except ProviderFault as fault:
                told["fault"] = f"{fault.kind}: {fault}"
                if fault.kind == "bad_query":
                    continue
                break
            search.asked += is_new
            search.recalled += not is_new
            search.found += answer.works
            told["records"] += len(answer.works)
            told["flags"] = sorted({*told["flags"], *answer.flags})
    return search


def literature(works: Sequence[Found | Work]) -> str:
    """The list as judges read it: numbered, title and year, abstract where there is one, an empty line between works.

    The same text for every variant of an idea; no entry holds an empty line, so that whole works can be cut off.
    """
    if not works:
        return NOTHING
    lines = []
    for number, work in enumerate(works, 1):
        year = f" ({work.year})" if work.year else ""
        abstract = work.abstract
        if len(abstract) > ABSTRACT_CHARS:
            abstract = f"{abstract[:ABSTRACT_CHARS].rsplit(' ', 1)[0]} ..."
        lines.append(f"[{number}] {work.title}{year}\n{abstract or '(no abstract)'}")
    return "\n\n".join(lines)


def retrieve(store: Store, source: Source, family: Family, run_id: str | None = None) -> Step:
    """Makes the snapshot of one idea, and remembers it with every work's provenance.

    Args:
        store: where works and steps go.
        source: the context.
        family: the idea as ingested: searches never see a variant.
        run_id: enters the step rows.

    Returns:
        ``done`` with ``literature`` (hash), ``chars``, ``works``, ``wanted``, ``shortfall`` and what each provider
        gave; ``failed`` when works are lacking because a provider failed.

    Raises:
        InputError: when a file of works cannot be read.
    """
    started = time.perf_counter()
    idea = Idea.model_validate(family.facts)
    key = source.key(idea)
    search = _searched(store, source, idea, run_id)
    whole = unique(search.found, idea)
    if source.spec.order == "file" and source.file is not None:
        chosen = [Ranked(found, 0.0) for found in whole.works[:source.spec.works]]
    else:
        chosen = ranked(whole.works, ranking_text(idea))[:source.spec.works]
    lacking = source.spec.works - len(chosen)
    text = literature([each.found for each in chosen])
    output: dict[str, Any] = {
        "literature": store.put_text(text), "chars": len(text), "works": len(chosen), "wanted": source.spec.works,
        "shortfall": lacking, "without_abstract": sum(not each.found.abstract for each in chosen),
        "providers": search.providers, "asked": search.asked, "recalled": search.recalled,
        "dropped": whole.dropped, "merged": whole.merged, "excluded": whole.excluded, "context": source.spec.provider,
    }
    common: dict[str, Any] = {"key": key, "step": "retrieve", "run_id": run_id, "output": output,
                              "seconds": time.perf_counter() - started}
    if lacking and search.faults:
        first = "; ".join(f"{name} {why}" for name, why in search.faults.items())
        step = Step(outcome="failed", reason="provider_unavailable",
                    detail=f"{family.family}: {len(chosen)} of {source.spec.works} works; {first}", **common)
        store.append(step)
        return step
    detail = f"{family.family}: {lacking} works short of {source.spec.works}" if lacking else None
    step = Step(outcome="done", detail=detail, **common)
    store.append(*_rows(key, chosen), step)
    return step


def _rows(key: str, chosen: Sequence[Ranked]) -> list[Work]:
    return [
        Work(key=key, place=place, title=found.title, abstract=found.abstract, year=found.year,
             authors=list(found.authors), doi=found.doi, venue=found.venue, provider=found.provider,
             provider_id=found.provider_id, query=found.query, provider_rank=found.rank, score=score,
             fetched_at=found.fetched_at, flags=list(found.flags))
        for place, (found, score) in enumerate(chosen, 1)
    ]
