"""The canary: a few frozen versions that every judge is asked about anew each night, to see whether the judge moved.

Here belongs which versions those are and the asking. Repeats of a night have numbers of their own, so that nothing is
answered from memory and nothing is asked twice within a night; the comparison is ``tasks.metrics.drift``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
from prefect import flow
from prefect.states import Completed, State

from flows.grid import LabelledVersion
from flows.runners import is_deployed, run_name, task_runner
from flows.sitting import Sitting, sit
from storage.keys import step_key
from storage.records import Step
from storage.vocabulary import ORIGINAL
from tasks.judge.cells import VersionRef, version_refs
from tasks.judge.protocols import PROTOCOLS
from tasks.judge.shards import ShardOrder, wanted_cells
from tasks.judge.tasks import judge_shard_task

STEP = "canary"
FIRST_REPEAT = 1_000_000
"""Repeats of suites stay below."""
VERSIONS_EACH = 4
"""Of a family: the original and the first rewrites."""
SHARDS_AT_ONCE = 16


def _chosen(versions: Sequence[LabelledVersion], families: int) -> list[str]:
    names = sorted({version.family.family for version in versions})[:families]
    keys: list[str] = []
    for name in names:
        own = sorted(
            (v for v in versions if v.family.family == name),
            key=lambda v: (v.condition != ORIGINAL, v.condition, v.producer),
        )
        seen = {v.version.text_hash: v.version.key for v in reversed(own)}
        distinct = [v.version.key for v in own if seen[v.version.text_hash] == v.version.key]
        keys += distinct[:VERSIONS_EACH]
    return keys


def frozen(sitting: Sitting, families: int) -> list[VersionRef]:
    """The canary's versions: chosen on the first night, the same ever after, whatever becomes of the suite's papers.

    Args:
        sitting: the suite and its store.
        families: how many families it is taken from, when it is chosen.
    """
    key = step_key(STEP, 1, suite=sitting.suite.name, families=families)
    known = sitting.store.load(Step, [key])
    if known:
        return version_refs(sitting.store, known[0].output["versions"])
    chosen = _chosen(sitting.grid().versions, families)
    if chosen:
        step = Step(key=key, step=STEP, outcome="done", output={"versions": chosen}, run_id=sitting.run_id)
        sitting.store.append(step)
    return version_refs(sitting.store, chosen)


def canary_orders(sitting: Sitting, versions: Sequence[VersionRef], night: int, repeats: int) -> list[ShardOrder]:
    """One shard a configuration; the embedded model is left out: its weights lie here and cannot move.

    Args:
        sitting: the suite and its run.
        versions: the frozen ones.
        night: 0, 1, 2 ...; each has its own repeats.
        repeats: how often a version is asked about in a night.
    """
    first = FIRST_REPEAT + night * repeats
    tonight = tuple(version.model_copy(update={"first_repeat": first}) for version in versions)
    wanted = [c for c in sitting.suite.judge.all_configurations()
              if sitting.suite.judge.endpoints[c.endpoint].kind != "local" and not PROTOCOLS[c.protocol].is_about_pairs]
    return [
        ShardOrder(
            configuration=configuration,
            endpoint=sitting.suite.judge.endpoints[configuration.endpoint],
            versions=tonight,
            repeats=repeats,
            run_id=sitting.run_id,
        )
        for configuration in wanted
    ]


RUNNER: Any = task_runner(SHARDS_AT_ONCE)


@flow(name="canary", flow_run_name=run_name, task_runner=RUNNER)
def canary(
    suite: str,
    store_url: str | None = None,
    run_id: str | None = None,
    night: int = 0,
    families: int = 4,
    repeats: int = 1,
) -> State[Any]:
    """Ask every judge of a suite about the frozen versions anew.

    Args:
        suite: name of a shipped suite, or path of a suite file.
        store_url: where everything is remembered; by default .evenhand/store.duckdb.
        run_id: the run this belongs to; None for a run of its own.
        night: 0, 1, 2 ...; the same number again asks only what is missing.
        families: how many families the versions are taken from, on the first night.
        repeats: how often each version is asked about.
    """
    sitting = sit(suite, None, store_url, run_id)
    sitting.engine()
    orders = canary_orders(sitting, frozen(sitting, families), night, repeats)
    futures = [
        judge_shard_task.submit(sitting.store.url, order, is_shared=is_deployed(), return_state=False)
        for order in orders
        if order.versions
    ]
    for future in futures:
        future.wait()
    sitting.store.flush()
    scores, models = read_canary(sitting, orders)
    failed = sum(not future.state.is_completed() for future in futures)
    told = f"{len(scores)} of {len(orders)} judges asked about {len(orders[0].versions) if orders else 0} versions"
    name = "Completed with gaps" if failed else None
    return Completed(message=told, name=name, data={"scores": scores, "models": models})


def read_canary(
    sitting: Sitting, orders: Sequence[ShardOrder]
) -> tuple[dict[str, dict[str, float]], dict[str, list[str]]]:
    """What is stored of these orders: configuration -> version -> mean score, and -> the model names that answered."""
    rows = [
        (order.configuration.name, cell.version.key, cell.key)
        for order in orders
        for cell in wanted_cells(order.configuration, order.endpoint, order.versions, order.repeats)
    ]
    wanted = pl.DataFrame(rows, schema=["configuration", "item", "key"], orient="row")
    if wanted.is_empty():
        return {}, {}
    found = sitting.store.query(
        "SELECT w.configuration, w.item, avg(j.scores['overall']) AS score, list(DISTINCT c.resolved_model) AS models "
        "FROM wanted w JOIN judgements_best j ON j.key = w.key "
        "LEFT JOIN calls c ON list_contains(j.attempt_ids, c.attempt_id) "
        "WHERE j.outcome = 'answered' GROUP BY ALL ORDER BY ALL",
        frames={"wanted": wanted},
    )
    scores: dict[str, dict[str, float]] = {}
    models: dict[str, set[str]] = {}
    for configuration, item, score, names in found.iter_rows():
        if score is not None:
            scores.setdefault(configuration, {})[item] = score
        models.setdefault(configuration, set()).update(name for name in names or () if name)
    return scores, {name: sorted(names) for name, names in models.items()}
