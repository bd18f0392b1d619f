"""A provider's limits as Prefect keeps them: global concurrency limits by name, read and leased.

Here belongs the talk with Prefect's API. How a process moves towards its share of them is ``shares.py``.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import GlobalConcurrencyLimitCreate
from prefect.exceptions import ObjectAlreadyExists, ObjectNotFound, PrefectHTTPStatusError

from storage.errors import EnvironmentProblem
from tasks.models.endpoints import EndpointSpec

_LOCKED = 423
LEASE_S = 60.0
"""How long a slot outlives a process that died."""
MOST_SHARERS = 10_000


class LimitNames(NamedTuple):
    """The names of a provider's global limits."""

    in_flight: str
    rpm: str
    tpm: str
    sharers: str
    """Each process that asks the provider holds one slot of it: the limits are divided by their number."""


def limit_names(endpoint: EndpointSpec) -> LimitNames:
    """``https://api.example.com/v1`` has ``endpoint-api-example-com-v1`` and its ``-rpm``, ``-tpm``, ``-sharers``."""
    name = "endpoint-" + re.sub(r"[^a-z0-9]+", "-", endpoint.identity.split("://", 1)[-1].lower()).strip("-")
    return LimitNames(name, f"{name}-rpm", f"{name}-tpm", f"{name}-sharers")


@dataclass(frozen=True)
class Limits:
    """A provider's limits as they stand now; None for a rate without a limit."""

    in_flight: int
    rpm: int | None = None
    tpm: int | None = None
    sharers: int = 1
    """Processes that ask the provider, this one included."""

    @property
    def share(self) -> int:
        """The slots of one process: its part, at least one while there are any."""
        return max(self.in_flight // max(self.sharers, 1), min(self.in_flight, 1))


class Counter(Protocol):
    """Where limits are kept and slots are leased."""

    def limits(self) -> Limits:
        """The limits as they stand now."""

    def join(self) -> UUID | None:
        """A lease of one place among the sharers."""

    def lease(self, slots: int) -> UUID | None:
        """A lease of so many slots, or None when they are not free."""

    def renew(self, lease: UUID) -> bool:
        """Whether the lease still holds."""

    def release(self, lease: UUID) -> None:
        """Give the slots back."""


class PrefectCounter:
    """The global concurrency limits of one provider at a Prefect API."""

    def __init__(self, endpoint: EndpointSpec, client: SyncPrefectClient) -> None:
        self._names = limit_names(endpoint)
        self._client = client
        self._given = endpoint

    def limits(self) -> Limits:
        """The limits as they stand now; one that an operator has made inactive falls back to the suite's value.

        Raises:
            EnvironmentProblem: when the provider has none: nothing is asked without.
        """
        found = self._read(self._names.in_flight)
        if found is None:
            raise EnvironmentProblem(
                f"the global concurrency limit {self._names.in_flight} is not there: run the deployment set-up with "
                "this suite (`python -m flows.setup SUITE`), so that calls to the provider are limited"
            )
        sharers = self._read(self._names.sharers)
        return Limits(
            found.limit if found.active else self._given.max_in_flight,
            self._rate(self._names.rpm, self._given.rpm),
            self._rate(self._names.tpm, self._given.tpm),
            sharers.active_slots if sharers is not None else 1,
        )

    def _read(self, name: str) -> Any:
        try:
            return self._client.read_global_concurrency_limit_by_name(name)
        except ObjectNotFound:
            return None

    def _rate(self, name: str, given: int | None) -> int | None:
        found = self._read(name)
        return given if found is None or not found.active else int(found.limit)

    def join(self) -> UUID | None:
        """A lease of one place among the sharers."""
        if self._read(self._names.sharers) is None:
            with suppress(ObjectAlreadyExists, PrefectHTTPStatusError):
                self._client.create_global_concurrency_limit(
                    GlobalConcurrencyLimitCreate(name=self._names.sharers, limit=MOST_SHARERS)
                )
        return self._leased(self._names.sharers, 1)

    def lease(self, slots: int) -> UUID | None:
        """A lease of so many slots, or None when they are not free."""
        return self._leased(self._names.in_flight, slots)

    def _leased(self, name: str, slots: int) -> UUID | None:
        try:
            reply = self._client.increment_concurrency_slots_with_lease([name], slots, "concurrency", LEASE_S)
        except PrefectHTTPStatusError as error:
            if error.response.status_code == _LOCKED:
                return None
            raise
        return UUID(str(reply.json()["lease_id"]))

    def renew(self, lease: UUID) -> bool:
        """Whether the lease still holds."""
        try:
            self._client.renew_concurrency_lease(lease, LEASE_S)
        except (ObjectNotFound, PrefectHTTPStatusError):
            return False
        return True

    def release(self, lease: UUID) -> None:
        """Give the slots back; one that has run out is given back already."""
        with suppress(ObjectNotFound, PrefectHTTPStatusError):
            self._client.release_concurrency_slots_with_lease(lease)
