"""Limits are never exceeded, pauses are honoured, a closed endpoint costs nothing (field bugs B87, B88, B89)."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.vocabulary import Outcome
from tasks.models.endpoints import EndpointSpec
from tasks.models.limiter import Closed, Limiter
from tasks.models.outcomes import Reply, Usage
from tasks.models.throttle import Throttle
from tests.fakes.clock import run_virtually

GOOD = Reply(Outcome.answered, answer="x", http_status=200, usage=Usage(10, 10))


def spec(**more) -> EndpointSpec:
    return EndpointSpec(base_url="http://h/v1", **more)


def limited(wait: float | None) -> Reply:
    return Reply(Outcome.rate_limited, http_status=429, retry_after_s=wait, overloaded=True, error="429")


class Server:
    """Counts what is open; ``reply`` says what comes back at which time."""

    def __init__(self, limiter: Limiter, reply=lambda now, open_: GOOD, seconds: float = 1.0) -> None:
        self.limiter, self.reply, self.seconds = limiter, reply, seconds
        self.open = self.peak = 0
        self.starts: list[float] = []

    async def call(self, model: str = "m", tokens: int = 20) -> Outcome:
        try:
            ticket = await self.limiter.admit(model, tokens)
        except Closed as closed:
            return closed.outcome
        loop = asyncio.get_running_loop()
        self.starts.append(loop.time())
        self.open += 1
        self.peak = max(self.peak, self.open)
        held = self.open
        await asyncio.sleep(self.seconds * random.uniform(0.5, 1.5))
        self.open -= 1
        reply = self.reply(loop.time(), held)
        self.limiter.settle(ticket, reply)
        return reply.outcome


def test_never_more_in_flight_than_allowed_and_all_get_through():
    async def go():
        server = Server(Limiter(spec(max_in_flight=16)))
        outcomes = await asyncio.gather(*(server.call() for _ in range(400)))
        return server, outcomes

    server, outcomes = run_virtually(go())
    assert server.peak == 16 == server.limiter.peak
    assert outcomes == [Outcome.answered] * 400
    assert server.limiter.in_flight == 0


def test_the_first_request_goes_alone():
    async def go():
        server = Server(Limiter(spec(max_in_flight=16)))
        await asyncio.gather(*(server.call() for _ in range(40)))
        return sorted(server.starts)

    starts = run_virtually(go())
    assert starts[1] - starts[0] >= 0.5


def test_an_empty_account_costs_one_call():
    async def go():
        gone = Reply(Outcome.quota_gone, http_status=429, error="429 insufficient_quota")
        server = Server(Limiter(spec(max_in_flight=16)), lambda now, held: gone)
        outcomes = await asyncio.gather(*(server.call(f"m{i % 4}") for i in range(200)))
        return server, outcomes, asyncio.get_running_loop().time()

    server, outcomes, now = run_virtually(go())
    assert len(server.starts) == 1
    assert outcomes == [Outcome.quota_gone] * 200
    assert now < 2


def test_a_refused_key_costs_three_calls_and_a_new_run_tries_again():
    async def go():
        refused = Reply(Outcome.unauthorised, http_status=401, error="401")
        server = Server(Limiter(spec(max_in_flight=16)), lambda now, held: refused)
        outcomes = [await server.call() for _ in range(50)]
        before = len(server.starts)
        server.limiter.reopen()
        server.reply = lambda now, held: GOOD
        return outcomes, before, await server.call()

    outcomes, before, after = run_virtually(go())
    assert set(outcomes) == {Outcome.unauthorised} and before == 3
    assert after is Outcome.answered


def test_a_wait_is_honoured_by_everybody_who_asks_that_model():
    async def go():
        server = Server(Limiter(spec(max_in_flight=4)), lambda now, held: limited(70) if now < 5 else GOOD)
        await server.call("slow")
        started = asyncio.get_running_loop().time()
        server.starts.clear()
        await asyncio.gather(server.call("slow"), server.call("slow"))
        return min(server.starts) - started

    assert run_virtually(go()) >= 70


def test_a_pause_of_one_model_leaves_the_others_alone():
    async def go():
        server = Server(Limiter(spec(max_in_flight=4)), lambda now, held: limited(70))
        await server.call("slow")
        server.reply = lambda now, held: GOOD
        at = asyncio.get_running_loop().time()
        waiting = asyncio.create_task(server.call("slow"))
        await server.call("quick")
        quick = asyncio.get_running_loop().time() - at
        await waiting
        return quick, asyncio.get_running_loop().time() - at

    quick, slow = run_virtually(go())
    assert quick < 2 and slow >= 70


def test_a_wait_above_the_cap_closes_the_model_until_then():
    async def go():
        server = Server(Limiter(spec(max_in_flight=4)), lambda now, held: limited(300))
        first = await server.call()
        rest = await asyncio.gather(*(server.call() for _ in range(100)))
        calls = len(server.starts)
        await asyncio.sleep(305)
        server.reply = lambda now, held: GOOD
        return first, rest, calls, await server.call()

    first, rest, calls, later = run_virtually(go())
    assert first is Outcome.rate_limited and set(rest) == {Outcome.rate_limited} and calls == 1
    assert later is Outcome.answered


@pytest.mark.parametrize(
    "reply",
    [
        limited(None),
        Reply(Outcome.provider_error, error="refused"),
        Reply(Outcome.provider_error, http_status=503, overloaded=True, error="503"),
    ],
)
def test_an_overloaded_server_gets_less_and_then_more_again(reply):
    async def go():
        limiter = Limiter(spec(max_in_flight=64))
        server = Server(limiter, lambda now, held: reply if held > 16 else GOOD)

        async def stubborn():
            while await server.call() is not Outcome.answered:
                await asyncio.sleep(1)

        await asyncio.gather(*(stubborn() for _ in range(1500)))
        low = limiter.capacity
        server.reply = lambda now, held: GOOD
        await asyncio.gather(*(server.call() for _ in range(4000)))
        return low, limiter.capacity, server.peak

    low, high, peak = run_virtually(go())
    assert low < 32 and high == 64 and peak <= 64


def test_scattered_failures_do_not_slow_everybody_down():
    async def go():
        dice = random.Random(1)
        limiter = Limiter(spec(max_in_flight=64))
        server = Server(limiter, lambda now, held: limited(None) if dice.random() < 0.05 else GOOD)
        await asyncio.gather(*(server.call() for _ in range(3000)))
        return limiter.capacity

    assert run_virtually(go()) > 32


def test_requests_a_minute_are_never_exceeded():
    async def go():
        server = Server(Limiter(spec(max_in_flight=64, rpm=120)))
        await asyncio.gather(*(server.call() for _ in range(500)))
        return server.starts

    assert worst_minute([(start, 1) for start in run_virtually(go())]) <= 120


def test_cancelled_waiters_leave_no_hole():
    async def go():
        server = Server(Limiter(spec(max_in_flight=2)))
        tasks = [asyncio.create_task(server.call()) for _ in range(50)]
        await asyncio.sleep(0.7)
        for task in tasks[5:40]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return server.limiter.in_flight, server.limiter.waiting, sum(not t.cancelled() for t in tasks)

    in_flight, waiting, done = run_virtually(go())
    assert (in_flight, waiting, done) == (0, 0, 15)


def worst_minute(sent: list[tuple[float, float]]) -> float:
    """The most that any half-open minute holds."""
    sent = sorted(sent)
    return max(sum(n for at, n in sent if start <= at < start + 60) for start, _ in sent)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 300), st.lists(st.tuples(st.floats(0, 20), st.integers(1, 80)), min_size=1, max_size=80))
def test_no_minute_holds_more_than_the_limit(limit, wanted):
    throttle, now, sent = Throttle(limit), 0.0, []
    for gap, amount in wanted:
        now += gap
        booking = throttle.book(amount, now)
        assert booking.at >= now
        sent.append((booking.at, min(amount, limit)))
        now = max(now, booking.at - 30)
    assert worst_minute(sent) <= limit + 1e-6


@given(st.integers(1, 50), st.lists(st.integers(0, 60), min_size=2, max_size=30))
@settings(deadline=None)
def test_corrections_give_back_what_was_not_used(limit, used):
    throttle = Throttle(limit)
    for _actual in used:
        booking = throttle.book(limit, 0.0)
        throttle.correct(booking, 0.0)
    free = throttle.book(1, booking.at)
    assert free.at <= booking.at + 1e-6


def test_the_rate_is_used_up():
    throttle = Throttle(600)
    last = [throttle.book(1, 0.0).at for _ in range(1800)][-1]
    assert last <= 3 * 61
    assert Throttle(1).book(1, 0.0).at == 0.0


def test_an_endpoint_that_is_down_is_left_alone_for_a_while_and_then_tried_again():
    async def go():
        down = Reply(Outcome.provider_error, http_status=500, error="500")
        server = Server(Limiter(spec(max_in_flight=4)), lambda now, held: down)
        while len(server.starts) < 2000 and await server.call() is Outcome.provider_error:
            if server.limiter._closings:
                break
        calls, at = len(server.starts), asyncio.get_running_loop().time()
        refused = [await server.call() for _ in range(50)]
        extra = len(server.starts) - calls
        await asyncio.sleep(61)
        server.reply = lambda now, held: GOOD
        return calls, at, refused, extra, await server.call()

    calls, at, refused, extra, later = run_virtually(go())
    assert calls < 200 and at > 60
    assert set(refused) == {Outcome.provider_error} and extra == 0
    assert later is Outcome.answered
