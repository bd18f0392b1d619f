"""The page as text: self-contained, escaped, complete, small."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from storage.results import Estimate, Results
from tasks.report.page import write_report
from tasks.report.payload import embed

VOID = {"meta", "link", "br", "img", "input", "wbr", "hr"}


class Reading(HTMLParser):
    """Elements, attributes and visible text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._silent = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._silent = tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._silent = False

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.mark.parametrize("which", ["demo_page", "full_page", "hostile_page"])
def test_no_address_outside_the_page(which: str, request: pytest.FixtureRequest) -> None:
    page = request.getfixturevalue(which)
    for tag, attributes in Reading(page).elements:
        for name in ("src", "href", "xlink:href", "action", "data", "poster", "srcset", "formaction", "ping"):
            value = attributes.get(name)
            assert value is None or value.startswith("#") or value == "data:,", (tag, name, value)
        assert not [name for name in attributes if name.startswith("on")], (tag, attributes)
    without_data = re.sub(r"<script type=.*?</script>", "", page, flags=re.DOTALL)
    addresses = set(re.findall(r"(?:https?:)?//[a-z][\w.-]*\.[a-z]{2,}[^\s\"'<)]*", without_data))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert "@import" not in page and not re.search(r"url\((?!#)", without_data)


def test_the_policy_lets_only_our_script_run(demo_page: str) -> None:
    policy = next(
        attributes["content"] for tag, attributes in Reading(demo_page).elements if attributes.get("http-equiv")
    )
    assert policy is not None and policy.startswith("default-src 'none'") and "script-src 'sha256-" in policy
    assert "unsafe-inline" not in policy.split("script-src")[1].split(";")[0] and "unsafe-eval" not in policy


def test_hostile_text_stays_text(hostile_page: str, hostile: Results) -> None:
    reading = Reading(hostile_page)
    tags = [tag for tag, _ in reading.elements]
    assert "img" not in tags and "textarea" not in tags
    running = [attributes for tag, attributes in reading.elements if tag == "script" and attributes.get("type") is None]
    assert len(running) == 1
    assert hostile.title in reading.text.replace("\n", " ")
    assert hostile.exclusions[0].detail is not None and hostile.exclusions[0].detail in reading.text
    assert "window.pwned" not in "".join(re.findall(r"<style>.*?</style>", hostile_page, flags=re.DOTALL))


@pytest.mark.parametrize("which", ["demo", "full", "hostile"])
def test_the_pages_data_is_json_without_nan(which: str, request: pytest.FixtureRequest) -> None:
    page = request.getfixturevalue(f"{which}_page")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, flags=re.DOTALL)
    assert found is not None and "<" not in found.group(1)

    def refuse(word: str) -> None:
        raise AssertionError(word)

    data = json.loads(found.group(1), parse_constant=refuse)
    results = request.getfixturevalue(which)
    assert sorted(judge["name"] for judge in data["judges"]) == sorted(each.name for each in results.configurations)


def test_embed_refuses_nan() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        embed({"x": float("nan")})


def test_scores_reach_the_page_unchanged(full_page: str, full: Results) -> None:
    data = json.loads(re.search(r'id="data">(.*?)</script>', full_page, flags=re.DOTALL).group(1))  # type: ignore[union-attr]
    judge = full.configurations[4]
    shown = next(each for each in data["judges"] if each["name"] == judge.name)
    labels = [version[2] for version in data["versions"]]
    for place, (family, _, _) in enumerate(data["families"]):
        assert dict(zip(labels, shown["scores"][place], strict=True)) == judge.scores[family]


def test_undefined_numbers_are_shown_with_their_reason(demo_page: str, demo: Results) -> None:
    reasons = {
        found.reason
        for each in demo.configurations
        for found in each.metrics.values()
        if found.value is None and found.reason
    }
    assert "under_5_families" in reasons
    text = Reading(demo_page).text
    for reason in reasons:
        assert reason.replace("_", " ").capitalize() in text


def test_no_number_is_nan_even_where_results_hold_one(demo: Results, tmp_path: Path) -> None:
    first = demo.configurations[0]
    broken = first.model_copy(
        update={"metrics": first.metrics | {"mad": Estimate(value=float("nan"), low=float("inf"), high=None, n=1)}}
    )
    page = write_report(
        demo.model_copy(update={"configurations": [broken, *demo.configurations[1:]]}), tmp_path
    ).read_text(encoding="utf-8")
    assert not re.search(r"\b(nan|inf|NaN|Infinity)\b", Reading(page).text)


def test_every_judge_condition_and_exclusion_is_on_the_page(demo_page: str, demo: Results) -> None:
    text = Reading(demo_page).text
    compact = text.replace(" ", "")
    for each in demo.configurations:
        assert each.name.replace(" ", "") in compact
    for words in (
        "Novelty stance",
        "Guided by feedback",
        "Does not build",
        "Undefined control sequence",
        "Unparsable",
        "bootstrap",
        "SciCore",
    ):
        assert words in text
    assert "–" in text and "not computed" not in text


def test_links_and_ids_fit(full_page: str, full: Results) -> None:
    elements = Reading(full_page).elements
    ids = [attributes["id"] for _, attributes in elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    names = {each.name for each in full.configurations}
    for href in {attributes["href"] for tag, attributes in elements if tag == "a" and attributes.get("href")}:
        assert href is not None
        if href.startswith("#judge="):
            assert unquote(href.removeprefix("#judge=")) in names
        else:
            assert href[1:] in ids


def test_everything_that_needs_a_name_has_one(demo_page: str) -> None:
    for tag, attributes in Reading(demo_page).elements:
        if attributes.get("role") in ("img", "region", "group"):
            assert attributes.get("aria-label"), (tag, attributes)
        if tag == "th":
            assert attributes.get("scope"), attributes


def test_the_full_benchmark_fits(full_page: str) -> None:
    assert len(full_page.encode("utf-8")) < 8_000_000


def test_a_report_of_nothing_is_still_a_page(demo: Results, tmp_path: Path) -> None:
    empty = demo.model_copy(
        update={
            "configurations": [],
            "effects": [],
            "comparisons": [],
            "families": [],
            "versions": [],
            "exclusions": [],
            "conditions": [],
            "producers": [],
            "provenance": {},
        }
    )
    page = write_report(empty, tmp_path / "new" / "folder")
    assert "Nothing was excluded" in page.read_text(encoding="utf-8") and page.name == "index.html"


def test_a_page_is_the_same_every_time(hostile: Results, hostile_page: str, tmp_path: Path) -> None:
    assert write_report(hostile, tmp_path).read_text(encoding="utf-8") == hostile_page
