"""A suite file becomes a checked record, or one line that names the file and the field."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.suites import SHIPPED, load_suite
from storage.errors import SuiteError

MINIMAL = """
name: small
benchmark: robust_review
families: {source: folder, path: papers}
rewrite:
  producers:
    - {name: rules-a, kind: rules, seed: 1}
judge:
  endpoints:
    mock: {base_url: "http://127.0.0.1:8900/v1", max_in_flight: 64}
  matrix:
    - {endpoint: mock, models: [m1, m2], protocols: [standard, strict]}
budget: {usd: 400, tokens: 2000000000}
"""


@pytest.fixture
def suite_file(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(MINIMAL)
    return path


def test_matrix_is_every_model_by_every_protocol(suite_file: Path) -> None:
    suite = load_suite(str(suite_file))
    names = [configuration.name for configuration in suite.judge.all_configurations()]
    assert names == ["m1/standard", "m1/strict", "m2/standard", "m2/strict"]
    assert suite.judge.endpoints["mock"].name == "mock"
    assert suite.path("papers") == suite_file.parent / "papers"


@pytest.mark.parametrize("shipped", sorted(path.stem for path in SHIPPED.glob("*.yaml")))
def test_shipped_suites_load(shipped: str) -> None:
    assert load_suite(shipped).name


def test_override_by_dotted_path(suite_file: Path) -> None:
    suite = load_suite(str(suite_file), ["judge.repeats=3", "budget.usd=1.5", "rewrite.producers.0.seed=9"])
    assert (suite.judge.repeats, suite.budget.usd, suite.rewrite.producers[0].seed) == (3, 1.5, 9)


def test_place_is_no_part_of_the_hash(suite_file: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere" / "small.yaml"
    moved.parent.mkdir()
    moved.write_text(MINIMAL)
    assert load_suite(str(moved)).hash() == load_suite(str(suite_file)).hash()
    assert load_suite(str(moved), ["seed=7"]).hash() != load_suite(str(suite_file)).hash()


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("seed: 1}", "seed: 1, sed: 2}", "rewrite.producers.0.sed: unknown field"),
        ("name: small", "name: small\ncolour: red", "colour: unknown field"),
        ("endpoint: mock, models", "endpoint: mick, models", "names endpoint 'mick'; known are mock"),
        ("[standard, strict]", "[standard, strickt]", "did you mean 'strict'"),
        ("benchmark: robust_review", "benchmark: robust", "benchmark:"),
        ("{usd: 400,", "{usd: -1,", "budget.usd:"),
        ("max_in_flight: 64", "max_in_flight: 0", "max_in_flight"),
        ("seed: 1}", "seed: 1}\n    - {name: rules-a, kind: rules}", "two producers are named 'rules-a'"),
        ("rewrite:", "rewrite:\n  conditions: [novelty]", "unknown condition 'novelty'"),
    ],
)
def test_wrong_fields_are_named_in_one_line(suite_file: Path, old: str, new: str, field: str) -> None:
    suite_file.write_text(MINIMAL.replace(old, new, 1))
    with pytest.raises(SuiteError) as caught:
        load_suite(str(suite_file))
    message = str(caught.value)
    assert message.startswith(str(suite_file)) and field in message and "\n" not in message


@pytest.mark.parametrize("text", ["", "- a\n- b", "name: [unclosed", "\x00"])
def test_files_that_are_no_suite(tmp_path: Path, text: str) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text(text)
    with pytest.raises(SuiteError, match="broken.yaml") as caught:
        load_suite(str(path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("assignment", ["judge", "=3", "seed=[", "name.x=3", "rewrite.producers.7.seed=1"])
def test_wrong_overrides(suite_file: Path, assignment: str) -> None:
    with pytest.raises(SuiteError, match="--set"):
        load_suite(str(suite_file), [assignment])


def test_unknown_suite_says_what_is_shipped() -> None:
    with pytest.raises(SuiteError, match="demo"):
        load_suite("no-such-suite")
