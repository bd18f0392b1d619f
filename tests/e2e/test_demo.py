"""`make demo`, as a stranger types it: all three benchmarks, offline, onto one page that a browser opens without a word."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.e2e.test_report_accessibility import AXE, RUN

PICTURES = Path(os.environ.get("EVENHAND_TEST_ARTIFACTS", "test-artifacts"))


@pytest.fixture(scope="module")
def demo(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the demonstration's report, made by the README's first command."""
    folder = tmp_path_factory.mktemp("a demo")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("EVENHAND_", "PREFECT_"))}
    ended = subprocess.run(
        ["make", "demo", f"OUT={folder}/out"], cwd=root, capture_output=True, text=True, timeout=1200,
        env=environment | {"EVENHAND_HOME": str(folder / "home")},
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert "Traceback" not in ended.stderr and "Warning" not in ended.stderr, ended.stderr[-3000:]
    assert f"report: {folder}/out/demo/index.html" in ended.stderr + ended.stdout
    return folder / "out" / "demo"


@pytest.mark.slow
@pytest.mark.timeout(1300)
def test_the_demonstration_is_complete(demo: Path) -> None:
    told = json.loads((demo / "metrics.json").read_text())
    assert told["state"] == "complete"
    counted = [each["cells"] for each in told["configurations"]]
    assert len(counted) >= 34 and all(cells["answered"] == cells["wanted"] > 0 for cells in counted)
    assert {"bias", "style", "analyses"} <= set(told["sections"])
    drift = next(each for each in told["sections"]["analyses"] if each["name"] == "Does the core branch drift less?")
    core = next(row for row in drift["rows"] if "core_adapted" in row["label"] and row["values"][0] == "mad")
    assert core["values"][1]["high"] < 0, "the core branch of a judge that rhetoric moves drifts less, its whole interval below zero"


@pytest.mark.slow
@pytest.mark.timeout(1300)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 375])
def test_its_page_is_silent_and_without_serious_fault(browser: Browser, demo: Path, scheme: Any, width: int) -> None:
    context = browser.new_context(bypass_csp=True, color_scheme=scheme, viewport={"width": width, "height": 900})
    page = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto((demo / "index.html").as_uri())
    page.wait_for_selector("#judge-body > *")
    assert said == [] and [url for url in asked if not url.startswith(("data:", "blob:"))] == [page.url]
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "it scrolls sideways"
    page.eval_on_selector_all("details", "folds => folds.forEach(fold => { fold.open = true; })")
    PICTURES.mkdir(exist_ok=True, parents=True)
    page.screenshot(path=str(PICTURES / f"demo-{scheme}-{width}.png"))
    page.add_script_tag(path=str(AXE))
    bad = [each for each in page.evaluate(RUN) if each["impact"] in ("serious", "critical")]
    assert not bad, "\n".join(f"{each['id']} ({each['impact']}): {each['nodes'][:3]}" for each in bad)
    context.close()
