"""The shipped suite of the paper: its thirty configurations, SciCore and its ablations, as data."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.analyses import reviewers
from flows.suites import Suite, load_suite
from storage.errors import SuiteError
from tasks.judge.native.registry import NATIVE

GENERAL = ("gpt-5.5", "gpt-5-mini", "anthropic/claude-sonnet-5", "google/gemini-3.5-flash-lite", "qwen/qwen-3.5-flash",
           "z-ai/glm-5.2", "moonshotai/kimi-k2.6", "openai/gpt-oss-120b")


@pytest.fixture(scope="module")
def suite() -> Suite:
    return load_suite("robust_review")


def test_eight_models_under_three_protocols_and_six_reviewers_are_thirty(suite: Suite) -> None:
    configurations = {each.name: each for each in suite.judge.all_configurations()}
    for model in GENERAL:
        for protocol in ("standard", "strict", "persistent"):
            assert configurations[f"{model}/{protocol}"].protocol == protocol
    natives = [each for each in configurations.values() if each.protocol in {native.name for native in NATIVE}]
    assert len(natives) == 6 == len({each.protocol for each in natives})
    assert len(GENERAL) * 3 + len(natives) == 30


def test_openai_gets_no_sampling_parameters_and_three_models_reason_hard(suite: Suite) -> None:
    for each in suite.judge.all_configurations():
        endpoint = suite.judge.endpoints[each.endpoint]
        if each.endpoint == "openai":
            assert endpoint.api == "responses" and each.manner(endpoint).parameters == {}
        hard = each.model in ("z-ai/glm-5.2", "moonshotai/kimi-k2.6", "openai/gpt-oss-120b")
        assert (each.parameters == {"reasoning": {"effort": "high"}}) == hard


def test_what_scicore_shares_is_asked_once(suite: Suite) -> None:
    configurations = {each.name: each for each in suite.judge.all_configurations()}

    def asked(name: str) -> set[str]:
        each = configurations[name]
        return set(each.way().questions(each.manner(suite.judge.endpoints[each.endpoint])))

    assert asked("SciCore") >= asked("gpt-5.5/strict") | asked("gpt-5.5/core_adapted")
    assert asked("gpt-5.5/strict") == asked("gpt-5.5/strict x3")
    assert not asked("SciCore") & asked("gpt-5-mini/core_adapted")


def test_the_report_says_whose_prompt_a_reviewer_was_sent(suite: Suite) -> None:
    notes = {row["configuration"]: row for row in reviewers(suite)}
    assert set(notes) == {"OpenReviewer", "CycleReviewer", "DeepReviewer", "AI Scientist", "OpenJudge", "ProReviewer",
                          "SciCore"}
    assert notes["OpenReviewer"]["prompt"].startswith("own text; the checkpoint was trained with another")
    assert notes["OpenJudge"]["scale"] == "1 to 6"


def written(tmp_path: Path, text: str) -> str:
    place = tmp_path / "mine.yaml"
    place.write_text(text)
    return str(place)


PLAIN = """
name: mine
benchmark: robust_review
families: {{source: folder, path: papers}}
judge:
  endpoints: {{phantom: {{kind: phantom}}}}
  configurations:
    - {{name: a, endpoint: phantom, model: phantom-01, protocol: openreviewer{options}}}
{more}
"""


def test_a_prompt_is_read_from_the_users_file_and_counts_by_its_content(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("The very words.\n")
    named = PLAIN.format(options=", options: {prompt_file: words.txt}", more="")
    suite = load_suite(written(tmp_path, named))
    (configuration,) = suite.judge.configurations
    assert configuration.options == {"prompt": "The very words.\n"}
    assert reviewers(suite)[0]["prompt"] == "supplied by the user"
    (tmp_path / "words.txt").write_text("Other words.\n")
    assert load_suite(str(tmp_path / "mine.yaml")).hash() != suite.hash()
    (tmp_path / "words.txt").unlink()
    with pytest.raises(SuiteError, match=r"options\.prompt_file: .*words\.txt cannot be read"):
        load_suite(str(tmp_path / "mine.yaml"))


@pytest.mark.parametrize(("options", "more", "said"), [
    (", options: {colour: red}", "", "options.colour of openreviewer"),
    (", options: {parser: loose}", "", "options.parser of openreviewer"),
    ("", "analyses: [{name: x, kind: backbones, configurations: [a, b]}]", "analyses.0: there is no configuration 'b'"),
    ("", "analyses: [{name: x, kind: horoscope}]", "analyses.0"),
    ("", "analyses: [{name: x, kind: embedding_separation, configuration: a, endpoint: phantom, model: m}]",
     "no endpoint with api: embeddings"),
])
def test_wrong_options_and_analyses_are_named(tmp_path: Path, options: str, more: str, said: str) -> None:
    with pytest.raises(SuiteError, match=said.replace(".", r"\.")):
        load_suite(written(tmp_path, PLAIN.format(options=options, more=more)))
