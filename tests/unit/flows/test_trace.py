"""The trail of a cell: the request as it was sent, every attempt, the answer, what was read, what it cost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from flows.trace import trace
from storage.errors import InputError
from storage.records import Judgement, Version
from storage.store import Store, open_store
from tasks.judge.cells import version_refs
from tasks.judge.protocols import Configuration
from tasks.judge.shards import ShardOrder, judge_shard
from tasks.models.endpoints import EndpointSpec
from tasks.models.engine import Engine
from tasks.report.trace_page import trace_page
from tests.fakes.mock_server import MockServer

HOSTILE = "A Paper\n\nAbstract\n\n<script>alert(1)</script> We measure 0.731.\n"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store with one judged paper."""
    opened = open_store(tmp_path / "store.duckdb")
    opened.append(Version(key="v", family_key="f", condition="original", text_hash=opened.put_text(HOSTILE)))
    yield opened
    opened.close()


def judged(store: Store, url: str, protocol: str = "strict", **options: object) -> Judgement:
    configuration = Configuration(name="c", endpoint="e", model="m", protocol=protocol, options=options,
                                  parameters={"temperature": 0.5})
    endpoint = EndpointSpec(name="e", base_url=url, price={"input": 1, "output": 2})
    judge_shard(store, Engine(store, "run"), ShardOrder(
        configuration=configuration, endpoint=endpoint, versions=tuple(version_refs(store, ["v"]))))
    return store.load(Judgement)[-1]


def test_the_request_is_rebuilt_and_every_attempt_is_there(store: Store) -> None:
    with MockServer(faults={"truncated": 1.0}) as server:
        judgement = judged(store, server.base_url)
        assert judgement.scores == {}
        server.faults()
        endpoint = EndpointSpec(name="e", base_url=server.base_url, price={"input": 1, "output": 2})
        judge_shard(store, Engine(store, "again"), ShardOrder(
            configuration=Configuration(name="c", endpoint="e", model="m", protocol="strict",
                                        parameters={"temperature": 0.5}),
            endpoint=endpoint, versions=tuple(version_refs(store, ["v"])), retry=("truncated",)))
    found = trace(store, judgement.key)
    (step,) = found.steps
    assert step.request["model"] == "m" and step.request["temperature"] == 0.5
    assert step.request["response_format"]["json_schema"]["schema"]["properties"]["rating"]["enum"] == [1, 3, 5, 6, 8, 10]
    roles = [role for role, _ in step.turns]
    assert roles == ["system", "user"] and HOSTILE in step.turns[1][1]
    assert {attempt.outcome for attempt in step.attempts} == {"truncated", "answered"}
    (read,) = found.read_from
    last = step.attempts[-1]
    assert last.attempt_id == read and last.answer is not None
    assert json.loads(last.answer)["rating"] == found.scores["overall"]
    assert found.usd is not None and found.usd == pytest.approx(sum(each.usd or 0 for each in step.attempts))


def test_the_page_runs_nothing_that_a_paper_or_a_model_says(store: Store) -> None:
    with MockServer() as server:
        judgement = judged(store, server.base_url)
    page = trace_page(trace(store, judgement.key[:20]))
    assert "<script>" not in page and "&lt;script&gt;alert(1)" in page
    assert judgement.key in page and "review/1" in page


def test_every_step_of_a_chain_is_shown_and_a_call_alone_too(store: Store) -> None:
    with MockServer() as server:
        judgement = judged(store, server.base_url, "openjudge", parser="native")
    found = trace(store, judgement.key)
    assert [step.key for step in found.steps] == judgement.call_keys and len(found.steps) >= 4
    alone = trace(store, found.steps[1].key)
    assert alone.protocol is None and len(alone.steps) == 1
    assert "One request" in trace_page(alone)


@pytest.mark.parametrize(("given", "said"), [("abc", "at least 6"), ("0" * 64, "no judgement or call")])
def test_keys_that_are_none_are_refused_in_one_line(store: Store, given: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        trace(store, given)
