"""A release read: papers as they are, rewrites as versions, human reviews, ratings of others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from storage.errors import InputError
from storage.records import Step, Version
from storage.store import Store, open_store
from tasks.ingest.family import ingest_family
from tasks.ingest.release import read_release, release_human_scores, release_ratings, release_sources
from tests.fakes.fake_release import make_release


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "store.duckdb")
    yield opened
    opened.close()


def test_papers_and_rewrites_are_taken_in_as_they_are(store: Store, tmp_path: Path) -> None:
    release = read_release(make_release(tmp_path / "release"))
    made = [ingest_family(store, source) for source in release_sources(release)]
    first = made[0].family
    assert first is not None and (first.family, first.source_kind, first.title) == ("paper00", "pdf", "Paper Number 0")
    assert first.facts["release"]["openreview_id"] == "or0"
    labels = [(each["condition"], each["producer"]) for each in first.facts["versions"]]
    assert labels == [("novelty_stance", "GPT-5.5"), ("joint", "GPT-5.5"), ("novelty_stance", "Claude Opus 4.8")]
    versions = {version.key: version for version in store.load(Version, [v["key"] for v in first.facts["versions"]])}
    assert len(versions) == 3 and all(version.facts["imported"] for version in versions.values())
    novel = versions[first.facts["versions"][0]["key"]]
    assert "entirely novel" in store.get_text(novel.text_hash)
    again = [ingest_family(store, source) for source in release_sources(release)]
    assert all(one.is_cached for one in again)


def test_a_rewrite_that_is_gone_or_empty_is_excluded_by_name(store: Store, tmp_path: Path) -> None:
    folder = make_release(tmp_path / "release", count=1)
    (folder / "papers" / "paper00" / "rewrites" / "condition_01.pdf").unlink()
    (folder / "papers" / "paper00" / "rewrites" / "condition_11.pdf").write_bytes(b"<!DOCTYPE html><title>no</title>")
    (source,) = release_sources(read_release(folder))
    family = ingest_family(store, source).family
    assert family is not None
    steps = [step for step in store.load(Step) if step.step == "import"]
    assert sorted(step.reason or "" for step in steps) == ["missing_file", "not_a_pdf"]
    assert any("novelty_stance by Claude Opus 4.8" in (step.detail or "") for step in steps)


def test_a_changed_rewrite_is_another_version_of_the_same_judged_original(store: Store, tmp_path: Path) -> None:
    folder = make_release(tmp_path / "release", count=1)
    (source,) = release_sources(read_release(folder))
    first = ingest_family(store, source).family
    path = folder / "papers" / "paper00" / "rewrites"
    (path / "condition_01.pdf").write_bytes((path / "condition_02.pdf").read_bytes())
    second = ingest_family(store, source).family
    assert first is not None and second is not None and first.key != second.key
    assert first.text_hash == second.text_hash, "so the original is not judged again"


def test_a_paper_without_original_is_excluded(store: Store, tmp_path: Path) -> None:
    folder = make_release(tmp_path / "release")
    (folder / "papers" / "paper01" / "original.pdf").unlink()
    made = [ingest_family(store, source) for source in release_sources(read_release(folder))]
    assert [one.step.reason for one in made] == [None, "missing_file"]


def test_human_scores_are_means_and_zero_is_legal(tmp_path: Path) -> None:
    rows = release_human_scores(read_release(make_release(tmp_path / "release")))
    found = {(row.family, row.dimension): row.score for row in rows}
    assert found["paper00", "overall"] == 0.0 and found["paper01", "overall"] == 1.0
    assert found["paper01", "soundness"] == 3.0 and ("paper00", "presentation") not in found


def test_ratings_that_ended_well_are_scores(tmp_path: Path) -> None:
    ratings = release_ratings(read_release(make_release(tmp_path / "release")))
    assert len(ratings) == 8 and {each.configuration for each in ratings} == {"openai/gpt-5.5/standard"}
    assert ("paper01", "joint/GPT-5.5", 4.0) in {(each.family, each.version, each.score) for each in ratings}


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"papers": []}, "papers: List should have at least 1"),
        ({"papers": [{"paper_id": "../up"}]}, "'../up' is no folder name"),
        ({"papers": [{"paper_id": "a"}, {"paper_id": "a"}]}, "paper_id a comes twice"),
        ({"rewrite_conditions": [{"condition_id": "c"}]}, r"rewrite_conditions.0.rewrite_condition: Field required"),
    ],
)
def test_wrong_metadata_names_the_field(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_release(make_release(tmp_path / "release", **changes))


def test_wrong_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"meta\.json: there is no such file"):
        read_release(tmp_path)
    folder = make_release(tmp_path / "release")
    with (folder / "data" / "reviews.jsonl").open("a") as file:
        file.write(json.dumps({"status": "ok", "model_rating": 3, "pdf_id": "paper00/condition_77"}) + "\n")
    with pytest.raises(InputError, match=r"reviews\.jsonl, line 10: pdf_id"):
        release_ratings(read_release(folder))
