"""Paces, locks and faults: too fast is waited out, a budget that is gone is not."""

from __future__ import annotations

import json
import threading
import time

import pytest

from tasks.retrieve.faults import ProviderFault, fault_of, patiently
from tasks.retrieve.limiter import Limiter, ProviderClosed

GONE = {"X-RateLimit-Remaining": "0", "X-RateLimit-Credits-Required": "10", "Retry-After": "54000"}


@pytest.mark.parametrize(("status", "headers", "body", "kind"), [
    (429, {"Retry-After": "1"}, "", "too_fast"),
    (429, {"Retry-After": "1", "X-RateLimit-Remaining": "800", "X-RateLimit-Credits-Required": "10"}, "", "too_fast"),
    (429, GONE, "", "budget_gone"),
    (429, {"X-RateLimit-Remaining-USD": "0", "X-RateLimit-Required-USD": "0.001"}, "", "budget_gone"),
    (403, {}, "rate limit exceeded", "too_fast"), (403, {}, "forbidden", "refused"), (401, {}, "", "refused"),
    (404, {}, "", "not_found"), (400, {}, "Invalid query parameter", "bad_query"),
    (503, {}, "", "unavailable"), (200, {}, "<html>", "unavailable"), (408, {}, "", "unavailable"),
])
def test_each_reply_is_one_kind_of_fault(status, headers, body, kind):
    """B50, B65."""
    fault = fault_of(status, headers, body)
    assert fault.kind == kind
    assert str(status) in str(fault)


def test_too_fast_is_waited_out(limiter):
    """B50 A."""
    answers = [fault_of(429, {"Retry-After": "0.01"}, ""), None]

    def request():
        fault = answers.pop(0)
        if fault is not None:
            raise fault
        return "answer"

    assert patiently(limiter, request) == "answer"


def test_a_budget_that_is_gone_closes_the_provider_for_everybody(limiter, tmp_path):
    """B50 B, B51."""
    asked = []

    def request():
        asked.append(1)
        raise fault_of(429, GONE, "")

    started = time.monotonic()
    with pytest.raises(ProviderFault) as caught:
        patiently(limiter, request)
    assert caught.value.kind == "budget_gone"
    other = Limiter("provider", tmp_path / "limits", interval_s=0.0, at_once=1)
    with pytest.raises(ProviderClosed, match="budget_gone"):
        patiently(other, request)
    assert len(asked) == 1
    assert time.monotonic() - started < 5
    other.reopen()
    other.raise_if_closed()


def test_a_wait_of_fifteen_hours_is_not_waited(limiter):
    """B51."""
    started = time.monotonic()
    with pytest.raises(ProviderFault):
        patiently(limiter, lambda: (_ for _ in ()).throw(fault_of(429, {"Retry-After": "54000"}, "")))
    assert time.monotonic() - started < 5
    with pytest.raises(ProviderClosed):
        limiter.raise_if_closed()


def test_an_unknown_work_is_no_outage(limiter):
    """B60: one request, no retry."""
    asked = []

    def request():
        asked.append(1)
        raise fault_of(404, {}, "")

    with pytest.raises(ProviderFault, match="404"):
        patiently(limiter, request)
    assert len(asked) == 1
    limiter.raise_if_closed()


def test_outages_are_tried_again_and_then_given_up(limiter):
    waits = []

    def request():
        raise fault_of(503, {}, "down")

    with pytest.raises(ProviderFault, match="503"):
        patiently(limiter, request, attempts=3, sleep=waits.append)
    assert waits == [0.5, 1.0]


def test_turns_keep_their_distance_and_their_number(tmp_path):
    """Two limiters of one folder are one: begins are apart, and no two requests are open."""
    begun, open_now, peak = [], [], []
    guard = threading.Lock()

    def work(limiter):
        for _ in range(3):
            with limiter.turn():
                with guard:
                    begun.append(time.monotonic())
                    open_now.append(1)
                    peak.append(len(open_now))
                time.sleep(0.005)
                with guard:
                    open_now.pop()

    limiters = [Limiter("one", tmp_path, interval_s=0.03, at_once=1) for _ in range(3)]
    started = time.monotonic()
    threads = [threading.Thread(target=work, args=(limiter,)) for limiter in limiters]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    begun.sort()
    assert max(peak) == 1
    # A thread may wake late, never early: the n-th begins no sooner than n intervals after the beginning.
    assert len(begun) == 9
    assert all(moment >= started + place * 0.03 - 0.002 for place, moment in enumerate(begun))


def test_a_damaged_state_is_a_fresh_one(tmp_path):
    (tmp_path / "one.json").write_text("{not json")
    with Limiter("one", tmp_path, interval_s=0.0, at_once=1).turn():
        state = json.loads((tmp_path / "one.json").read_text())
    assert state["next"] <= time.time()
