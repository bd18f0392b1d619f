"""Which endpoints are answered inside this process: a registry of transports by kind of endpoint.

Here belongs only the finding of a transport. An in-process judge goes through the same client, limiter, journal and
parser as a real one; only the last step, the wire, is another. A transport takes a request at ``/chat/completions`` or
``/responses`` and gives the response a server would give.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable

import httpx2

from tasks.models.endpoints import EndpointSpec

IN_PROCESS_URL = "http://in-process.invalid/v1"
"""The address that requests to in-process transports carry; no name server knows it."""

TransportFactory = Callable[[], httpx2.AsyncBaseTransport]

_TARGETS: dict[str, str] = {
    "phantom": "tasks.models.phantom_transport:PhantomTransport",
    "classifier": "tasks.models.classifier:ClassifierTransport",
}
_registered: dict[str, TransportFactory] = {}


def register(kind: str, factory: TransportFactory) -> None:
    """Makes ``factory`` answer for endpoints of ``kind`` in this process, before any target named here."""
    _registered[kind] = factory


def transport_for(endpoint: EndpointSpec) -> httpx2.AsyncBaseTransport | None:
    """A transport that answers in this process; None for endpoints that are reached over HTTP."""
    factory = _registered.get(endpoint.kind)
    if factory is None and endpoint.kind in _TARGETS:
        factory = pkgutil.resolve_name(_TARGETS[endpoint.kind])
    return None if factory is None else factory()
