"""Embeddings of records: asked for once, kept as calls, recalled by the analysis."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from flows.analyses import analyses
from flows.embedding import embed_records, records_by_cell
from flows.sitting import Sitting
from flows.suites import load_suite
from storage.records import Call, Version
from storage.store import Store, open_store
from tasks.judge.cells import version_refs
from tasks.judge.shards import ShardOrder, judge_shard, wanted_cells
from tasks.metrics.analyses.spec import EmbeddingSeparation
from tasks.models.embeddings import read_embedding, vector_of
from tests.fakes.mock_server import MockServer

SUITE = """
name: mine
benchmark: robust_review
draws: 200
families: {{source: folder, path: papers}}
judge:
  endpoints:
    phantom: {{kind: phantom}}
    vectors: {{base_url: "{url}", api: embeddings}}
  configurations:
    - {{name: core, endpoint: phantom, model: phantom-05, protocol: core_adapted}}
analyses:
  - {{name: by endpoint, kind: embedding_separation, configuration: core, endpoint: vectors, model: m}}
  - {{name: here, kind: embedding_separation, configuration: core}}
"""


@pytest.fixture
def server() -> Iterator[MockServer]:
    with MockServer() as made:
        yield made


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "store.duckdb")
    for family in range(3):
        for label in ("original", "joint/rules-a"):
            text = f"Paper {family}\n\nAbstract\n\nWe measure {family}.17 and {family * 31}.9 in {label} words. " * 4
            opened.append(Version(key=f"{family}-{label}", family_key=str(family), condition=label,
                                  text_hash=opened.put_text(text)))
    yield opened
    opened.close()


def test_vectors_are_bought_once_and_separate_papers(store: Store, server: MockServer, tmp_path: Path) -> None:
    place = tmp_path / "mine.yaml"
    place.write_text(SUITE.format(url=server.base_url))
    sitting = Sitting(load_suite(str(place)), store, "run")
    (configuration,) = sitting.suite.judge.configurations
    endpoint = sitting.suite.judge.endpoints["phantom"]
    versions = tuple(version_refs(store, [version.key for version in store.load(Version)]))
    judge_shard(store, sitting.engine(), ShardOrder(configuration=configuration, endpoint=endpoint, versions=versions))
    cells = pl.DataFrame([
        {"configuration": "core", "family": cell.version.family_key, "version": cell.version.key.partition("-")[2],
         "repeat": 0, "key": cell.key, "outcome": "answered"}
        for cell in wanted_cells(configuration, endpoint, versions)
    ])
    assert len(records_by_cell(store, cells)) == 6
    specs = [spec for spec in sitting.suite.analyses if isinstance(spec, EmbeddingSeparation)]
    asked = embed_records(sitting, cells, specs)
    assert 3 <= asked <= 6 and server.stats()["requests"] == asked
    assert embed_records(sitting, cells, specs) == 0
    by_endpoint, here = analyses(sitting, cells, {})
    assert by_endpoint["rows"] and here["rows"] and server.stats()["requests"] == asked
    assert "m (6 of 6 records)" in by_endpoint["note"]
    assert here["rows"][0]["values"][3] > 0.9
    vectors = [vector_of(call.answer) for call in store.load(Call, view=False) if call.api == "embeddings"]
    assert {vector.shape for vector in vectors} == {(64,)}


@pytest.mark.parametrize("body", [{}, {"data": []}, {"data": [{"embedding": ["a"]}]}, {"data": [{"embedding": []}]},
                                  {"data": [{"embedding": [1.0]}, {"embedding": [2.0]}]},
                                  {"data": [{"embedding": [float("nan")]}]}])
def test_what_is_not_one_vector_is_no_answer(body: dict[str, object]) -> None:
    assert read_embedding(body).answer is None


def test_a_vector_survives_its_row() -> None:
    reply = read_embedding({"data": [{"embedding": [0.5, -2, 1e-3]}], "usage": {"prompt_tokens": 7}})
    assert reply.usage.input == 7
    assert vector_of(reply.answer) == pytest.approx(np.array([0.5, -2, 1e-3]), rel=1e-6)
