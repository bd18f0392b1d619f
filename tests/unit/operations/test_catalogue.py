"""The catalogue, prefect.yaml and the runbook agree with the flows and with each other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from flows.catalogue import CATALOGUE, POOL, QUEUE, Entry, entry
from flows.failures import KINDS
from storage.vocabulary import Outcome


@pytest.fixture(scope="module")
def deployed(root: Path) -> dict[str, dict[str, Any]]:
    tree = yaml.safe_load((root / "deployments" / "prefect.yaml").read_text(encoding="utf-8"))
    return {each["name"]: each for each in tree["deployments"]}


@pytest.mark.parametrize("each", CATALOGUE, ids=lambda each: each.flow)
def test_every_entry_imports_and_every_parameter_has_help(each: Entry) -> None:
    helps = each.parameters()
    assert [name for name, text in helps.items() if not text] == []


def test_a_wrong_entry_is_told() -> None:
    with pytest.raises(LookupError, match="no flow named"):
        Entry("other", "flows.judge:judge", (), "").load()


def test_every_flow_is_deployed_and_every_deployment_is_in_the_catalogue(deployed: dict[str, dict[str, Any]]) -> None:
    places = {each.entrypoint: each for each in CATALOGUE}
    assert {each["entrypoint"] for each in deployed.values()} == set(places)
    for name, each in deployed.items():
        known = places[each["entrypoint"]]
        assert set(known.tags[:2]) <= set(each["tags"]), name
        assert set(each.get("parameters") or {}) <= set(known.parameters()), name
        assert each["enforce_parameter_schema"] is True
        assert each["concurrency_limit"]["limit"] == 1


def test_one_run_at_a_time_and_late_nights_do_not_queue_up(deployed: dict[str, dict[str, Any]]) -> None:
    strategies = {name: each["concurrency_limit"]["collision_strategy"] for name, each in deployed.items()}
    assert strategies.pop("nightly") == "CANCEL_NEW"
    assert set(strategies.values()) == {"ENQUEUE"}
    pools = {name: each["work_pool"] for name, each in deployed.items()}
    queues = {name: (pool["name"], pool["work_queue_name"]) for name, pool in pools.items()}
    assert queues.pop("set-up") == (POOL, "default")
    assert set(queues.values()) == {(POOL, QUEUE)}


def test_only_nightly_has_a_schedule_with_slug_and_time_zone(deployed: dict[str, dict[str, Any]]) -> None:
    schedules = {name: each.get("schedules") for name, each in deployed.items() if each.get("schedules")}
    assert list(schedules) == ["nightly"]
    (schedule,) = schedules["nightly"]
    assert schedule["slug"] and schedule["timezone"] == "UTC" and schedule["active"] is True


def test_every_failure_has_words_and_a_place_in_the_runbook(root: Path) -> None:
    failures = {outcome.value for outcome in Outcome} - {"answered"}
    assert failures <= set(KINDS)
    runbook = (root / "deployments" / "RUNBOOK.md").read_text(encoding="utf-8")
    assert [kind for kind in KINDS if not re.search(rf"^\| `{kind}` \|", runbook, re.MULTILINE)] == []


def test_the_catalogue_finds_flows_by_name() -> None:
    assert entry("nightly").entrypoint == "flows.nightly:nightly"
    with pytest.raises(KeyError):
        entry("none")
