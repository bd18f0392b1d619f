"""How sure the numbers are: noise floor, variance, power, certified versions, distances; shifts worth reading."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from storage.results import Certified, Comparison, Estimate, Power, Results, ReviewPair
from tasks.report.inference import certified, inference
from tasks.report.leaderboard import rows
from tasks.report.page import render, write_report
from tasks.report.shifts import pages_beside, readable, review_pairs, version_pages
from tasks.report.verdicts import standing
from tasks.report.version_page import page_file
from tasks.report.words import condition_title

BAD = "</script><script>window.pwned=1</script>\u2028<img src=x onerror=alert(1)>"


def _with(results: Results, place: int = 0, **metrics: Estimate) -> Results:
    judges = list(results.configurations)
    judges[place] = judges[place].model_copy(update={"metrics": {**judges[place].metrics, **metrics}})
    return results.model_copy(update={"configurations": judges})


def test_a_suite_without_null_arm_says_so(demo_page: str) -> None:
    assert "This suite has no null arm" in demo_page


def test_drift_is_more_than_noise_only_where_the_interval_of_the_excess_leaves_out_0(demo: Results) -> None:
    found = _with(demo, noise_mad=Estimate(value=0.2, n=9), excess_mad=Estimate(value=0.3, low=0.1, high=0.5, n=6))
    found = _with(found, 1, noise_mad=Estimate(value=0.2, n=9), excess_mad=Estimate(value=0.1, low=-0.1, high=0.3, n=6))
    found = _with(found, 2, noise_mad=Estimate(value=0.2), excess_mad=Estimate(value=None, reason="no pair"))
    made = inference(found, standing(found))
    words = {row.name: row.verdict for row in made.noise}
    names = [each.name for each in demo.configurations]
    assert words == {names[0]: "More than noise", names[1]: "Not more than noise", names[2]: "No pair"}
    assert made.noise_lead.startswith("1 of 3 judges")


def test_variance_components_are_shown_as_they_are_and_drawn_from_0(demo: Results) -> None:
    parts = dict(zip(("family", "condition", "producer", "family_x_condition", "residual"),
                     (3.0, 0.5, -0.1, 0.0, 0.5), strict=True))
    found = _with(demo, **{f"variance_{name}": Estimate(value=value, n=6) for name, value in parts.items()})
    found = _with(found, 1, variance_family=Estimate(value=None, reason="not every producer made every condition"))
    table = inference(found, standing(found)).variance
    assert table is not None and len(table.rows) == 1
    assert table.rows[0].cells == ["3.000", "0.500", "−0.100", "0.000", "0.500"]
    assert table.rows[0].shares == [75.0, 12.5, 0.0, 0.0, 12.5]
    assert table.lacking == [("Not every producer made every condition", 1)]


def test_power_is_on_the_page(demo: Results) -> None:
    made = Power(metric="mad", families=60, pairs=40, detectable=0.12, detectable_low=0.1, detectable_high=0.2,
                 needed={"0.1": 87})
    page = render(demo.model_copy(update={"power": [made]}))
    assert "<b>0.12</b>" in page and "0.10 to 0.20" in page and "87</b>" in page


def test_certified_versions_stand_beside_all(demo: Results) -> None:
    name = demo.configurations[0].name
    whole = demo.configurations[0].metrics["mad"].value or 0.0
    part = Certified(rule="all five checks passed", versions=100, of=120, configurations={
        name: {"mad": Estimate(value=whole + 1, low=whole + 0.5, high=whole + 2, n=90)}})
    found = demo.model_copy(update={"sections": {"certified": part.model_dump(mode="json")}})
    shown = certified(found, standing(found))
    assert shown is not None and shown.labels == ["MAD"] and shown.moved.startswith("1 of 1 judges")
    page = render(found)
    assert "Certified versions only" in page and "100 of 120 versions" in page and 'id="further"' not in page
    other = demo.model_copy(update={"sections": {"certified": {"something": "else"}}})
    assert certified(other, standing(other)) is None and render(other)


def test_a_distance_to_the_best_judge_is_shown_whichever_way_it_was_compared(demo: Results) -> None:
    where = standing(demo)
    assert where.best is not None
    one, two = [each.name for each in where.order if each.name != where.best.name][:2]
    made = [
        Comparison(metric="discriminability", first=where.best.name, second=one, p_value=0.001, p_holm=0.02,
                   difference=Estimate(value=0.2, low=0.1, high=0.3, n=6)),
        Comparison(metric="discriminability", first=two, second=where.best.name,
                   difference=Estimate(value=-0.1, low=-0.2, high=0.05, n=6)),
    ]
    found = {row.name: row for row in rows(standing(demo.model_copy(update={"comparisons": made})))}
    assert found[one].behind == ("−0.20", "[−0.30, −0.10]") and "p = 0.020 (Holm)" in found[one].behind_tip
    assert found[two].behind == ("−0.10", "[−0.20, +0.05]") and "not tested" in found[two].behind_tip
    assert found[where.best.name].behind is None


def test_a_rival_that_was_never_compared_is_judged_by_its_interval(demo: Results) -> None:
    """Not compared is not the same as not different."""
    where = standing(demo)
    assert where.best is not None
    able = [each for each in demo.configurations if where.verdicts[each.name] in ("level", "separates")]
    one = Comparison(metric="discriminability", first=where.best.name, second=able[0].name, p_value=0.5, p_holm=0.5,
                     difference=Estimate(value=0.01, low=-0.1, high=0.1, n=6))
    found = standing(demo.model_copy(update={"comparisons": [one]}))
    assert found.verdicts[able[0].name] == "level" and not found.tested
    without = standing(demo.model_copy(update={"comparisons": []}))
    for each in able[1:]:
        assert found.verdicts[each.name] == without.verdicts[each.name]


def _reviews(results: Results, *texts: str) -> list[dict[str, Any]]:
    judge = results.configurations[0]
    family = results.families[0].family
    label = next(label for label in judge.scores[family] if label != "original")
    condition, _, producer = label.partition("/")
    return [ReviewPair(configuration=judge.name, family=family, condition=condition, producer=producer,
                       original=one, reworded=two).model_dump(mode="json") for one, two in [texts]]


def test_reviews_reach_the_page_as_text(demo: Results) -> None:
    section = [*_reviews(demo, '{"summary": "fine", "rating": 6, "weaknesses": ["a", "b"]}', BAD), {"not": "a pair"}]
    found = demo.model_copy(update={"sections": {"reviews": section}})
    assert len(review_pairs(found)) == 1
    page = render(found)
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, flags=re.DOTALL).group(1))  # type: ignore[union-attr]
    ((rows),) = data["reviews"].values()
    assert rows[0][2] == "Summary: fine\nRating: 6\nWeaknesses:\n– a\n– b" and rows[0][3] == BAD
    assert "window.pwned" not in re.sub(r"\\u003c", "<", page.split('id="data">')[0])


@pytest.mark.parametrize("answer", ["", "{", "no json {at all}", '["a"]', "}{", '{"a": {"b": {"c": {"d": {"e": 1}}}}}'])
def test_any_answer_can_be_read(answer: str) -> None:
    assert isinstance(readable(answer), str) and (answer == "") == (readable(answer) == "")


@pytest.mark.parametrize(
    "path", ["javascript:alert(1)", "//a.b/c.html", "versions/../../x.html", "https://a.b/versions/x.html",
             "versions/x.html?y", "versions/..html/../x.html", "versions/x.htm", "VERSIONS/x.html"])
def test_only_plain_paths_under_versions_are_links(demo: Results, path: str) -> None:
    family = demo.families[0].family
    assert version_pages(demo, {family: {"joint/rules-a": path}}) == {}
    named = demo.versions[1].model_copy(update={"facts": {"page": path}})
    assert version_pages(demo.model_copy(update={"versions": [named]}), {}) == {}


def test_a_version_page_is_linked_where_it_lies(demo: Results, tmp_path: Path) -> None:
    version = next(each for each in demo.versions if each.condition != "original")
    file = page_file(version.family, condition_title(version.condition), version.producer)
    (tmp_path / "versions").mkdir()
    (tmp_path / "versions" / file).write_text("<p>")
    label = f"{version.condition}/{version.producer}"
    assert pages_beside(demo, tmp_path) == {version.family: {label: f"versions/{file}"}}
    page = write_report(demo, tmp_path, has_version_pages=True).read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, flags=re.DOTALL).group(1))  # type: ignore[union-attr]
    assert list(data["pages"].values()) == [{str([v[2] for v in data["versions"]].index(label)): f"versions/{file}"}]


def test_a_title_says_what_a_name_does_not(demo: Results) -> None:
    where = standing(demo)
    assert where.best is not None
    judges = [each.model_copy(update={"title": f"kind {index} <b>"}) for index, each in enumerate(demo.configurations)]
    page = render(demo.model_copy(update={"configurations": judges}))
    best = next(each.title for each in judges if each.name == where.best.name) or ""
    hero = page[page.index('class="hero'):page.index('class="cards"')]
    assert best.replace("<", "&lt;").replace(">", "&gt;").split("&")[0] in hero and where.best.name in hero
