"""Nights: a judge that was silently changed is named, a quiet night raises nothing, failures and gaps are told outside."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from prefect.blocks.webhook import Webhook
from prefect.states import State

from flows.nightly import NightPolicy, nightly
from flows.nights import nights_of
from flows.setup import prepare_limits
from storage.store import open_store
from tests.fakes.mock_server import MockServer
from tests.fakes.stack import Stack, write_suite

POLICY = NightPolicy(canary_families=2, canary_repeats=1, level=0.05)


class Listener:
    """A webhook's other end."""

    def __init__(self) -> None:
        self.heard: list[dict[str, Any]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                outer.heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/hook-secret-5"


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    yield made
    made.server.shutdown()
    made.server.server_close()


def _shift(mock: MockServer, **models: float) -> None:
    mock._call("shift", models)


@pytest.mark.slow
def test_a_silently_changed_judge_is_named_and_a_quiet_night_is_quiet(
    stack: Stack, tmp_path: Path, listener: Listener
) -> None:
    with MockServer(latency_ms=1) as mock, stack.api():
        Webhook(url=listener.url).save("nights-test", overwrite=True)
        suite = write_suite(tmp_path, mock.base_url, "nights", protocols="standard", models="m1, m2",
                            conditions="novelty_stance, scope_framing, evidence_framing")
        store = str(tmp_path / "store.duckdb")

        def night(**given: Any) -> State[Any]:
            return nightly(suites=[str(suite)], store_url=store, out=str(tmp_path / "nights"), notify="nights-test",
                           policy=POLICY, return_state=True, **given)

        first = night()
        assert (first.name, listener.heard) == ("Completed", []), first.message
        asked = mock.stats()["requests"]
        quiet = night()
        assert quiet.name == "Completed" and "no judge moved" in (quiet.message or "")
        assert mock.stats()["requests"] == asked + 2 * 8, "the canary is asked again, nothing else"
        assert listener.heard == []

        _shift(mock, m2=-2.0)
        moved = night()
        assert moved.is_completed() and "DRIFT nights: m2/standard moved by -" in (moved.message or "")
        assert "m1/standard" not in (moved.message or "")
        assert "m2/standard" in listener.heard[-1]["drift"][0] and "model name: m2" in listener.heard[-1]["drift"][0]
        assert "DRIFT" in (night(accept_drift=True).message or "")
        assert "no judge moved" in (night().message or "")

        known = nights_of(open_store(store), ["nights"])
        assert [each.is_good for each in known] == [True, True, False, True, True]
        index = (tmp_path / "nights" / "index.html").read_text()
        assert index.count("m2/standard moved by") == 2
        assert (tmp_path / "nights" / known[0].date / "nights" / "index.html").exists()
    open_store(store).close()


@pytest.mark.slow
def test_a_night_fails_with_a_suite_says_gaps_and_keeps_to_its_budget(
    stack: Stack, tmp_path: Path, listener: Listener
) -> None:
    with MockServer(latency_ms=1) as mock, stack.api():
        Webhook(url=listener.url).save("nights-test", overwrite=True)
        suite = write_suite(tmp_path, mock.base_url, "gaps", protocols="standard", conditions="novelty_stance")
        broken = tmp_path / "broken.yaml"
        broken.write_text("name: broken\nno: suite\n")
        store = str(tmp_path / "store.duckdb")
        common: dict[str, Any] = {"store_url": store, "out": str(tmp_path / "nights"), "notify": "nights-test",
                                  "return_state": True}
        policy = NightPolicy(canary_families=0, tokens=1)
        spent = nightly(suites=[str(suite)], policy=policy, **common)
        assert spent.name == "Failed" and mock.stats()["requests"] == 0, "the night's budget allows no call"
        assert "over_budget" in (nights_of(open_store(store))[-1].summary)

        mock.faults(refusal=0.5, sticky=True)
        policy = NightPolicy(canary_families=0)
        gaps = nightly(suites=[str(suite)], policy=policy, **common)
        assert gaps.name == "Completed with gaps" and gaps.message == "cells missing: gaps"
        mock.faults()
        asked = mock.stats()["requests"]
        assert nightly(suites=[str(suite)], policy=policy, **common).name == "Completed with gaps"
        assert mock.stats()["requests"] == asked, "what failed for good is not asked again"
        assert nightly(suites=[str(suite)], policy=policy, only_failed=True, **common).name == "Completed"

        both = nightly(suites=[str(broken), str(suite)], policy=policy, **common)
        assert both.name == "Failed" and "failed: broken" in (both.message or "")
        assert nights_of(open_store(store), ["gaps"])[-1].state == "complete", "the other suite had its night"
        assert listener.heard[-1]["failed"] == ["broken"]
    open_store(store).close()


@pytest.mark.slow
def test_after_missed_nights_one_run_does_the_work(stack: Stack, tmp_path: Path) -> None:
    """Four late scheduled runs: one works, the rest are Cancelled or Skipped (field bug B103)."""
    with MockServer(latency_ms=1) as mock:
        suite = write_suite(tmp_path, mock.base_url, "late", protocols="standard", conditions="novelty_stance")
        with stack.client() as client:
            deployment = client.read_deployment_by_name("nightly/nightly")
            runs = [_late(client, deployment.id, hours, str(suite), tmp_path) for hours in (80, 56, 32, 8)]
            prepare_limits([str(suite)])
        with stack.worker(tmp_path / "home"):
            ended = [stack.wait(run).state_name for run in runs]
        assert sorted(ended).count("Completed") == 1, ended
        assert set(ended) <= {"Completed", "Cancelled", "Skipped"}
        store = open_store(tmp_path / "home" / "store.duckdb")
        assert len(nights_of(store)) == 1
        store.close()


def _late(client: Any, deployment: Any, hours: int, suite: str, folder: Path) -> Any:
    due = datetime.now(UTC) - timedelta(hours=hours)
    run = client.create_flow_run_from_deployment(
        deployment, parameters={"suites": [suite], "out": str(folder / "nights"), "policy": {"canary_families": 0}}
    )
    state = {"state": {"type": "SCHEDULED", "name": "Late", "state_details": {"scheduled_time": due.isoformat()}}}
    client.request("POST", "/flow_runs/{id}/set_state", path_params={"id": run.id}, json=state | {"force": True})
    return run.id
