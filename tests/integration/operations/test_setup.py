"""The set-up: exactly the schedules of the file, limits that an operator changed stay, silent runs are ended."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from prefect.client.schemas.actions import GlobalConcurrencyLimitUpdate
from prefect.client.schemas.schedules import IntervalSchedule
from prefect.states import Completed, Running

from flows.automations import crash_silent_runs
from flows.catalogue import POOL, QUEUE
from flows.setup import keep_only_schedules_of_file, prepare_limits
from flows.suites import load_suite
from flows.zombies import sweep
from storage.errors import EnvironmentProblem
from tasks.models.slots import PrefectCounter, limit_names
from tests.fakes.stack import Stack, write_suite


@pytest.mark.slow
def test_after_a_deploy_exactly_the_schedules_of_the_file_are_active(stack: Stack) -> None:
    with stack.client() as client:
        deployments = {each.name: each for each in client.read_deployments()}
        active = {(d.name, s.slug) for d in deployments.values() for s in d.schedules if s.active}
        assert active == {("nightly", "every-night")}
        client.create_deployment_schedules(
            deployments["judge"].id, [(IntervalSchedule(interval=timedelta(days=1)), True)]
        )
        gone = keep_only_schedules_of_file(client)
        assert len(gone) == 1 and gone[0].startswith("judge")
        left = [(d.name, s.slug) for d in client.read_deployments() for s in d.schedules]
        assert left == [("nightly", "every-night")]
        queue = client.read_work_queue_by_name(QUEUE, work_pool_name=POOL)
        assert queue.concurrency_limit == 1
        helps = deployments["nightly"].parameter_openapi_schema
        assert all(field.get("description") for field in helps["properties"].values())


@pytest.mark.slow
def test_limits_are_made_once_and_missing_ones_are_an_error(stack: Stack, tmp_path: Path) -> None:
    suite = write_suite(tmp_path, "http://127.0.0.1:1/only-here", endpoint="max_in_flight: 8, rpm: 90")
    endpoint = load_suite(str(suite)).judge.endpoints["mock"]
    names = limit_names(endpoint)
    with stack.client() as client:
        counter = PrefectCounter(endpoint, client)
        with pytest.raises(EnvironmentProblem, match="set-up"):
            counter.limits()
        assert set(prepare_limits([str(suite)])) == {names.in_flight, names.rpm}
        assert (counter.limits().in_flight, counter.limits().rpm) == (8, 90)
        client.update_global_concurrency_limit(names.in_flight, GlobalConcurrencyLimitUpdate(limit=3))
        assert prepare_limits([str(suite)]) == []
        assert counter.limits().in_flight == 3, "what an operator has set stays"
        lease = counter.lease(3)
        assert lease is not None and counter.lease(1) is None and counter.renew(lease)
        counter.release(lease)
        assert counter.lease(1) is not None


@pytest.mark.slow
def test_silent_runs_are_ended_and_ended_runs_are_left_alone(stack: Stack) -> None:
    with stack.client() as client:
        deployment = client.read_deployment_by_name("aggregate/aggregate")
        silent, done = (client.create_flow_run_from_deployment(deployment.id).id for _ in range(2))
        for run in (silent, done):
            client.set_flow_run_state(run, Running(), force=True)
        client.set_flow_run_state(done, Completed(), force=True)
        assert sweep(client) == [], "it may still be at work"
        assert sweep(client, timedelta(0)) == [client.read_flow_run(silent).name]
        assert client.read_flow_run(silent).state_name == "Crashed"
        assert client.read_flow_run(done).state_name == "Completed"
        assert sweep(client, timedelta(0)) == []


def test_the_automation_does_not_force_an_ended_run_out_of_its_state() -> None:
    automation = crash_silent_runs()
    (action,) = automation.actions
    assert action.force is False
    assert {"prefect.flow-run.Completed", "prefect.flow-run.Completed with gaps"} <= automation.trigger.expect
