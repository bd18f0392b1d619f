"""SciCore: a checked record, cached once a version and backbone, a review of it, and a fusion that asks nobody."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.records import Judgement
from storage.store import Store
from storage.vocabulary import Outcome
from tasks.judge.cells import VersionRef
from tasks.judge.plan import plan
from tasks.judge.protocols import PROTOCOLS, Configuration
from tasks.judge.scicore.core import read_core
from tasks.judge.scicore.fusion import fused
from tasks.judge.shards import ShardOrder, ShardReport, judge_shard
from tasks.models.endpoints import EndpointSpec
from tasks.models.engine import Engine
from tasks.models.phantom import PHANTOMS
from tasks.models.science_core import HEADINGS, transcribed, written_back
from tests.unit.judge.conftest import Scripted, chat, review

CORE: dict[str, Any] = {
    "problem_and_setting": {"status": "Reported", "record": ["The authors ask whether counting works."]},
    "method_and_assumptions": {"status": "Reported", "record": ["They count."]},
    "experiments_and_results": {"status": "Reported", "record": [], "tables": [
        {"caption": "Counts", "columns": ["set", "count"], "rows": [["a", "17.5"], ["b", "[unreadable]"]]}]},
    "reproducibility": {"status": "Reported", "items": [{"item": "code", "status": "Not reported", "detail": ""}]},
    "limitations": {"status": "Not located", "record": []},
}
PAPER = "A paper written back. " * 20


def changed(**parts: Any) -> str:
    return json.dumps(CORE | parts)


def answers(rating: Callable[[dict[str, Any]], Any] = lambda body: 6, core: str | None = None) -> Any:
    """Extraction, reconstruction and review by what is asked for."""
    def answer(body: dict[str, Any]) -> httpx2.Response:
        schema = body.get("response_format", {}).get("json_schema", {}).get("schema", {})
        if "experiments_and_results" in schema.get("properties", {}):
            return chat(core if core is not None else changed())
        return chat(PAPER) if not schema else review(rating(body))
    return answer


def kinds(scripted: Scripted) -> list[str]:
    names = {"make a record": "extract", "write a scientific paper": "write", "do not see the": "adapted",
             "high standard of evidence": "strict", "authors and area chairs find fair": "standard"}
    systems = [" ".join(body["messages"][0]["content"].split()) for body in scripted.bodies]
    return [next(kind for words, kind in names.items() if words in system) for system in systems]


class Room:
    """Judges the two families of the shared fixture."""

    def __init__(self, store: Store, endpoint: EndpointSpec, versions: list[VersionRef]) -> None:
        self.store, self.endpoint, self.versions = store, endpoint, tuple(versions)

    def judge(self, protocol: str, repeats: int = 1, **options: Any) -> ShardReport:
        configuration = Configuration(name=protocol, endpoint="scripted", model="m", protocol=protocol, options=options)
        return judge_shard(self.store, Engine(self.store, "run"), ShardOrder(
            configuration=configuration, endpoint=self.endpoint, versions=self.versions, repeats=repeats))

    def rows(self, protocol: str) -> list[Judgement]:
        return [row for row in self.store.load(Judgement) if row.protocol == protocol]


@pytest.fixture
def room(store: Store, endpoint: EndpointSpec, versions: list[VersionRef]) -> Room:
    """The shared fixture's four versions."""
    return Room(store, endpoint, versions)


def test_a_record_is_written_under_five_headings_with_its_tables_cell_by_cell() -> None:
    found = read_core(f"```json\n{changed()}\n```")
    assert found.outcome is Outcome.answered
    headings = [line for line in found.text.splitlines() if line.startswith("## ")]
    assert headings == [f"## {heading}" for heading in HEADINGS.values()]
    assert "| a | 17.5 |\n| b | [unreadable] |" in found.text
    assert "- code: Not reported." in found.text and "Status: Not located" in found.text
    assert "unreadable_cells" in found.flags and "core_in_first_person" not in found.flags


