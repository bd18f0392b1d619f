"""The page in a real browser: no request, no error, and everything that a reader can do with it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tasks.report.page import write_report
from tests.fixtures.report_results import full_results, hostile_results, make_results


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    made = {"demo": make_results(), "full": full_results(), "hostile": hostile_results()}
    return {name: write_report(results, tmp_path_factory.mktemp(name)).as_uri() for name, results in made.items()}


class Visit:
    """A page with what it logged and asked for."""

    def __init__(self, browser: Browser, **options: Any) -> None:
        self.page: Page = browser.new_page(**options)
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def open(self, address: str) -> Page:
        self.page.goto(address)
        self.page.wait_for_selector("#judge-body > *")
        return self.page


@pytest.fixture
def visit(browser: Browser) -> Iterator[Any]:
    visits: list[Visit] = []

    def start(address: str, **options: Any) -> Visit:
        visits.append(Visit(browser, **options))
        visits[-1].open(address)
        return visits[-1]

    yield start
    for each in visits:
        assert each.said == [], "the console stays silent"
        assert {url.split("#")[0] for url in each.asked if not url.startswith(("data:", "blob:"))} == {
            each.page.url.split("#")[0]
        }
        each.page.close()


def _names(page: Page) -> list[str]:
    found: list[str] = page.eval_on_selector_all(
        "#board tbody tr:not([hidden])", "rows => rows.map(row => row.dataset.name)"
    )
    return found


def _wide(page: Page) -> tuple[int, int]:
    return page.evaluate("document.documentElement.scrollWidth"), page.evaluate("innerWidth")


@pytest.mark.parametrize("which", ["demo", "full", "hostile"])
@pytest.mark.parametrize("width", [375, 768, 1280])
def test_the_page_never_scrolls_sideways(visit: Any, pages: dict[str, str], which: str, width: int) -> None:
    page = visit(pages[which], viewport={"width": width, "height": 812}).page
    assert _wide(page) == (width, width)
    assert page.locator("h1").is_visible() and page.locator(".hero").is_visible()


def test_the_full_benchmark_opens_in_under_two_seconds(visit: Any, pages: dict[str, str]) -> None:
    page = visit(pages["full"]).page
    assert page.evaluate("performance.getEntriesByType('navigation')[0].duration") < 2000


def test_sorting(visit: Any, pages: dict[str, str]) -> None:
    page = visit(pages["demo"]).page
    head = page.locator("#board th", has=page.locator("button[data-key=mad]"))
    page.click("#board button[data-key=mad]")
    assert head.get_attribute("aria-sort") == "ascending"
    values = page.eval_on_selector_all("#board tbody tr", "rows => rows.map(row => Number(row.cells[3].dataset.v))")
    assert values == sorted(values)
    page.click("#board button[data-key=mad]")
    assert head.get_attribute("aria-sort") == "descending"
    page.click("#board button[data-key=discriminability]")
    last = page.eval_on_selector_all("#board tbody tr", "rows => rows.map(row => row.cells[2].dataset.v)")
    assert last[-1] == "" and "" not in last[:1], "a judge without value comes last"
    assert "sort=discriminability" in page.url


def test_filtering_and_clearing(visit: Any, pages: dict[str, str]) -> None:
    page = visit(pages["demo"]).page
    page.fill("input[name=q]", "glm strict")
    assert _names(page) == ["glm-5.2/strict"]
    assert page.inner_text("#shown") == "1 of 31 judges"
    page.fill("input[name=q]", "nobody")
    assert page.locator("#none-shown").is_visible()
    page.click("#filters button[type=reset]")
    page.wait_for_function("document.getElementById('shown').textContent === '31 judges'")
    page.select_option("select[name=verdict]", "flat")
    assert "openjudge" in _names(page) and len(_names(page)) < 31


def test_deep_links(visit: Any, pages: dict[str, str]) -> None:
    page = visit(pages["demo"] + "#judge=gpt-5.5%2Fstrict&vs=openjudge").page
    assert page.inner_text("#judge-body .one-head h3") == "gpt-5.5/strict"
    assert "openjudge" in page.inner_text("#judge-body thead >> nth=0")
    assert page.evaluate("Math.abs(document.getElementById('judge').getBoundingClientRect().top)") < 60
    board = visit(pages["demo"] + "#leaderboard&sort=mad&dir=asc&q=gemini").page
    assert _names(board)[0].startswith("gemini-3.5-flash-lite") and len(_names(board)) == 3
    broken = visit(pages["demo"] + "#judge=%E0%A4%A&vs=nobody").page
    assert broken.locator("#judge-body .one-head h3").is_visible()


def test_a_point_of_the_plot_leads_to_its_judge(visit: Any, pages: dict[str, str]) -> None:
    page = visit(pages["demo"], viewport={"width": 1280, "height": 900}).page
    point = page.locator("[data-plot=stability] .wide a").first
    target = point.get_attribute("href")
    point.scroll_into_view_if_needed()
    # Scrolling hides tips: let its event pass first.
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    point.locator("path").hover()
    page.wait_for_function("document.getElementById('tip').textContent.includes('Discriminability')")
    point.focus()
    page.keyboard.press("Enter")
    page.wait_for_function(f"location.hash === {json.dumps(target)}")
    assert page.locator("#choose select[name=judge]").input_value() in _names(page)


def test_light_and_dark_follow_the_system_and_the_button(visit: Any, pages: dict[str, str]) -> None:
    def ground(page: Page) -> str:
        found: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return found

    def ink(page: Page) -> str:
        found: str = page.evaluate("getComputedStyle(document.querySelector('.wide svg text')).fill")
        return found

    light, dark = visit(pages["demo"], color_scheme="light").page, visit(pages["demo"], color_scheme="dark").page
    assert ground(light) != ground(dark) and ink(light) != ink(dark)
    light.click("#theme")
    light.click("#theme")
    assert light.inner_text("#theme") == "Theme: dark"
    assert ground(light) == ground(dark) and ink(light) == ink(dark)
    light.reload()
    assert ground(light) == ground(dark), "the choice is remembered"


def test_everything_works_by_keyboard(visit: Any, pages: dict[str, str]) -> None:
    page = visit(pages["demo"], viewport={"width": 1280, "height": 900}).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.locator("#board button[data-key=spr]").focus()
    page.keyboard.press("Enter")
    assert (
        page.locator("#board th", has=page.locator("button[data-key=spr]")).get_attribute("aria-sort") == "descending"
    )
    page.locator("input[name=plot][value=stability]").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("[data-plot=agreement]").is_visible() and not page.locator("[data-plot=stability]").is_visible()
    for box in page.query_selector_all(".scroll"):
        assert box.get_attribute("tabindex") == "0" and box.get_attribute("aria-label")


def test_print_shows_whole_tables_and_no_controls(visit: Any, pages: dict[str, str]) -> None:
    page = visit(pages["demo"], color_scheme="dark", viewport={"width": 794, "height": 1100}).page
    page.emulate_media(media="print")
    assert not page.locator(".rail").is_visible() and not page.locator("#filters").is_visible()
    assert page.locator("#board tbody tr").last.is_visible()
    assert page.evaluate("getComputedStyle(document.querySelector('#board').parentNode).overflowY") == "visible"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert len(page.pdf(format="A4")) > 20_000


def test_downloads_are_the_files(visit: Any, pages: dict[str, str], tmp_path: Path) -> None:
    page = visit(pages["demo"]).page
    with page.expect_download() as coming:
        page.click("button.file:has-text('metrics.json')")
    path = tmp_path / coming.value.suggested_filename
    coming.value.save_as(path)
    assert path.name == "metrics.json"
    assert json.loads(path.read_text(encoding="utf-8")) == make_results().model_dump(mode="json")


def test_hostile_names_run_nothing(visit: Any, pages: dict[str, str]) -> None:
    page = visit(pages["hostile"]).page
    name = hostile_results().configurations[0].name
    page.select_option("#choose select[name=judge]", name)
    page.wait_for_function("document.querySelector('#judge-body h3').textContent.includes('pwned')")
    for row in page.query_selector_all("#judge-body [data-tip]")[:5]:
        row.scroll_into_view_if_needed()
        row.hover()
    assert page.evaluate("window.pwned") is None
    assert page.locator("img").count() == 0


def test_words_are_readable_on_their_ground(visit: Any, pages: dict[str, str]) -> None:
    """Contrast of at least 4.5 for the page's colours on surface and page, both themes (WCAG AA)."""
    script = """names => { const probe = document.createElement('span'); document.body.append(probe);
        const rgb = name => {
            probe.style.color = `var(--${name})`;
            return getComputedStyle(probe).color.match(/[\\d.]+/g).slice(0, 3).map(Number);
        };
        const found = Object.fromEntries(names.map(name => [name, rgb(name)])); probe.remove(); return found; }"""
    pairs = [(ink, ground) for ink in ("ink", "muted", "blue", "green", "orange") for ground in ("page", "surface")]
    pairs += [
        ("on-n4", "n4"),
        ("on-p4", "p4"),
        ("on-mid", "n3"),
        ("on-mid", "p3"),
        ("on-mid", "n2"),
        ("on-mid", "p2"),
        ("ink", "n1"),
        ("ink", "p1"),
        ("ink", "z0"),
    ]
    for scheme in ("light", "dark"):
        page = visit(pages["demo"], color_scheme=scheme).page
        colors = page.evaluate(script, sorted({name for pair in pairs for name in pair}))
        for ink, ground in pairs:
            assert _contrast(colors[ink], colors[ground]) >= 4.5, (scheme, ink, ground)


def _contrast(one: list[float], two: list[float]) -> float:
    def light(color: list[float]) -> float:
        parts = [part / 255 for part in color]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    high, low = sorted((light(one), light(two)), reverse=True)
    return (high + 0.05) / (low + 0.05)
