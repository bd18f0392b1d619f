"""The store's promises, in one process."""

from __future__ import annotations

import logging
import math
import threading
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import duckdb
import polars as pl
import pytest

from storage.errors import StoreDamaged, StoreError
from storage.keys import content_hash
from storage.lease import FileLease
from storage.records import Call, HumanScore, Judgement, Step, Text, Version, now
from storage.schema import NotStorable, table_of
from storage.store import Store, open_store
from storage.vocabulary import Outcome


def judgement(key: str, outcome: str = "answered", **scores: float) -> Judgement:
    return Judgement(key=key, protocol="p", parser="x/1", base_url="b", model="m", version_hash="v", repeat=0,
                     outcome=Outcome(outcome), scores=scores, call_keys=[], attempt_ids=[])


def test_what_is_appended_is_seen_at_once_and_after_reopening(store, place, call):
    store.append(call("a"), call("b", "refused"))
    assert sorted(store.query("SELECT key FROM calls")["key"]) == ["a", "b"]
    first = store.load(Call, ["a"])
    store.close()
    again = open_store(place)
    assert again is not store
    assert again.load(Call, ["a"]) == first
    assert open_store(f"duckdb://{str(place).replace(' ', '%20')}") is again
    again.close()
    assert not list(place.with_name("store.duckdb.journal").glob("*.jsonl"))


def test_the_best_row_counts(store, call):
    early, late = now() - timedelta(hours=1), now()
    store.append(call("k", "answered", at=early, answer="first"), call("k", "provider_error", at=late),
                 call("n", "refused", at=late), call("n", "timed_out", at=early))
    store.append(Step(key="s", step="build", outcome="excluded", reason="does_not_build", at=early),
                 Step(key="s", step="build", outcome="failed", at=late))
    store.append(judgement("j", overall=5.0), judgement("j", "unparsable"))
    best = {row["key"]: row for row in store.query("SELECT key, outcome, answer FROM calls_best").to_dicts()}
    assert best["k"]["answer"] == "first"
    assert best["n"]["outcome"] == "refused"
    assert store.query("SELECT outcome FROM steps_best")["outcome"].to_list() == ["excluded"]
    assert store.query("SELECT dimension, value FROM scores").rows() == [("overall", 5.0)]
    assert len(store.load(Call, ["k"], view=False)) == 2
    assert [row.answer for row in store.load(Call, ["k", "absent"])] == ["first"]
    assert store.query("SELECT count(*) FROM calls_answered").item() == 1


def test_of_two_wordings_with_one_key_the_latest_counts(store):
    for words in (1, 2, 3):
        store.append(Version(key="v", family_key="f", condition="joint", text_hash="t", words=words, at=now()))
    assert [version.words for version in store.load(Version)] == [3]


def test_missing_is_what_is_not_settled(store, call):
    store.append(call("answered"), call("refused", "refused"), call("late", "timed_out"),
                 call("both", "refused"), call("both", "answered"), call("later refused", "rate_limited"),
                 call("later refused", "refused"))
    wanted = ["new", "answered", "late", "refused", "both", "later refused", "new"]
    assert store.missing("calls", wanted) == ["new", "late"]
    assert store.missing("calls", wanted, retry=["refused"]) == ["new", "late", "refused", "later refused"]
    assert store.missing("calls", wanted, retry=["truncated"]) == ["new", "late"]
    store.append(Step(key="done", step="s", outcome="done"), Step(key="failed", step="s", outcome="failed"),
                 Step(key="out", step="s", outcome="excluded", reason="does_not_build"))
    assert store.missing("steps", ["done", "failed", "out"]) == ["failed"]
    assert store.missing("steps", ["done", "failed", "out"], retry=["does_not_build"]) == ["failed", "out"]
    assert store.missing("families", ["f"]) == ["f"]
    assert store.missing("calls", []) == []
    with pytest.raises(ValueError, match="no table with keys"):
        store.missing("texts", ["x"])


def test_missing_scores_never_count(store):
    """B111: the mean of 1, NaN and 3 is 2, of two."""
    for place, score in enumerate((1.0, math.nan, 3.0)):
        store.append(judgement(f"k{place}", overall=score))
    row = store.query("SELECT avg(value), count(*), max(value) FROM scores").row(0)
    assert row == (2.0, 2, 3.0)
    with pytest.raises(NotStorable):
        store.append(HumanScore(family="f", score=math.nan, source="s"))
    assert store.query("SELECT count(*) FROM human_scores").item() == 0


def test_a_text_is_stored_once_by_whoever_brings_it(store, place):
    name = store.put_text("Größe")
    assert store.put_text("Größe") == name == content_hash("Größe")
    store.close()
    again = open_store(place)
    assert again.get_text(name) == "Größe"
    again.forget()
    again.put_text("Größe")
    again.append(Text(hash=name, text="Größe"), Text(hash=name, text="Größe"))
    assert again.query("SELECT count(*) FROM texts").item() == 1
    assert again.get_texts([name, again.put_text("")]) == {name: "Größe", content_hash(""): ""}
    with pytest.raises(StoreDamaged, match="gone"):
        again.get_text("sha256:none")
    with pytest.raises(NotStorable):
        again.put_text("\ud800")
    again.close()


def test_a_changed_text_is_never_handed_out(store, place):
    name = store.put_text("true")
    store.close()
    with duckdb.connect(str(place)) as connection:
        connection.execute("UPDATE texts SET text = 'false'")
    again = open_store(place)
    with pytest.raises(StoreDamaged, match="not what its name says"):
        again.get_text(name)
    again.close()


