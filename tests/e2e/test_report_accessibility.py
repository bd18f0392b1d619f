"""The page under axe-core: no serious or critical fault, wide and narrow, light and dark, with everything opened."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from storage.results import Results
from tasks.report.page import write_report
from tests.fixtures.report_results import hostile_results, inferred_results

AXE = Path(__file__).parent / "vendor" / "axe-core" / "axe.min.js"
RUN = """() => axe.run(document, { resultTypes: ['violations'], runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa',
    'wcag22aa', 'best-practice'] }).then(found => found.violations.map(each => ({
    id: each.id, impact: each.impact, nodes: each.nodes.map(node => node.target.join(' ') + ' | ' + node.failureSummary)
})))"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    made: dict[str, Results] = {"demo": inferred_results(), "hostile": hostile_results()}
    return {name: write_report(results, tmp_path_factory.mktemp(name)).as_uri() for name, results in made.items()}


def faults(browser: Browser, address: str, **options: Any) -> list[dict[str, Any]]:
    """What axe finds on the page, with every fold opened and two judges compared."""
    # The page's own policy lets no foreign script in; the checker must get past it, a reader's browser never does.
    context = browser.new_context(bypass_csp=True, **options)
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("#judge-body > *")
    page.eval_on_selector_all("details", "folds => folds.forEach(fold => { fold.open = true; })")
    page.select_option("#choose select[name=vs]", index=2)
    page.add_script_tag(path=str(AXE))
    found: list[dict[str, Any]] = page.evaluate(RUN)
    context.close()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("which", ["demo", "hostile"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 375])
def test_axe_finds_no_serious_fault(
    browser: Browser, pages: dict[str, str], which: str, scheme: str, width: int
) -> None:
    found = faults(browser, pages[which], color_scheme=scheme, viewport={"width": width, "height": 900})
    bad = [each for each in found if each["impact"] in ("serious", "critical")]
    assert not bad, "\n".join(f"{each['id']} ({each['impact']}): {each['nodes'][:3]}" for each in bad)


def test_axe_sees_a_fault_when_there_is_one(browser: Browser, tmp_path: Path) -> None:
    """The check can fail: a page with an unnamed picture and pale words is not let through."""
    bad = tmp_path / "bad.html"
    bad.write_text(
        '<!doctype html><html><head><title>x</title></head><body><select id="choose"></select><div id="judge-body">'
        '<img src="data:,"></div><form id="choose"><select name="vs"><option>a<option>b<option>c</select></form>'
        '<p style="color:#ddd">pale</p></body></html>'
    )
    found = {each["id"] for each in faults(browser, bad.as_uri())}
    assert {"image-alt", "color-contrast", "html-has-lang"} <= found


def test_the_checker_is_the_one_that_its_note_names() -> None:
    note = (AXE.parent / "README.md").read_text(encoding="utf-8")
    named = re.search(r"`([0-9a-f]{64})`", note)
    assert named is not None and hashlib.sha256(AXE.read_bytes()).hexdigest() == named.group(1)
    assert "Mozilla Public License" in (AXE.parent / "LICENSE").read_text(encoding="utf-8")


def test_reviews_open_side_by_side_and_the_word_diff_is_linked(browser: Browser, pages: dict[str, str]) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(pages["demo"])
    page.wait_for_selector("#judge-body > *")
    fold = page.locator("tr.reviews details").first
    assert not fold.locator(".review").first.is_visible()
    fold.locator("summary").focus()
    page.keyboard.press("Enter")
    left, right = fold.locator(".review").all()
    assert "Weaknesses:" in left.inner_text() and "plain words" in right.inner_text()
    boxes = left.bounding_box(), right.bounding_box()
    assert boxes[0] is not None and boxes[1] is not None and boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
    links = page.eval_on_selector_all("#judge-body a", "links => links.map(link => link.getAttribute('href'))")
    assert set(links) == {"versions/page.html"}
    page.close()
