"""Label placement, published values, unknown sections, the phantoms' rows and artifact texts."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.results import Estimate, Results
from tasks.report.artifacts import artifact_key, leaderboard_rows, publish_artifacts, verdict_markdown
from tasks.report.calibration import calibration
from tasks.report.effects import legend, shade
from tasks.report.labels import CHARACTER, HEIGHT, Placed, Spot, place
from tasks.report.leaderboard import histograms
from tasks.report.published import beside, published
from tasks.report.sections import flat, node, text
from tasks.report.theme import inline
from tasks.report.verdicts import standing

SPOTS = st.lists(
    st.tuples(st.text("abc/-", min_size=1, max_size=20), st.floats(0, 600), st.floats(0, 400)), max_size=25
)


def _box(each: Placed) -> tuple[float, float, float, float]:
    long = len(each.name) * CHARACTER
    left = each.x - {"left": 0.0, "right": long, "center": long / 2}[each.align]
    return left, each.y - HEIGHT / 2, left + long, each.y + HEIGHT / 2


@given(SPOTS)
def test_names_never_cover_each_other_nor_leave_the_plot(spots: list[tuple[str, float, float]]) -> None:
    points = [Spot(*each) for each in spots]
    boxes = [_box(each) for each in place(points, points, 600, 400)]
    for index, one in enumerate(boxes):
        assert one[0] >= 0 and one[1] >= 0 and one[2] <= 600 and one[3] <= 400
        for two in boxes[index + 1 :]:
            assert one[2] <= two[0] or two[2] <= one[0] or one[3] <= two[1] or two[3] <= one[1]


def test_a_lone_name_is_placed_and_a_reserved_place_is_kept() -> None:
    spot = Spot("judge", 100, 100)
    assert place([spot], [spot], 300, 200)[0].align == "left"
    assert place([spot], [spot], 300, 200, [(100, 80, 300, 120)])[0].align == "right"


def test_published_values_stand_beside_the_same_judge_only(full: Results, demo: Results) -> None:
    ours = {pair.published.name: pair.ours.name for pair in beside(full.configurations) if pair.ours}
    assert ours["GPT-5.5 strict"] == "gpt-5.5/strict" and ours["OpenJudge"] == "openjudge"
    assert "SciCore" not in ours
    assert not [pair for pair in beside(demo.configurations) if pair.ours], "a phantom is not the judge it mirrors"


def test_published_values_are_those_of_the_specification() -> None:
    rows = {row.name: row.metrics for row in published()}
    assert rows["SciCore"] == {
        "human_mae": 1.072,
        "human_spearman": 0.488,
        "mad": 0.476,
        "drift_sd": 0.687,
        "icc_a1": 0.775,
        "spr": 0.652,
        "discriminability": 0.726,
    }
    assert rows["GLM-5.2 persistent"]["human_spearman"] == -0.19 and "spr" not in rows["GLM-5.2 persistent"]


def test_a_phantoms_planted_value_outside_its_interval_is_marked(demo: Results) -> None:
    first = demo.configurations[0]
    off = first.model_copy(update={"planted": {"mad": 99.0, "icc_a1": None}})
    found = calibration(standing(demo.model_copy(update={"configurations": [off]})))
    assert found is not None and found.covered == [("MAD", 0, 1), ("ICC(A,1)", 0, 0)]


def test_continuous_scores_are_binned_onto_the_common_axis(demo: Results) -> None:
    shown = {each.name: each for each in histograms(standing(demo))}
    local = shown["smollm2-135m/standard"]
    assert [bar.label for bar in local.bars] == [bar.label for bar in shown["openjudge"].bars]
    assert sum(bar.cells for bar in local.bars) == 10


def test_shades_are_symmetric_and_named() -> None:
    steps = (0.1, 0.3, 0.6, 1.0)
    assert [shade(value, steps) for value in (None, 0.0, 0.09, 0.1, -0.3, 2, -2, float("nan"))] == [
        "dx",
        "d0",
        "d0",
        "dp1",
        "dn2",
        "dp4",
        "dn4",
        "dx",
    ]
    assert [each[0] for each in legend(steps)] == ["dn4", "dn3", "dn2", "dn1", "d0", "dp1", "dp2", "dp3", "dp4"]


def test_unknown_sections_become_tables_and_lists() -> None:
    found = node(
        {"rows": [{"a": 1, "b": None}, {"a": True, "c": Estimate(value=0.5, low=0.4, high=0.6, n=3).model_dump()}]}
    )
    table = found.pairs[0][1]
    assert table.columns == ["A", "B", "C"] and table.rows == [["1", "–", "–"], ["yes", "–", "0.50 [0.40, 0.60]"]]
    assert text({"k": [1.5, "x"]}) == "k: 1.500, x"
    assert flat({"seeds": {"a": 1}, "draws": 5000, "none": {}}) == [("seeds.a", "1"), ("draws", "5000"), ("none", "")]


def test_an_inlined_plot_has_its_own_ids_and_no_fonts() -> None:
    path = '<path clip-path="url(#clip0)" fill="#010106" xlink:href="#a"/>'
    svg = f'<svg width="10" height="20"><g id="clip0" font-family="x">{path}</g></svg>'
    found = inline(svg, name="p", label='a "b" <c>')
    assert 'id="p-clip0"' in found and "url(#p-clip0)" in found and 'fill="var(--blue)"' in found
    assert 'aria-label="a &quot;b&quot; &lt;c&gt;"' in found and 'font-family="x"' not in found


def test_artifact_keys_and_texts(hostile: Results) -> None:
    assert artifact_key("leaderboard", "GPT-5.5 demo!") == "leaderboard-gpt-5-5-demo"
    assert artifact_key("…") == "evenhand"
    words = verdict_markdown(hostile, page="out/index.html")
    assert "<script>" not in words and "`out/index.html`" in words
    assert len(leaderboard_rows(hostile)) == len(hostile.configurations)


@pytest.mark.slow
def test_artifacts_reach_prefect(demo: Results) -> None:
    from prefect import flow
    from prefect.artifacts import Artifact
    from prefect.testing.utilities import prefect_test_harness

    from tasks.report.artifacts import show_progress, start_progress

    @flow
    def publish() -> list[object]:
        bar = start_progress("demo", "judge")
        show_progress(bar, 3, 4)
        return [*publish_artifacts(demo)]

    # The harness's server stops when the process ends, and would then log into pytest's closed stream.
    logging.getLogger("prefect").addFilter(lambda record: "Stopping temporary server" not in record.getMessage())
    with prefect_test_harness():
        assert len(publish()) == 2
        table = Artifact.get(key="leaderboard-demo")
        progress = Artifact.get(key="progress-demo-judge")
        assert table is not None and "claude-sonnet-5" in str(table.data)
        assert progress is not None and progress.data == 75.0