def test_blobs_are_named_by_content_and_half_a_blob_is_noticed(store, place):
    data = bytes(range(256)) * 40
    name = store.blobs.put(data, "application/pdf")
    assert store.blobs.put(data, "application/pdf") == name
    assert store.blobs.get(name) == data
    assert store.query("SELECT hash, size_bytes, media_type FROM blobs").rows() == [(name, 10240, "application/pdf")]
    lies = Path(store.blobs.place(name))
    assert lies.is_relative_to(place.parent / "store.duckdb.blobs")
    lies.write_bytes(data[:100])
    with pytest.raises(StoreDamaged, match="half written"):
        store.blobs.get(name)
    store.close()
    again = open_store(place)
    again.blobs.put(data, "application/pdf")  # whoever makes it again mends it
    assert again.blobs.get(name) == data
    assert again.query("SELECT count(*) FROM blobs").item() == 1
    assert not again.blobs.has("sha256:00")
    with pytest.raises(StoreDamaged, match="gone"):
        again.blobs.get("sha256:00")
    again.close()


def test_queries_take_parameters_and_frames_and_cannot_write(store, call):
    store.append(call("a"), call("b"))
    frame = pl.DataFrame({"key": ["b", "c"]})
    found = store.query("SELECT key FROM calls JOIN mine USING (key) WHERE attempt = ?", [1], frames={"mine": frame})
    assert found.rows() == [("b",)]
    with pytest.raises(duckdb.Error):
        store.query("DELETE FROM calls")
    with pytest.raises(duckdb.Error):
        store.query("SELECT nonsense FROM calls")
    assert store.query("SELECT count(*) FROM calls").item() == 2


def test_threads_share_a_store_and_none_sees_another_ones_answer(store, call):
    """B107 and B108: every thread's rows are there once, and every answer is to its own question."""
    wrong: list[object] = []

    def work(me: int) -> None:
        try:
            for turn in range(12):
                store.append(call(f"{me}.{turn}"))
                got = store.query("SELECT ?::INTEGER AS me, count(*) AS rows FROM calls WHERE key LIKE ?",
                                  [me, f"{me}.%"]).row(0)
                if got != (me, turn + 1):
                    wrong.append((me, turn, got))
        except Exception as error:  # noqa: BLE001 - handed to the test
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(me,)) for me in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert store.query("SELECT count(*), count(DISTINCT key) FROM calls").row(0) == (72, 72)


def test_a_closed_store_says_so(store, call):
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.append(call("a"))
    with pytest.raises(StoreError, match="closed"):
        store.query("SELECT 1")


def test_rows_that_vanished_are_named(store, place, call, caplog):
    """B109 and beyond: whatever took the rows away, the manifest outside the file knows how many there were."""
    store.append(*[call(str(number)) for number in range(10)])
    store.put_text("a text")
    store.close()
    with duckdb.connect(str(place)) as connection:
        connection.execute("DELETE FROM calls WHERE key IN ('3', '4')")
    with caplog.at_level(logging.WARNING):
        again = open_store(place)
    assert "2 of calls" in caplog.text
    assert again.missing("calls", [str(number) for number in range(10)]) == ["3", "4"]
    assert [incident.kind for incident in again.lease.manifest.incidents()] == ["rows_missing"]
    again.close()
    caplog.clear()
    open_store(place).close()
    assert not caplog.text  # said once


def test_a_file_that_vanished_is_named(store, place, call, caplog):
    store.append(call("a"))
    store.close()
    place.unlink()
    again = open_store(place)
    assert "the file is gone" in caplog.text
    assert again.missing("calls", ["a"]) == ["a"]
    again.close()


def test_urls(tmp_path, store, place):
    for url, message in (("sqlite:///x", "no such kind"), ("duckdb://host/x", "absolute"),
                         ("quack://h?password=x", "unknown option password"), ("quack://me@h", "never part of a URL")):
        with pytest.raises(StoreError, match=message):
            open_store(url)
    with pytest.raises(StoreError, match="open in this process with its blobs in"):
        open_store(place, blobs=str(tmp_path / "elsewhere"))


def test_rows_a_table_refuses_are_kept_apart_and_the_others_go_in(store, call):
    """Cannot happen by append, which checks; but a journal may be older than the table."""
    good = [("calls", _plain(call(str(number)))) for number in range(5)]
    bad = ("calls", {**_plain(call("bad")), "outcome": "sideways"})
    store._writer.append([*good[:3], bad, *good[3:]])
    with pytest.raises(StoreDamaged, match="1 rows of calls were refused"):
        store.flush()
    assert store.query("SELECT count(*) FROM calls").item() == 5
    assert '"sideways"' in (store.lease.folder / "rejected.rows").read_text()


def _plain(record: Call) -> dict:
    return table_of(Call).encode(record)


def test_the_lease_is_said_to_be_held_and_by_whom(store, place, tmp_path):
    lease = FileLease(place, wait_s=0.2)
    with lease.session(), pytest.raises(StoreError, match="PID"):
        Store(FileLease(place, wait_s=0.2), str(tmp_path / "blobs"), "second")


def test_questions_together_see_what_was_appended_between_them(tmp_path):
    with closing(open_store(tmp_path / "together.duckdb")) as store:
        with store.together():
            assert store.missing("steps", ["a", "b"]) == ["a", "b"]
            other = threading.Thread(target=store.append, args=(Step(key="a", step="rewrite", outcome="done"),))
            other.start()
            other.join()
            assert store.missing("steps", ["a", "b"]) == ["b"]
            with store.together():
                assert [step.key for step in store.load(Step)] == ["a"]
            for waits in (lambda: store.append(Step(key="c", step="rewrite", outcome="done")), store.flush):
                with pytest.raises(RuntimeError, match="could wait for itself"):
                    waits()
        store.append(Step(key="b", step="rewrite", outcome="done"))
        assert store.missing("steps", ["a", "b"]) == []
