"""The engine against the mock endpoint: every fault it can draw, limits, one loop a process, and a clean end."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import orjson
import pytest

from storage.records import Call
from storage.vocabulary import Outcome
from tasks.models.asks import Ask, Message, Part
from tasks.models.budget import Budget
from tasks.models.endpoints import EndpointSpec
from tasks.models.engine import Engine, engine_for
from tasks.models.loop import shared_loop

pytestmark = pytest.mark.usefixtures("quick")

SCHEMA = {
    "type": "object",
    "properties": {"rating": {"type": "integer", "minimum": 1, "maximum": 10}},
    "required": ["rating"],
    "additionalProperties": False,
}


def read(call: Call) -> Outcome:
    """A strict reading of the answer."""
    try:
        rating = orjson.loads(call.answer or "")["rating"]
    except (orjson.JSONDecodeError, KeyError):
        return Outcome.unparsable
    if not isinstance(rating, int):
        return Outcome.unparsable
    return Outcome.answered if 1 <= rating <= 10 else Outcome.out_of_range


def asks(store, endpoint, count: int, label: str = "paper", **more) -> list[Ask]:
    """Distinct questions."""
    return [
        Ask.at(
            endpoint,
            "m",
            (Message(role="user", parts=(Part(hash=store.put_text(f"{label} {i}")),)),),
            response_schema=SCHEMA,
            **more,
        )
        for i in range(count)
    ]


def see_through(engine: Engine, endpoint: EndpointSpec, wanted: list[Ask], width: int = 64) -> list[Call]:
    """All the calls, in the order of the asks."""
    return engine.run(engine.gather(wanted, lambda ask: engine.ask(ask, endpoint, read), width))


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_both_apis_are_answered_and_remembered(server, store, api):
    endpoint = EndpointSpec(base_url=server.base_url, api=api)
    engine = Engine(store, "run")
    wanted = asks(store, endpoint, 20)
    calls = see_through(engine, endpoint, wanted)
    assert [read(call) for call in calls] == [Outcome.answered] * 20
    assert [call.key for call in calls] == [ask.key for ask in wanted]
    rows = {row.attempt_id: row for row in store.load(Call, [ask.key for ask in wanted])}
    assert rows == {call.attempt_id: call for call in calls}
    assert engine.counters.answered == 20 and engine.counters.in_flight == 0
    assert engine.counters.input_tokens == sum(call.input_tokens for call in calls)


TRANSIENT = [
    "429-noheader",
    "500",
    "503",
    "reset",
    "truncated",
    "empty",
    "null",
    "prose",
    "badschema",
    "outofrange",
    "stringnum",
    "html",
]


@pytest.mark.parametrize("fault", TRANSIENT)
@pytest.mark.parametrize("api", ["chat", "responses"])
def test_a_fault_that_passes_costs_an_attempt_and_no_answer(server, store, fault, api):
    server.faults(**{fault: 0.3})
    endpoint = EndpointSpec(base_url=server.base_url, api=api, attempts=12)
    calls = see_through(Engine(store, "run"), endpoint, asks(store, endpoint, 12, fault))
    assert [read(call) for call in calls] == [Outcome.answered] * 12
    rows = store.load(Call, view=False)
    assert len(rows) == server.stats()["requests"]


PERMANENT = [("refusal", Outcome.refused), ("context", Outcome.context_too_long)]


@pytest.mark.parametrize(("fault", "outcome"), PERMANENT)
@pytest.mark.parametrize("api", ["chat", "responses"])
def test_a_fault_that_stays_is_recorded_once(server, store, fault, outcome, api):
    server.faults(**{fault: 1})
    endpoint = EndpointSpec(base_url=server.base_url, api=api)
    calls = see_through(Engine(store, "run"), endpoint, asks(store, endpoint, 8, fault))
    assert {call.outcome for call in calls} == {outcome}
    assert server.stats()["requests"] == 8 == len(store.load(Call, view=False))


def test_a_hang_times_out_and_is_asked_again(server, store):
    server.faults(hang=0.5)
    endpoint = EndpointSpec(base_url=server.base_url, timeout_s=0.3, attempts=15)
    calls = see_through(Engine(store, "run"), endpoint, asks(store, endpoint, 6))
    assert {call.outcome for call in calls} == {Outcome.answered}
    assert {row.outcome for row in store.load(Call, view=False)} == {Outcome.answered, Outcome.timed_out}


def test_a_refused_key_stops_early(server, store):
    server.faults(auth=1)
    endpoint = EndpointSpec(base_url=server.base_url, headers={"X-Who": "a limiter of its own"})
    calls = see_through(Engine(store, "run"), endpoint, asks(store, endpoint, 100))
    assert {call.outcome for call in calls} == {Outcome.unauthorised}
    assert server.stats()["requests"] == 3
    server.faults()
    calls = see_through(engine_for(store, "next run"), endpoint, asks(store, endpoint, 5))
    assert {call.outcome for call in calls} == {Outcome.answered}


def test_a_retry_after_is_waited_for(server, store):
    server.faults(**{"429": 1})
    endpoint = EndpointSpec(base_url=server.base_url)
    engine = Engine(store, "run")
    (ask,) = asks(store, endpoint, 1)
    threading.Timer(0.5, server.faults).start()
    started = time.monotonic()
    call = engine.run(engine.ask(ask, endpoint, read))
    assert call.outcome is Outcome.answered and time.monotonic() - started >= 1.0


def test_never_more_in_flight_than_allowed(server, store):
    endpoint = EndpointSpec(base_url=server.base_url, max_in_flight=16)
    engine = Engine(store, "run")
    calls = see_through(engine, endpoint, asks(store, endpoint, 400), width=400)
    assert {call.outcome for call in calls} == {Outcome.answered}
    assert server.stats()["inflight_peak"] <= 16 and engine.peak_in_flight(endpoint) <= 16


def test_several_threads_share_one_limit(server, store):
    endpoint = EndpointSpec(base_url=server.base_url, max_in_flight=8, attempts=7)
    engine = engine_for(store, "run")
    done: list[Call] = []

    def shard(label: str) -> None:
        own = engine_for(store, "run")
        assert own is engine
        done.extend(see_through(own, endpoint, asks(store, endpoint, 40, label)))

    threads = [threading.Thread(target=shard, args=(f"shard {i}",)) for i in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 200 and server.stats()["inflight_peak"] <= 8


def test_a_run_has_one_engine_and_other_runs_others(store):
    budget = Budget(tokens=5)
    engine = engine_for(store, "a", budget)
    assert engine_for(store, "a") is engine and engine.budget is budget
    assert engine_for(store, "b") is not engine


def test_results_come_in_the_order_of_the_items_and_never_too_many_at_once(store):
    engine = Engine(store)
    running = peak = 0

    async def work(item: int) -> int:
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        await asyncio.sleep(0.001 * (item % 3))
        running -= 1
        return item * 2

    assert engine.run(engine.gather(range(300), work, 7)) == [2 * i for i in range(300)]
    assert peak == 7


def test_the_first_error_stops_the_rest(store):
    engine = Engine(store)
    begun = []

    async def work(item: int) -> int:
        begun.append(item)
        if item == 3:
            raise ValueError("third")
        await asyncio.sleep(0.01)
        return item

    with pytest.raises(ValueError, match="third"):
        engine.run(engine.gather(range(1000), work, 4))
    assert len(begun) < 10


def test_an_ask_for_another_endpoint_is_refused(server, store):
    endpoint = EndpointSpec(base_url=server.base_url)
    (ask,) = asks(store, EndpointSpec(base_url="http://127.0.0.1:1/v1"), 1)
    engine = Engine(store)
    with pytest.raises(ValueError, match="endpoint"):
        engine.run(engine.ask(ask, endpoint))


def test_the_loop_cannot_wait_for_itself(store):
    engine = Engine(store)

    async def inner() -> int:
        return 1

    async def outer() -> int:
        return engine.run(inner())

    with pytest.raises(RuntimeError, match="wait for itself"):
        engine.run(outer())


def test_nobody_listening_is_a_failure_that_passes(store):
    endpoint = EndpointSpec(base_url="http://127.0.0.1:9/v1", attempts=2)
    calls = see_through(Engine(store, "run"), endpoint, asks(store, endpoint, 3))
    assert {call.outcome for call in calls} == {Outcome.provider_error}
    assert all(call.attempt == 2 and call.http_status is None for call in calls)


SCRIPT = """
import sys
from storage.store import open_store
from tasks.models.asks import Ask, Message, Part
from tasks.models.endpoints import EndpointSpec
from tasks.models.engine import engine_for
store = open_store(sys.argv[1])
endpoint = EndpointSpec(base_url=sys.argv[2])
engine = engine_for(store, "run")
def ask(i):
    return Ask.at(endpoint, "m", (Message(role="user", parts=(Part(hash=store.put_text(f"p{i}")),)),))
