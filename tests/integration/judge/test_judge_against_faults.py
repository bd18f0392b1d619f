"""Judging against a failing server: every cell has a score or a typed reason, and nothing is bought twice."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from storage.records import Call, Judgement, Version
from storage.store import Store, open_store
from storage.vocabulary import TRANSIENT, Outcome
from tasks.judge.cells import VersionRef, version_refs
from tasks.judge.protocols import PROTOCOLS, Configuration
from tasks.judge.shards import ShardOrder, ShardReport, judge_shard
from tasks.judge.single_call import SingleCall
from tasks.judge.wording import parse_prompt
from tasks.models.endpoints import EndpointSpec
from tasks.models.engine import Engine
from tests.fakes.mock_server import MockServer

FAULTS = {"429": 0.05, "500": 0.05, "reset": 0.05, "truncated": 0.05, "prose": 0.05}
FAMILIES, VARIANTS = 5, 4


@pytest.fixture
def server() -> Iterator[MockServer]:
    """A running mock with the faults on."""
    with MockServer(faults=FAULTS, seed=7) as made:
        yield made


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store with five families of four versions."""
    opened = open_store(tmp_path / "store.duckdb")
    for family in range(FAMILIES):
        for variant in range(VARIANTS):
            text = f"Paper {family}\nAbstract\nWording {variant}.\n" + f"We measure {family}.{variant}7. " * 80
            opened.append(Version(key=f"{family}-{variant}", family_key=str(family), condition=f"c{variant}",
                                  text_hash=opened.put_text(text)))
    yield opened
    opened.close()


class Judge:
    """Judges all versions at the server, configuration by configuration."""

    def __init__(self, store: Store, server: MockServer, **endpoint: Any) -> None:
        self.store = store
        self.endpoint = EndpointSpec(name="mock", base_url=server.base_url, max_in_flight=16, **endpoint)
        keys = [version.key for version in store.load(Version)]
        self.versions: tuple[VersionRef, ...] = tuple(version_refs(store, keys))

    def run(self, label: str = "") -> list[ShardReport]:
        """Three protocols and the bare rating; labels may differ."""
        engine = Engine(self.store, "run")
        return [
            judge_shard(self.store, engine, ShardOrder(
                configuration=Configuration(name=f"{label}{protocol}", endpoint="mock", model="m", protocol=protocol),
                endpoint=self.endpoint, versions=self.versions, run_id="run"))
            for protocol in ("standard", "strict", "persistent", "rating")
        ]


CELLS = FAMILIES * VARIANTS * 4


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_every_cell_ends_with_a_score_or_a_typed_reason_and_is_never_asked_again(
    store: Store, server: MockServer, api: str
) -> None:
    judge = Judge(store, server, api=api)
    reports = judge.run()
    rows = store.load(Judgement)
    assert len(rows) == sum(report.wanted for report in reports) == CELLS
    for row in rows:
        assert bool(row.scores) == (row.outcome is Outcome.answered)
        assert row.scores or row.reason
    # 25 % of attempts fail, of six allowed: nearly all cells are scored.
    assert sum(bool(row.scores) for row in rows) >= CELLS - 2
    assert set(server.stats()["faults"]) == set(FAULTS)
    attempts = store.load(Call, view=False)
    assert {Outcome.rate_limited, Outcome.provider_error, Outcome.truncated} <= {call.outcome for call in attempts}
    assert len(attempts) == server.stats()["requests"]

    server.faults()
    before = server.stats()["requests"]
    again = judge.run()
    transient = sum(row.outcome in TRANSIENT for row in rows)
    assert sum(report.asked for report in again) == transient == server.stats()["requests"] - before


def test_labels_cost_nothing_and_one_word_of_a_prompt_costs_everything(
    store: Store, server: MockServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.faults()
    judge = Judge(store, server)
    judge.run()
    assert server.stats()["requests"] == CELLS
    judge.endpoint = judge.endpoint.model_copy(update={"name": "another"})
    assert all(report.is_cached for report in judge.run("renamed/"))
    assert server.stats()["requests"] == CELLS
    standard = PROTOCOLS["standard"]
    assert isinstance(standard, SingleCall)
    prompt = standard.prompt
    system = prompt.system.replace("closely", "carefully")
    words = f"# System\n\n{system}\n\n# Before\n\n{prompt.before}\n\n# After\n\n{prompt.after}\n"
    changed = SingleCall("standard", parse_prompt(words, "standard.md"), standard.form, output_tokens=(1, 2, 3))
    monkeypatch.setitem(PROTOCOLS._protocols, "standard", changed)
    reports = judge.run()
    assert [report.asked for report in reports] == [FAMILIES * VARIANTS, 0, 0, 0]
    assert server.stats()["served_again"] == 0


@pytest.mark.parametrize(("fault", "outcome"), [
    ("badschema", Outcome.unparsable), ("outofrange", Outcome.out_of_range), ("empty", Outcome.empty),
    ("null", Outcome.empty), ("context", Outcome.context_too_long), ("stringnum", Outcome.answered),
    ("html", Outcome.provider_error),
])
def test_each_lasting_fault_has_its_own_outcome(store: Store, server: MockServer, fault: str, outcome: Outcome) -> None:
    server.faults(**{fault: 1.0})
    judge = Judge(store, server, attempts=1)
    judge.versions = judge.versions[:2]
    started = time.monotonic()
    reports = judge.run()
    assert {name for report in reports[:3] for name in report.outcomes} == {outcome.value}
    scored = {row.outcome for row in store.load(Judgement) if row.scores}
    assert scored <= {Outcome.answered}
    assert time.monotonic() - started < 60
