"""Judge: every configuration scores every version it is to judge; shard by shard, resuming by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prefect import allow_failure, flow
from prefect.futures import PrefectFuture
from prefect.states import Completed, State

from flows.embedding import embed_records
from flows.grid import Grid, judged_by
from flows.numbers import judged
from flows.progress import BOARD, Spent
from flows.runners import is_deployed, run_name, task_runner
from flows.sitting import Sitting, sit
from flows.suites import Suite
from storage.store import Store
from storage.vocabulary import Outcome
from tasks.judge.protocols import Configuration
from tasks.judge.shards import ShardOrder, wanted_cells
from tasks.judge.tasks import judge_shard_task
from tasks.metrics.analyses.spec import EmbeddingSeparation
from tasks.models.engine import Engine

SHARDS_AT_ONCE = 16
"""Threads that wait for shards; how many calls are in flight is each endpoint's matter."""


def shard_orders(
    suite: Suite, grid: Grid, run_id: str | None, retry: Sequence[Outcome] = ()
) -> list[tuple[ShardOrder, int]]:
    """The shards of a suite and how many cells each has: one configuration over a group of whole families."""
    orders: list[tuple[ShardOrder, int]] = []
    size = suite.judge.families_per_shard
    for configuration in suite.judge.all_configurations():
        by_family: dict[str, list[str]] = {}
        for version in judged_by(configuration, grid):
            by_family.setdefault(version.family.family, []).append(version.version.key)
        names = list(by_family)
        for start in range(0, len(names), size):
            keys = [key for name in names[start : start + size] for key in by_family[name]]
            cells = len(keys) * (configuration.repeats or suite.judge.repeats)
            orders.append((_order(suite, configuration, grid, keys, run_id, retry), cells))
    return orders


def _order(
    suite: Suite,
    configuration: Configuration,
    grid: Grid,
    keys: list[str],
    run_id: str | None,
    retry: Sequence[Outcome],
) -> ShardOrder:
    return ShardOrder(
        configuration=configuration,
        endpoint=suite.judge.endpoints[configuration.endpoint],
        versions=tuple(grid.references[key] for key in dict.fromkeys(keys)),
        repeats=suite.judge.repeats,
        run_id=run_id,
        retry=tuple(retry),
    )


def settled_cells(store: Store, orders: Sequence[ShardOrder]) -> list[int]:
    """For each shard how many cells it has when all of them are settled, else 0: one anti-join for all shards."""
    keys = [
        {cell.key for cell in wanted_cells(order.configuration, order.endpoint, order.versions, order.repeats)}
        for order in orders
    ]
    retry = orders[0].retry if orders else ()
    missing = set(store.missing("judgements", [key for own in keys for key in own], retry=retry))
    return [0 if own & missing else len(own) for own in keys]


def questions(order: ShardOrder) -> list[str]:
    """What a shard asks, whatever its configuration is called: two with one in common may ask the same."""
    configuration = order.configuration
    asked = configuration.way().questions(configuration.manner(order.endpoint))
    return [question + order.versions[0].family_key for question in asked]


def _outcomes(retry: Sequence[str] | None) -> list[Outcome]:
    """The outcomes among what is to be tried again; reasons of exclusions are the other stages' matter."""
    return [Outcome(name) for name in retry or () if name in Outcome.__members__]


def _spent(engine: Engine) -> Spent:
    counters = engine.counters
    usd = None if counters.unpriced else counters.usd
    return Spent(counters.calls, counters.input_tokens + counters.output_tokens, usd, counters.in_flight)


RUNNER: Any = task_runner(SHARDS_AT_ONCE)


@flow(name="judge", flow_run_name=run_name, task_runner=RUNNER)
def judge(
    suite: str,
    set_fields: list[str] | None = None,
    store_url: str | None = None,
    retry: list[str] | None = None,
    run_id: str | None = None,
) -> list[State[Any]] | State[Any]:
    """Score every version with every configuration of a suite; what is judged already is not judged again.

    Args:
        suite: name of a shipped suite, or path of a suite file.
        set_fields: overrides as a.b=value.
        store_url: where everything is remembered; by default .evenhand/store.duckdb.
        retry: outcomes to ask again although they are final, e.g. refused, unparsable.
        run_id: the run this belongs to; None for a run of its own.
    """
    sitting: Sitting = sit(suite, set_fields, store_url, run_id)
    orders = shard_orders(sitting.suite, sitting.grid(), sitting.run_id, _outcomes(retry))
    settled = settled_cells(sitting.store, [order for order, _ in orders])
    engine = sitting.engine()
    BOARD.watch_spending(lambda: _spent(engine))
    BOARD.start("judge", sum(cells for _, cells in orders))
    futures: list[tuple[PrefectFuture[Any], int]] = []
    by_question: dict[str, list[Any]] = {}
    for (order, cells), there in zip(orders, settled, strict=True):
        # Two configurations that ask the same question take turns: the second finds the first one's answers.
        own = questions(order)
        earlier = [future for question in own for future in by_question.get(question, [])]
        future = judge_shard_task.submit(
            sitting.store.url,
            # Prefect looks through all that a task is given: a settled shard need not carry its versions.
            order.model_copy(update={"versions": ()}) if there else order,
            is_shared=is_deployed(),
            settled=there,
            wait_for=[] if there else earlier,
            return_state=False,
        )
        for question in own:
            by_question.setdefault(question, []).append(allow_failure(future))
        futures.append((future, cells))
    states: list[State[Any]] = []
    for future, cells in futures:
        future.wait()
        cached = cells if future.state.name == "Cached" else 0
        BOARD.advance("judge", cells, cached=cached, failed=0 if future.state.is_completed() else 1)
        states.append(future.state)
    wanted = [spec for spec in sitting.suite.analyses if isinstance(spec, EmbeddingSeparation) and spec.endpoint]
    if wanted:
        embed_records(sitting, judged(sitting.suite, sitting.store, sitting.grid()).cells, wanted)
    BOARD.end("judge")
    sitting.store.flush()
    return states or Completed(message="no versions to judge")