print("begin", flush=True)
calls = engine.run(engine.gather(range(int(sys.argv[3])), lambda i: engine.ask(ask(i), endpoint), 16))
print(len(calls), flush=True)
"""


def start(tmp_path, server, count: int) -> subprocess.Popen:
    """A process that asks ``count`` questions."""
    command = [sys.executable, "-W", "always::ResourceWarning", "-c", textwrap.dedent(SCRIPT)]
    command += [str(tmp_path / "store.duckdb"), server.base_url, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_process_ends_without_noise(tmp_path, server):
    process = start(tmp_path, server, 30)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0 and out.split() == ["begin", "30"]
    assert err == ""


def test_an_interrupt_drops_what_is_in_flight_and_keeps_what_was_answered(tmp_path, server, store):
    process = start(tmp_path, server, 100_000)
    assert process.stdout.readline() == "begin\n"
    deadline = time.monotonic() + 30
    while server.stats()["served"] < 50 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode in (1, 130, -signal.SIGINT)
    assert err.strip().endswith("KeyboardInterrupt") and err.count("Traceback") == 1
    for noise in ("Unclosed", "unclosed", "never retrieved", "loop is closed", "was destroyed"):
        assert noise not in err
    served = server.stats()["served"]
    kept = store.query("SELECT count(*) AS n FROM calls WHERE outcome = 'answered'").item()
    assert served - 16 <= kept <= served


def test_a_forked_child_has_a_loop_of_its_own():
    before = shared_loop()
    pid = os.fork()
    if pid == 0:

        async def one() -> int:
            return 7

        child = shared_loop()
        fine = child is not before and child.run(one()) == 7
        os._exit(0 if fine else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert shared_loop() is before
