"""Ingest: every source of a suite becomes a family with a built original, or is excluded with the reason."""

from __future__ import annotations

from typing import Any

from prefect import flow
from prefect.states import Completed, State

from flows.families import human_scores, sources_of
from flows.ideas import as_papers, extractor_of, named_ideas, papers_of
from flows.pairs import named_pairs
from flows.progress import BOARD
from flows.runners import run_name, task_runner
from flows.sitting import Sitting, sit
from tasks.ingest.family import Ingested, remembered_sources
from tasks.ingest.ideas import extract_ideas, ingest_ideas
from tasks.ingest.pairs import ingest_pairs
from tasks.ingest.tasks import ingest_task, refuse_twins

AT_ONCE = 2
"""Papers that are built at a time."""


RUNNER: Any = task_runner(AT_ONCE)


@flow(name="ingest", flow_run_name=run_name, task_runner=RUNNER)
def ingest(
    suite: str,
    set_fields: list[str] | None = None,
    store_url: str | None = None,
    retry: list[str] | None = None,
    run_id: str | None = None,
) -> list[State[Any]] | State[Any]:
    """Take in the sources of a suite; what is there already is not built again.

    Args:
        suite: name of a shipped suite, or path of a suite file.
        set_fields: overrides as a.b=value.
        store_url: where everything is remembered; by default .evenhand/store.duckdb.
        retry: reasons of exclusions to try again although they are final, e.g. does_not_build.
        run_id: the run this belongs to; None for a run of its own.
    """
    sitting = sit(suite, set_fields, store_url, run_id)
    if sitting.suite.benchmark == "judge_bias":
        return ingest_suite_pairs(sitting)
    if sitting.suite.benchmark == "sci_style" and sitting.suite.families.extractor is None:
        return ingest_suite_ideas(sitting)
    papers = as_papers(sitting.suite)
    sitting.store.append(*human_scores(papers))
    sources = sources_of(papers)
    BOARD.start("ingest", len(sources))
    known: list[Ingested | None] = [None] * len(sources) if retry else remembered_sources(sitting.store, sources)
    futures = [
        ingest_task.submit(
            sitting.store.url, source, sitting.run_id, tuple(retry or ()), known=one if _is_final(one) else None
        )
        for source, one in zip(sources, known, strict=True)
    ]
    states: list[State[Any]] = []
    for future in futures:
        future.wait()
        name = future.state.name
        BOARD.advance("ingest", cached=int(name == "Cached"), failed=int(name not in ("Cached", "Completed")))
        states.append(future.state)
    BOARD.end("ingest")
    sitting.store.flush()
    refuse_twins(
        [one for one in (state.result(raise_on_failure=False) for state in states) if isinstance(one, Ingested)]
    )
    if sitting.suite.benchmark == "sci_style":
        extract_ideas(sitting.store, sitting.engine(), papers_of(sitting.suite, sitting.store),
                      extractor_of(sitting.suite), sitting.run_id)
        sitting.store.flush()
    return states or Completed(message="no sources")


def _is_final(known: Ingested | None) -> bool:
    """Whether nothing is to do for a source: it is a family, or it was excluded for good."""
    return known is not None and known.step.outcome != "failed"


def ingest_suite_pairs(sitting: Sitting) -> State[Any]:
    """Take in the pairs of a judge_bias suite: reading and checking, no work of its own worth a task."""
    named = named_pairs(sitting.suite)
    BOARD.start("ingest", len(named))
    families = ingest_pairs(sitting.store, named)
    BOARD.advance("ingest", len(named))
    BOARD.end("ingest")
    sitting.store.flush()
    return Completed(message=f"{len(families)} pairs")


def ingest_suite_ideas(sitting: Sitting) -> State[Any]:
    """Take in the ideas of a sci_style suite: reading and checking, no work of its own worth a task."""
    named = named_ideas(sitting.suite)
    BOARD.start("ingest", len(named))
    families = ingest_ideas(sitting.store, named)
    BOARD.advance("ingest", len(named))
    BOARD.end("ingest")
    sitting.store.flush()
    return Completed(message=f"{len(families)} ideas")
