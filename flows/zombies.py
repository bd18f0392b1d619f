"""Runs that a dead process left behind: found by their silence, ended as Crashed, so that their places are free.

Two guards do this. The automation (``automations.py``) is the server's; ``sweep`` is our own, called by the set-up and
by ``evenhand serve``, because a server that was down has missed the silence. Neither touches what is stored: whether a
cell is done is the store's to say, so a good run that is called Crashed too early loses nothing (B93, B94).
"""

from __future__ import annotations

from datetime import datetime, timedelta

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterState,
    FlowRunFilterStateType,
    WorkPoolFilter,
    WorkPoolFilterName,
)
from prefect.client.schemas.objects import FlowRun, StateType
from prefect.states import Crashed

from flows.catalogue import POOL
from storage.records import now

HEARTBEAT_S = 30
SILENT_S = 3 * HEARTBEAT_S
"""A run that has not been heard of for so long is taken for dead."""
_PAGE = 200


def _last_heard(client: SyncPrefectClient, run: FlowRun) -> datetime | None:
    """When a run last gave a sign of life: its start, its last change of state, its last heartbeat."""
    body = {
        "limit": 1,
        "filter": {
            "event": {"name": ["prefect.flow-run.heartbeat"]},
            "resource": {"id": [f"prefect.flow-run.{run.id}"]},
            "order": "DESC",
        },
    }
    found = client.request("POST", "/events/filter", json=body).json().get("events", [])
    beats = [datetime.fromisoformat(event["occurred"].replace("Z", "+00:00")) for event in found]
    changed = [moment for moment in (run.start_time, run.state.timestamp if run.state else None) if moment]
    return max([*beats, *changed], default=None)


def open_runs(client: SyncPrefectClient) -> list[FlowRun]:
    """The runs of our pool that count as under way."""
    return client.read_flow_runs(
        flow_run_filter=FlowRunFilter(
            state=FlowRunFilterState(
                type=FlowRunFilterStateType(any_=[StateType.RUNNING, StateType.PENDING, StateType.CANCELLING])
            )
        ),
        work_pool_filter=WorkPoolFilter(name=WorkPoolFilterName(any_=[POOL])),
        limit=_PAGE,
    )


def sweep(client: SyncPrefectClient, silent: timedelta = timedelta(seconds=SILENT_S)) -> list[str]:
    """End every run of our pool that has been silent for too long as Crashed.

    Args:
        client: of the API.
        silent: zero ends all of them: for one machine whose only worker has just been started.

    Returns:
        The names of the runs that were ended.
    """
    ended: list[str] = []
    for run in open_runs(client):
        heard = _last_heard(client, run)
        if heard is not None and now() - heard < silent:
            continue
        told = "its process is gone; the next run of this deployment goes on from what is stored"
        client.set_flow_run_state(run.id, Crashed(message=told), force=True)
        ended.append(run.name)
    return ended