@pytest.mark.parametrize(("answer", "said"), [
    ("A fine paper.", "no JSON object"), (changed()[:-40], "no JSON object"),
    (changed(limitations={"status": "Unknown", "record": []}), "limitations.status"),
    (json.dumps({name: part for name, part in CORE.items() if name != "reproducibility"}), "reproducibility"),
    (changed(verdict="good"), "verdict"),
    (changed(limitations={"status": "Reported", "record": [" "]}), "holds nothing"),
    (changed(experiments_and_results={"status": "Reported", "record": [], "tables": [
        {"caption": "c", "columns": ["a", "b"], "rows": [["1"]]}]}), "not as long as its heading"),
    (changed(experiments_and_results={"status": "Reported", "record": [], "tables": [
        {"caption": "c", "columns": ["a"], "rows": [[" "]]}]}), "empty cells"),
    (changed(experiments_and_results={"status": "Reported", "record": [], "tables": [
        {"caption": "c", "columns": ["a"], "rows": [[17.5]]}]}), "tables.0.rows.0.0"),
    (changed() + "\n" + changed(limitations={"status": "Not applicable", "record": []}), "two different"),
])
def test_what_is_no_whole_record_is_none(answer: str, said: str) -> None:
    found = read_core(answer)
    assert (found.outcome, found.text) == (Outcome.unparsable, "")
    assert found.reason is not None and said in found.reason


def test_all_core_protocols_of_a_backbone_share_one_record_a_version(room: Room, scripted: Scripted) -> None:
    scripted.answer = answers()
    for protocol in ("core_adapted", "core_standard", "core_strict", "core_persistent"):
        assert room.judge(protocol, repeats=2).outcomes == {"answered": 8}
    said = [body["messages"][0]["content"][:40] for body in scripted.bodies]
    assert sum("make a record" in one for one in said) == 4
    # The record is the same for every version here, so the review of it is one question a repeat.
    assert len(scripted.bodies) == 4 + 4 * 2
    reviewed = scripted.bodies[-1]["messages"][1]["content"]
    assert "-----BEGIN PAPER" in reviewed and "## Problem and setting" in reviewed and "in its" not in reviewed


def test_scicore_asks_nothing_that_its_parts_have_asked(room: Room, scripted: Scripted) -> None:
    scripted.answer = answers(lambda body: 3 if "You see a record" in body["messages"][0]["content"] else 8)
    room.judge("strict")
    room.judge("core_adapted")
    before = len(scripted.bodies)
    report = room.judge("scicore")
    assert (report.asked, len(scripted.bodies)) == (0, before)
    for row in room.rows("scicore"):
        assert (row.scores["overall"], row.scores["soundness"], len(row.call_keys)) == (5.5, 3, 3)
    assert room.judge("scicore", alpha=0.2).asked == 0
    assert {round(row.scores["overall"], 9) for row in room.rows("scicore")} == {5.5, 4.0}


def test_scicore_alone_asks_manuscript_record_and_review(room: Room, scripted: Scripted) -> None:
    scripted.answer = answers()
    room.versions = room.versions[:1]
    room.judge("scicore")
    assert kinds(scripted) == ["strict", "extract", "adapted"]
    assert room.judge("strict").asked == room.judge("core_adapted").asked == 0


def test_without_one_branch_there_is_no_score_and_the_reason_names_it(room: Room, scripted: Scripted) -> None:
    scripted.answer = answers(core="A fine paper.")
    room.versions = room.versions[:1]
    assert room.judge("scicore").outcomes == {"unparsable": 1}
    (row,) = room.rows("scicore")
    assert row.scores == {} and row.reason is not None and row.reason.startswith("core: core: no JSON")
    assert len(row.call_keys) == 2


def test_a_paper_is_written_back_and_reviewed(room: Room, scripted: Scripted) -> None:
    scripted.answer = answers()
    room.versions = room.versions[:1]
    room.judge("reconstruct_review", repeats=2)
    assert kinds(scripted) == ["extract", "write", "standard", "standard"]
    assert "## Problem and setting" in scripted.bodies[1]["messages"][1]["content"]
    assert PAPER.strip() in scripted.bodies[2]["messages"][1]["content"]


def test_too_short_an_answer_is_no_paper(room: Room, scripted: Scripted) -> None:
    usual = answers()
    scripted.answer = lambda body: usual(body) if "response_format" in body else chat("short")
    room.versions = room.versions[:1]
    assert room.judge("reconstruct_review").outcomes == {"unparsable": 1}
    assert (room.rows("reconstruct_review")[0].reason or "").startswith("reconstruct:")


