"""The global concurrency limits of providers: which there are for some suites, and what they begin with.

A provider is an endpoint's address. Its limits carry its name (``tasks.models.slots`` reads them while calls go out);
they are made here and by nobody's hand, and a value that an operator has changed in the UI stays.
"""

from __future__ import annotations

from collections.abc import Iterable

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import GlobalConcurrencyLimitCreate
from prefect.exceptions import ObjectNotFound

from flows.suites import Suite
from tasks.models.endpoints import EndpointSpec
from tasks.models.slots import limit_names


def starting_limits(endpoints: Iterable[EndpointSpec]) -> dict[str, int]:
    """Name -> value of the limits that these endpoints need: in flight, and requests and tokens a minute where given.

    Where two suites describe one provider differently, the smaller value holds. Endpoints in this process (phantoms,
    the embedded model) have no provider to spare.
    """
    wanted: dict[str, int] = {}
    for endpoint in endpoints:
        if endpoint.kind != "openai":
            continue
        names = limit_names(endpoint)
        given = {names.in_flight: endpoint.max_in_flight, names.rpm: endpoint.rpm, names.tpm: endpoint.tpm}
        for name, value in given.items():
            if value is not None:
                wanted[name] = min(wanted.get(name, value), value)
    return wanted


def endpoints_of(suites: Iterable[Suite]) -> list[EndpointSpec]:
    """Every endpoint of some suites."""
    return [endpoint for suite in suites for endpoint in suite.judge.endpoints.values()]


def make_limits(client: SyncPrefectClient, wanted: dict[str, int]) -> list[str]:
    """Make the limits that are not there yet.

    Returns:
        The names of those that were made.
    """
    made: list[str] = []
    for name, value in wanted.items():
        try:
            client.read_global_concurrency_limit_by_name(name)
        except ObjectNotFound:
            client.create_global_concurrency_limit(GlobalConcurrencyLimitCreate(name=name, limit=value))
            made.append(name)
    return made
