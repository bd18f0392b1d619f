"""Set-up: everything a Prefect server needs to know before a worker starts; run it again at any time.

Pool and queue, the providers' limits, the automations, the deployments of deployments/prefect.yaml, and nothing
besides: schedules that are not in that file are taken away. Starting servers and workers is ``commands/serve.py``.

    python -m flows.setup [SUITE ...]
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from prefect import flow
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import WorkPoolCreate, WorkPoolUpdate
from prefect.exceptions import ObjectNotFound
from prefect.logging import get_run_logger
from prefect.settings import PREFECT_API_URL
from prefect.workers.process import ProcessWorker

from flows import automations
from flows.catalogue import POOL, QUEUE
from flows.provider_limits import endpoints_of, make_limits, starting_limits
from flows.suites import SHIPPED, load_suite
from flows.zombies import sweep
from storage.errors import EnvironmentProblem

ROOT = Path(__file__).resolve().parent.parent
PREFECT_FILE = ROOT / "deployments" / "prefect.yaml"
DEPLOY_TIMEOUT_S = 300


def deployments_of_file() -> list[dict[str, Any]]:
    """The deployments as prefect.yaml describes them."""
    found: list[dict[str, Any]] = yaml.safe_load(PREFECT_FILE.read_text(encoding="utf-8"))["deployments"]
    return found


def make_pool(client: SyncPrefectClient) -> None:
    """The work pool and its queue of runs on the one store."""
    template = ProcessWorker.get_default_base_job_template()
    description = "Runs of Evenhand, as processes of the worker."
    try:
        client.read_work_pool(POOL)
        client.update_work_pool(POOL, WorkPoolUpdate(description=description, base_job_template=template))
    except ObjectNotFound:
        client.create_work_pool(
            WorkPoolCreate(name=POOL, type="process", description=description, base_job_template=template)
        )
    body = {"name": QUEUE, "concurrency_limit": 1, "priority": 1, "description": "One run at a time: one store."}
    of_pool = {"work_pool_name": POOL}
    try:
        client.read_work_queue_by_name(QUEUE, work_pool_name=POOL)
        place = {**of_pool, "name": QUEUE}
        client.request(
            "PATCH", "/work_pools/{work_pool_name}/queues/{name}", path_params=place, json={"concurrency_limit": 1}
        )
    except ObjectNotFound:
        client.request("POST", "/work_pools/{work_pool_name}/queues", path_params=of_pool, json=body)


def deploy() -> None:
    """Deploy prefect.yaml, every deployment of it.

    Raises:
        EnvironmentProblem: when Prefect refuses, with its last lines.
    """
    done = subprocess.run(
        [sys.executable, "-m", "prefect", "--no-prompt", "deploy", "--all", "--prefect-file", str(PREFECT_FILE)],
        cwd=ROOT,
        env=os.environ | {"EVENHAND_ROOT": str(ROOT), "PREFECT_API_URL": str(PREFECT_API_URL.value())},
        capture_output=True,
        text=True,
        timeout=DEPLOY_TIMEOUT_S,
    )
    if done.returncode != 0:
        said = " ".join((done.stdout + done.stderr).split())[-400:]
        raise EnvironmentProblem(f"the deployments could not be made: {said}")


def keep_only_schedules_of_file(client: SyncPrefectClient) -> list[str]:
    """Take away schedules of our deployments that prefect.yaml does not name; deploying alone leaves them active.

    Returns:
        ``deployment: schedule`` of each that was taken away.
    """
    named = {entry["name"]: {each["slug"] for each in entry.get("schedules") or []} for entry in deployments_of_file()}
    gone: list[str] = []
    for deployment in client.read_deployments(limit=200):
        if "evenhand" not in deployment.tags:
            continue
        for schedule in deployment.schedules:
            if schedule.slug not in named.get(deployment.name, set()):
                client.delete_deployment_schedule(deployment.id, schedule.id)
                gone.append(f"{deployment.name}: {schedule.slug or schedule.schedule}")
    return gone


def prepare_limits(suites: list[str] | None = None) -> list[str]:
    """The limits of the providers of the shipped suites and of some more.

    Returns:
        The names of those that were not there yet.
    """
    loaded = [load_suite(str(path)) for path in sorted(SHIPPED.glob("*.yaml"))]
    loaded += [load_suite(name) for name in suites or ()]
    with get_client(sync_client=True) as client:
        return make_limits(client, starting_limits(endpoints_of(loaded)))


def prepare(suites: list[str] | None = None) -> dict[str, list[str]]:
    """Everything of the set-up, in order; needs a Prefect API.

    Args:
        suites: suites beside the shipped ones, whose providers get limits.

    Returns:
        What was made or taken away, by kind.
    """
    limits = prepare_limits(suites)
    with get_client(sync_client=True) as client:
        make_pool(client)
        watches = automations.ensure_all()
        deploy()
        gone = keep_only_schedules_of_file(client)
        crashed = sweep(client)
    names = [entry["name"] for entry in deployments_of_file()]
    return {"limits": limits, "automations": watches, "deployments": names, "schedules gone": gone, "crashed": crashed}


@flow(name="set-up")
def set_up(suites: list[str] | None = None) -> dict[str, list[str]]:
    """Make pool, queue, limits, automations and deployments; run it again after a change of suites.

    Args:
        suites: suites beside the shipped ones, whose providers get limits: paths of suite files.
    """
    made = prepare(suites)
    for kind, names in made.items():
        get_run_logger().info("%s: %s", kind, ", ".join(names) or "nothing to do")
    return made


if __name__ == "__main__":
    set_up(sys.argv[1:] or None)
