"""Processes that share a provider: together never above its limits, and changed limits take effect."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest

from tasks.models.endpoints import EndpointSpec
from tasks.models.shares import SHARED_PACE, Share
from tasks.models.slots import Limits, limit_names

ENDPOINT = EndpointSpec(name="api", base_url="https://api.example.com/v1", max_in_flight=8)


class Ledger:
    """A provider's global limit in memory."""

    def __init__(self, limit: int, rpm: int | None = None) -> None:
        self.limit, self.rpm = limit, rpm
        self.leases: dict[UUID, int] = {}
        self.places: set[UUID] = set()

    def limits(self) -> Limits:
        return Limits(self.limit, self.rpm, None, len(self.places))

    def join(self) -> UUID:
        place = uuid4()
        self.places.add(place)
        return place

    def lease(self, slots: int) -> UUID | None:
        if sum(self.leases.values()) + slots > self.limit:
            return None
        lease = uuid4()
        self.leases[lease] = slots
        return lease

    def renew(self, lease: UUID) -> bool:
        return lease in self.leases or lease in self.places

    def release(self, lease: UUID) -> None:
        self.leases.pop(lease, None)
        self.places.discard(lease)


class Pace:
    """Stands for an engine: remembers its limits, and how many calls are in flight."""

    def __init__(self) -> None:
        self.most, self.rpm, self.calls = -1, None, 0

    def pace(self, _: EndpointSpec, most: int, rpm: int | None, tpm: int | None) -> None:
        self.most, self.rpm = most, rpm

    def in_flight(self, _: EndpointSpec) -> int:
        return self.calls


def _share(ledger: Ledger) -> tuple[Share, Any]:
    pace = Pace()
    return Share(ledger, pace, ENDPOINT), pace  # type: ignore[arg-type]


def test_one_process_takes_all_and_gives_half_to_a_second() -> None:
    ledger = Ledger(16, rpm=100)
    first, pace = _share(ledger)
    first.tick()
    assert (first.held, pace.most, pace.rpm) == (16, 16, 100)
    second, other = _share(ledger)
    second.tick()
    assert other.most == 0, "nothing is free yet, nothing is asked"
    first.tick()
    second.tick()
    assert (pace.most, other.most) == (8, 8)
    assert pace.rpm + other.rpm <= 100 * SHARED_PACE
    first.leave()
    second.tick()
    assert other.most == 16


def test_slots_of_calls_in_flight_are_kept_until_they_end() -> None:
    ledger = Ledger(8)
    first, pace = _share(ledger)
    first.tick()
    pace.calls = 8
    second, other = _share(ledger)
    second.tick()
    first.tick()
    assert pace.most < 8, "no new call starts"
    assert first.held + second.held <= 8
    assert first.held >= pace.calls, "what is in flight is still leased"
    pace.calls = 4
    for _ in range(3):
        first.tick()
        second.tick()
    assert (first.held, second.held) == (4, 4)


@pytest.mark.parametrize("limit", [0, 1, 3, 5, 64])
@pytest.mark.parametrize("processes", [1, 2, 3, 7])
def test_the_sum_never_exceeds_the_limit(limit: int, processes: int) -> None:
    ledger = Ledger(limit)
    shares = [_share(ledger) for _ in range(processes)]
    for _ in range(4):
        for share, _pace in shares:
            share.tick()
            assert sum(each.held for each, _ in shares) <= limit
            assert sum(max(each.most, 0) for _, each in shares) <= limit
    fair = max(limit // processes, min(limit, 1))
    assert sum(pace.most == fair for _, pace in shares) >= min(processes, limit // max(fair, 1) or 1) * (limit > 0)


def test_a_limit_changed_while_it_runs_takes_effect_and_zero_pauses() -> None:
    ledger = Ledger(8)
    share, pace = _share(ledger)
    seen = []
    for limit in (8, 2, 0, 20):
        ledger.limit = limit
        share.tick()
        seen.append(pace.most)
    assert seen == [8, 2, 0, 20]


def test_many_processes_look_less_often() -> None:
    ledger = Ledger(1000)
    shares = [_share(ledger)[0] for _ in range(40)]
    for share in shares:
        share.tick()
    assert shares[0].pause_s == 1.0 and shares[-1].pause_s == 4.0


def test_a_lease_that_ran_out_is_taken_anew() -> None:
    ledger = Ledger(8)
    share, pace = _share(ledger)
    share.tick()
    ledger.leases.clear()
    ledger.places.clear()
    share.renewed -= 60
    share.tick()
    assert (share.held, pace.most, len(ledger.places)) == (8, 8, 1)


def test_names_of_limits_come_from_the_address() -> None:
    assert limit_names(ENDPOINT).in_flight == "endpoint-api-example-com-v1"
    assert limit_names(ENDPOINT).rpm == "endpoint-api-example-com-v1-rpm"
