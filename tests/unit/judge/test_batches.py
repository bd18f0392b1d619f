"""Batch endpoints: answers land as ordinary calls; a batch that was paid for is found again, whenever its process died."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Sequence
from concurrent.futures import CancelledError
from typing import Any

import pytest

from storage.records import Call, Judgement, Step
from storage.store import Store
from storage.vocabulary import Outcome
from tasks.judge.cells import VersionRef
from tasks.judge.protocols import Configuration
from tasks.judge.shards import ShardOrder, ShardReport, judge_shard
from tasks.models import transports
from tasks.models.batches import item_name
from tasks.models.endpoints import EndpointSpec
from tasks.models.engine import Engine
from tasks.models.outcomes import Usage
from tasks.models.prices import cost_usd
from tests.fakes.fake_batches import BatchService, Connection, chat_body
from tests.unit.judge.conftest import REVIEW

ENDPOINT = EndpointSpec(name="batch", kind="local", batch=True, attempts=2, max_in_flight=50, batch_linger_s=0.4,
                        batch_poll_s=0.05)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> BatchService:
    """The batch service's other side."""
    made = BatchService(lambda body: chat_body(json.dumps(REVIEW)))
    monkeypatch.setitem(transports._registered, "local", lambda: Connection(made))
    return made


def judge(store: Store, versions: Sequence[VersionRef], engine: Engine | None = None, number: int = 0,
          repeats: int = 1) -> ShardReport:
    """One shard; every engine with an endpoint of its own number remembers nothing of the others."""
    endpoint = ENDPOINT.model_copy(update={"timeout_s": 100.0 + number})
    configuration = Configuration(name="c", endpoint="batch", model="m", protocol="standard")
    return judge_shard(store, engine or Engine(store, f"run-{number}"), ShardOrder(
        configuration=configuration, endpoint=endpoint, versions=tuple(versions), repeats=repeats))


def test_a_shard_is_one_batch_and_its_answers_are_ordinary_calls(
    store: Store, versions: list[VersionRef], service: BatchService
) -> None:
    report = judge(store, versions, repeats=2, number=1)
    assert report.outcomes == {"answered": 8}
    # One, or two where this machine was slow to ask: never one a request.
    made = len(service.batches)
    assert made <= 2 and len(set(service.items)) == len(service.items) == 8
    batch = service.batches["batch-0"]
    assert (batch["endpoint"], batch["completion_window"]) == ("/v1/chat/completions", "24h")
    calls = store.load(Call, view=False)
    assert len(calls) == 8 and all(call.outcome is Outcome.answered and call.input_tokens == 100 for call in calls)
    assert {item_name(call.key, 0) for call in calls} == set(service.items)
    assert judge(store, versions, repeats=2, number=2).is_cached
    assert len(service.batches) == made


def test_a_bad_answer_is_sent_again_as_another_item(
    store: Store, versions: list[VersionRef], service: BatchService
) -> None:
    said = iter(["no review", json.dumps(REVIEW)])
    service.answer = lambda body: chat_body(next(said))
    assert judge(store, versions[:1], number=3).outcomes == {"answered": 1}
    assert [item.rpartition("-")[2] for item in service.items] == ["0", "1"]


def test_an_item_without_a_response_fails_in_a_typed_way(
    store: Store, versions: list[VersionRef], service: BatchService
) -> None:
    service.answer = lambda body: None
    assert judge(store, versions[:1], number=4).outcomes == {"provider_error": 1}
    service.answer = lambda body: chat_body(json.dumps(REVIEW))
    assert judge(store, versions[:1], number=5).outcomes == {"answered": 1}


def dying(service: BatchService, store: Store, versions: Sequence[VersionRef], until: Any, number: int) -> None:
    """A process that dies once ``until`` holds: it hears nothing any more."""
    engine = Engine(store, f"run-{number}")

    def process() -> None:
        # At the end of the tests its waiting is cancelled.
        with contextlib.suppress(CancelledError):
            judge(store, versions, engine, number)

    threading.Thread(target=process, daemon=True).start()
    limit = time.monotonic() + 20
    while not until() and time.monotonic() < limit:
        time.sleep(0.02)
    assert until()
    service.generation += 1


def dying_with_a_batch_under_way(
    service: BatchService, store: Store, versions: Sequence[VersionRef], number: int
) -> None:
    """A process that dies when all four cells are in batches that it has noted and that go on without it."""
    service.is_done = False
    dying(service, store, versions,
          lambda: len(service.items) == 4 and batches_stored(store) == len(service.batches), number)
    service.is_done = True


def batches_stored(store: Store) -> int:
    return sum(step.step == "batch" for step in store.load(Step, view=False))


def test_the_next_process_finds_the_batch_of_one_that_died(
    store: Store, versions: list[VersionRef], service: BatchService
) -> None:
    dying_with_a_batch_under_way(service, store, versions, number=6)
    made = len(service.batches)
    assert store.load(Judgement) == []
    judge(store, versions, number=7)
    assert [judgement.outcome for judgement in store.load(Judgement)] == ["answered"] * 4
    assert len(service.batches) == made and len(service.items) == 4


def test_an_answer_that_was_taken_and_not_stored_is_taken_again(
    store: Store, versions: list[VersionRef], service: BatchService
) -> None:
    """The process died between noting that an item was delivered and the call."""
    dying_with_a_batch_under_way(service, store, versions, number=12)
    for item in service.items:
        store.append(Step(key=f"died-{item}", step="batch_item", outcome="done",
                          output={"base_url": ENDPOINT.identity, "item": item}))
    assert judge(store, versions, number=13).outcomes == {"answered": 4}
    assert len(service.items) == 4


def test_a_batch_whose_id_was_never_heard_of_is_found_by_its_file(
    store: Store, versions: list[VersionRef], service: BatchService
) -> None:
    service.drops_reply_to = "/batches"
    assert judge(store, versions, number=8).outcomes == {"provider_error": 4}
    made = len(service.batches)
    assert made >= 1 and batches_stored(store) == 0
    service.drops_reply_to = None
    assert judge(store, versions, number=9).outcomes == {"answered": 4}
    assert len(service.batches) == made


def test_a_service_that_cannot_be_read_now_costs_nothing_twice(
    store: Store, versions: list[VersionRef], service: BatchService
) -> None:
    service.fails["/batches/batch-0"] = 503
    service.fails["/batches/batch-1"] = 503
    assert judge(store, versions, number=10).outcomes == {"provider_error": 4}
    made = len(service.batches)
    del service.fails["/batches/batch-1"]
    del service.fails["/batches/batch-0"]
    assert judge(store, versions, number=11).outcomes == {"answered": 4}
    assert len(service.batches) == made and len(service.items) == 4


def test_a_batch_costs_half_and_asks_the_same_question() -> None:
    plain = EndpointSpec(base_url="https://api.openai.com/v1")
    batch = plain.model_copy(update={"batch": True})
    usage = Usage(input=1000, output=1000)
    full = cost_usd(plain, "gpt-4o", usage)
    assert full is not None and cost_usd(batch, "gpt-4o", usage) == pytest.approx(full / 2)
    configuration = Configuration(name="c", endpoint="e", model="m", protocol="standard")
    assert configuration.way().questions(configuration.manner(plain)) == configuration.way().questions(
        configuration.manner(batch))
    assert EndpointSpec(base_url="https://x.invalid", batch=True).max_in_flight == 4096