@given(st.floats(0, 1), st.floats(1, 10), st.floats(1, 10))
def test_the_fusion_is_a_weighted_mean_and_rounds_nothing(alpha: float, manuscript: float, core: float) -> None:
    found = fused({"overall": manuscript, "soundness": 3}, {"overall": core}, alpha)
    assert found.keys() == {"overall"}
    assert found["overall"] == alpha * manuscript + (1 - alpha) * core
    assert min(manuscript, core) - 1e-9 <= found["overall"] <= max(manuscript, core) + 1e-9


def test_the_weight_is_part_of_the_key_and_checked() -> None:
    plain, other = PROTOCOLS["scicore"], PROTOCOLS["scicore"].with_options({"alpha": 0.25})
    assert plain.identity("sampled") != other.identity("sampled")
    with pytest.raises(ValueError, match=r"options\.alpha of scicore"):
        PROTOCOLS["scicore"].with_options({"alpha": 2})


def test_protocols_that_share_a_step_take_turns(endpoint: EndpointSpec) -> None:
    def asked(protocol: str, model: str = "m") -> set[str]:
        configuration = Configuration(name="c", endpoint="e", model=model, protocol=protocol)
        return set(configuration.way().questions(configuration.manner(endpoint)))

    for protocol in ("strict", "core_adapted", "core_standard", "reconstruct_review"):
        assert asked("scicore") & asked(protocol)
    assert not asked("scicore") & asked("standard")
    assert not asked("core_adapted") & asked("core_adapted", "another")


BODY = """A Paper

Abstract

{lead} We measure 0.731 ± 0.012 on 1,204 items [1, 2], see (3)
and 0.655 with the baseline of 2019. {more}

1 Introduction

The loss is Σ λ of 128 units and 42.5 % of cases (1)
""" + "Values are 0.91, 0.87, 0.62 and 345. Plain words follow here for a while. " * 12


def test_a_phantoms_record_keeps_its_latent_quality_and_loses_most_rhetoric() -> None:
    plain = BODY.format(lead="", more="")
    proud = BODY.format(lead="Our novel and groundbreaking work is unprecedented.",
                        more="This remarkable and pioneering breakthrough is significant. " * 6)
    phantom = PHANTOMS["phantom-04"]
    cores = [read_core(json.dumps(transcribed(text))).text for text in (plain, proud)]
    assert all(cores)
    for text, core in zip((plain, proud), cores, strict=True):
        assert phantom.latent(core) == pytest.approx(phantom.latent(text), abs=0.02)
        assert phantom.latent(written_back(core)) == pytest.approx(phantom.latent(text), abs=0.02)
    drift = phantom.expected(proud) - phantom.expected(plain)
    left = phantom.expected(cores[1]) - phantom.expected(cores[0])
    assert drift > 0.3 and abs(left) < drift / 3


def test_a_phantom_goes_through_the_whole_flow(store: Store, versions: list[VersionRef]) -> None:
    room = Room(store, EndpointSpec(name="scripted", kind="phantom"), versions)
    room.endpoint = EndpointSpec(name="phantom", kind="phantom")
    for protocol in ("scicore", "reconstruct_review"):
        configuration = Configuration(name="c", endpoint="phantom", model="phantom-05", protocol=protocol)
        report = judge_shard(store, Engine(store, "run"), ShardOrder(
            configuration=configuration, endpoint=room.endpoint, versions=room.versions))
        assert report.outcomes == {"answered": 4}


def test_a_plan_counts_shared_steps_once_and_what_is_there_not_at_all(room: Room, scripted: Scripted) -> None:
    names = ("strict", "core_adapted", "core_strict", "scicore", "reconstruct_review")
    configurations = [(Configuration(name=name, endpoint="scripted", model="m", protocol=name), room.endpoint)
                      for name in names]
    rows = {row.configuration: row for row in plan(room.store, configurations, room.versions)}
    assert {name: row.calls for name, row in rows.items()} == {
        "strict": 4, "core_adapted": 8, "core_strict": 4, "scicore": 0, "reconstruct_review": 8}
    assert rows["scicore"].to_do == 4 and rows["scicore"].input_tokens.expected == 0
    scripted.answer = answers()
    room.judge("core_adapted")
    left = {row.configuration: row.calls for row in plan(room.store, configurations, room.versions)}
    assert left == {"strict": 4, "core_adapted": 0, "core_strict": 4, "scicore": 0, "reconstruct_review": 8}
    repeated = [(each.model_copy(update={"repeats": 3}), endpoint) for each, endpoint in configurations[2:3]]
    assert [row.calls for row in plan(room.store, repeated, room.versions)] == [4 + 12]
