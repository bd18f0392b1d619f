"""A run whose cells fail, as the operator sees it: Failed on the run's page, Retry pressed there, only the missing calls."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from uuid import UUID

import pytest
from playwright.sync_api import sync_playwright

from flows.setup import prepare_limits
from tests.fakes.mock_server import MockServer
from tests.fakes.stack import Stack, tables, write_suite

CELLS = 2 * 2 * 2
"""Families x versions x models."""
PICTURES = Path(os.environ.get("EVENHAND_TEST_ARTIFACTS", "test-artifacts"))


def _press_retry(page_url: str, picture: Path, after: Path) -> str:
    """Opens the run's page, keeps a picture of it, presses Retry and Retry again in the dialog; returns what it said."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.goto(page_url, wait_until="networkidle")
        page.get_by_text("Failed", exact=True).first.wait_for(timeout=30_000)
        said = page.inner_text("body")
        picture.parent.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=str(picture))
        page.get_by_role("button", name=re.compile("retry", re.I)).first.click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("button", name=re.compile("retry|confirm|run", re.I)).last.click()
        page.wait_for_timeout(1500)
        page.screenshot(path=str(after))
        browser.close()
    return said


@pytest.mark.slow
def test_failed_in_the_ui_and_retry_makes_exactly_the_missing_calls(stack: Stack, tmp_path: Path) -> None:
    with MockServer(latency_ms=5) as mock:
        suite = write_suite(tmp_path, mock.base_url, "failing", protocols="standard", conditions="novelty_stance",
                            endpoint="max_in_flight: 4, attempts: 1")
        with stack.api():
            prepare_limits([str(suite)])
        mock.faults(**{"500": 0.4})
        with stack.worker(tmp_path / "home"):
            run = stack.start("benchmark/benchmark", suite=str(suite))
            assert stack.wait(run).state_name == "Failed", stack.logs(run)
            assert mock.stats()["requests"] == CELLS
            failed = mock.stats()["faults"]["500"]
            assert 0 < failed < CELLS
            assert _kinds(stack, run, "failures-failing") == {"provider_error": failed}
            mock.faults()
            picture = PICTURES / "failed-run.png"
            said = _press_retry(f"{stack.url.removesuffix('/api')}/runs/flow-run/{run}", picture, PICTURES / "retry.png")
            assert "provider_error" in said or "cells judged" in said
            assert picture.stat().st_size > 20_000
            ended = stack.wait(run)
        assert ended.state_name == "Completed", f"{ended.state}\n{stack.logs(run)}"
        assert ended.run_count == 2
        assert mock.stats()["requests"] == CELLS + failed, "exactly the missing calls"
    judged = tables(tmp_path / "home" / "store.duckdb")["judgements"]
    assert judged.height == CELLS and set(judged["outcome"]) == {"answered"}


def _kinds(stack: Stack, run: UUID, key: str) -> dict[str, int]:
    """Kind -> count of the failures artifact that a run left."""
    with stack.client() as client:
        body = {"artifacts": {"key": {"any_": [key]}, "flow_run_id": {"any_": [str(run)]}}}
        (found, *_) = client.request("POST", "/artifacts/filter", json=body).json()
    return {row["kind"]: row["count"] for row in json.loads(found["data"])}
