"""The server's own watch: a silent run becomes Crashed, and a run that failed is told to a webhook, if there is one.

Automations only; what the nightly flow itself sends is ``notify.py``.
"""

from __future__ import annotations

import os
from datetime import timedelta

from prefect.automations import Automation
from prefect.blocks.webhook import Webhook
from prefect.client.schemas.objects import StateType
from prefect.events.actions import CallWebhook, ChangeFlowRunState
from prefect.events.schemas.automations import EventTrigger, Posture
from prefect.events.schemas.events import ResourceSpecification

from flows.zombies import SILENT_S

ALERT_URL = "EVENHAND_ALERT_URL"
"""The variable with the address that alerts go to; it is a secret and is kept in a block, nowhere else."""
ALERT_BLOCK = "evenhand-alerts"
ENDINGS = ("Completed", "Completed with gaps", "Failed", "Cancelled", "Crashed", "Skipped")


def crash_silent_runs() -> Automation:
    """A flow run that sends no heartbeat for three intervals, and has not ended, is Crashed.

    The state is not forced: the server refuses to take a run that has ended out of its state, so a heartbeat that comes
    after the end does no harm (field bug B94).
    """
    endings = {f"prefect.flow-run.{name}" for name in ENDINGS}
    return Automation(
        name="evenhand: silent runs are crashed",
        description="Heartbeats stopped: the process is gone. Its places are freed, the next run resumes.",
        trigger=EventTrigger(
            after={"prefect.flow-run.heartbeat"},
            expect={"prefect.flow-run.heartbeat"} | endings,
            match=ResourceSpecification({"prefect.resource.id": ["prefect.flow-run.*"]}),
            for_each={"prefect.resource.id"},
            posture=Posture.Proactive,
            threshold=1,
            within=timedelta(seconds=SILENT_S),
        ),
        actions=[ChangeFlowRunState(state=StateType.CRASHED, message="no heartbeat for 90 s: its process is gone")],
    )


def tell_failures(block_id: str) -> Automation:
    """A run of ours that failed or crashed is told to the webhook, with its name and where to look."""
    said = (
        '{"text": "evenhand: {{ flow_run.name }} ended {{ flow_run.state.name }}: {{ flow_run.state.message }}", '
        '"url": "{{ flow_run|ui_url }}"}'
    )
    return Automation(
        name="evenhand: failures are told",
        description="Calls the webhook block evenhand-alerts.",
        trigger=EventTrigger(
            expect={"prefect.flow-run.Failed", "prefect.flow-run.Crashed"},
            match=ResourceSpecification({"prefect.resource.id": ["prefect.flow-run.*"]}),
            match_related=[
                ResourceSpecification(
                    {"prefect.resource.role": ["tag"], "prefect.resource.id": ["prefect.tag.evenhand"]}
                )
            ],
            for_each={"prefect.resource.id"},
            posture=Posture.Reactive,
            threshold=1,
            within=timedelta(seconds=0),
        ),
        actions=[CallWebhook(block_document_id=block_id, payload=said)],
    )


def ensure(wanted: Automation) -> None:
    """Make an automation, or bring the one of that name up to date."""
    try:
        known = Automation.read(name=wanted.name)
    except ValueError:
        wanted.create()
        return
    wanted.model_copy(update={"id": known.id}).update()  # type: ignore[attr-defined]


def ensure_all() -> list[str]:
    """Both automations; the second one only where ``EVENHAND_ALERT_URL`` or the block is there.

    Returns:
        The names of the automations that are in force.
    """
    silent = crash_silent_runs()
    ensure(silent)
    names = [silent.name]
    if address := os.environ.get(ALERT_URL):
        Webhook(url=address).save(ALERT_BLOCK, overwrite=True)
    try:
        block = Webhook.load(ALERT_BLOCK)
    except ValueError:
        return names
    failures = tell_failures(str(block._block_document_id))  # type: ignore[union-attr]
    ensure(failures)
    return [*names, failures.name]
