"""The answers behind the worst shifts: which shifts are chosen, and that the stored answers of just these come back."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from flows.reviews import LONGEST, review_pairs, worst_shifts
from storage.records import Call, Judgement, now
from storage.results import CellCounts, ConfigurationResult, ReviewPair
from storage.store import open_store

SCORES: dict[str, dict[str, float | None]] = {
    "one": {"original": 5.0, "joint/a": 8.0, "scope/a": 1.0, "novelty/a": 2.0, "joint/b": None},
    "two": {"original": 5.0, "joint/a": 5.0, "scope/a": 6.0},
    "three": {"original": None, "joint/a": 9.0},
}


def _judge(name: str) -> ConfigurationResult:
    return ConfigurationResult(name=name, endpoint="e", model=name, protocol="strict", kind="openai", metrics={},
                               cells=CellCounts(wanted=1, answered=1), scores=SCORES)


def test_the_largest_shifts_come_first_and_at_most_two_of_a_paper() -> None:
    found = [(shift.family, shift.label, shift.size) for shift in worst_shifts(SCORES)]
    assert found == [("one", "scope/a", -4.0), ("one", "joint/a", 3.0), ("two", "scope/a", 1.0)]
    assert len(worst_shifts(SCORES, 1)) == 1 and worst_shifts({}) == []


def _call(attempt: str, answer: str | None) -> Call:
    return Call(key=f"call-{attempt}", attempt_id=attempt, attempt=1, outcome="answered" if answer else "timed_out",
                base_url="http://x", api="chat", model="m", messages=[], parameters={}, repeat=0, answer=answer,
                started_at=now(), latency_ms=1.0)


def _judgement(key: str, attempts: list[str]) -> Judgement:
    return Judgement(key=key, protocol="strict", parser="review_json/1", base_url="http://x", model="m",
                     version_hash=key, repeat=0, outcome="answered", scores={"overall": 5.0},
                     call_keys=[f"call-{each}" for each in attempts], attempt_ids=attempts)


def test_the_answers_that_scores_were_read_from_come_back_in_order(tmp_path: Path) -> None:
    store = open_store(tmp_path / "store.duckdb")
    store.append(
        _call("first", "what was extracted"), _call("second", "the <b>review</b>"), _call("long", "x" * (LONGEST + 5)),
        _call("lost", None),
        _judgement("k-original", ["first", "second"]), _judgement("k-scope", ["long"]), _judgement("k-joint", ["lost"]),
    )
    rows = [
        ("original", 0, "k-original"), ("scope/a", 1, "k-later"), ("scope/a", 0, "k-scope"), ("joint/a", 0, "k-joint"),
    ]
    cells = pl.DataFrame(
        [{"configuration": "j", "family": "one", "version": version, "repeat": repeat, "key": key, "outcome": "answered"}
         for version, repeat, key in rows]
    )
    (only,) = review_pairs(store, cells, [_judge("j"), _judge("unasked")])
    found = ReviewPair.model_validate(only)
    assert (found.configuration, found.family, found.condition, found.producer) == ("j", "one", "scope", "a")
    assert found.original == "what was extracted\n\nthe <b>review</b>"
    assert found.is_cut and len(found.reworded) == LONGEST
    assert review_pairs(store, cells.clear(), []) == []
    store.close()
