"""Damage is found, named, set aside, and made again."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from storage.keys import step_key
from storage.records import Judgement, Step, Version
from storage.store import Store, open_store
from storage.verify import repair, verify
from storage.vocabulary import Outcome


def key_of(record) -> str:
    return step_key("call", 1, model=record.model, repeat=record.repeat)


def fill(store: Store, call) -> tuple[str, str]:
    text, pdf = store.put_text("a version"), store.blobs.put(b"%PDF", "application/pdf")
    good = call(step_key("call", 1, model="m", repeat=0),
                messages=[{"role": "user", "parts": [{"kind": "text", "hash": text}]}])
    store.append(good)
    store.append(Version(key="v", family_key="f", condition="joint", text_hash=text, pdf_hash=pdf),
                 Step(key="v", step="rewrite", outcome="done"), Step(key="other", step="build", outcome="done"))
    store.append(Judgement(key="j", protocol="p", parser="x", base_url="b", model="m", version_hash=text, repeat=0,
                           outcome=Outcome.answered, scores={"overall": 5}, call_keys=[good.key],
                           attempt_ids=[good.attempt_id]))
    store.flush()
    return text, pdf


def test_a_sound_store_has_no_damage(store, call):
    fill(store, call)
    assert verify(store, {"calls": key_of}) == []
    assert repair(store, []) == 0


@pytest.mark.parametrize(("sql", "kind"), [
    ("UPDATE texts SET text = 'another'", "text_changed"), ("DELETE FROM texts", "text_missing")])
def test_a_damaged_text_takes_its_versions_with_it(store, place, call, sql, kind):
    text, _ = fill(store, call)
    store.close()
    with duckdb.connect(str(place)) as connection:
        connection.execute(sql)
    again = open_store(place)
    found = verify(again, {"calls": key_of})
    assert (kind, text) in {(damage.kind, damage.key) for damage in found}
    repair(again, found)
    assert again.missing("steps", ["v", "other"]) == ["v"]
    assert again.load(Version) == []
    assert "a version" not in again.query("SELECT text FROM texts")["text"].to_list()
    assert again.query("SELECT count(*) FROM set_aside WHERE table_name = 'versions'").item() == 1
    again.put_text("a version")
    assert again.get_text(text) == "a version"
    assert [damage.kind for damage in verify(again) if damage.kind != "incident"] == []
    again.close()


@pytest.mark.parametrize("gone", [True, False])
def test_a_damaged_blob_is_moved_away_and_made_again(store, call, gone):
    _, pdf = fill(store, call)
    lies = Path(store.blobs.place(pdf))
    lies.unlink() if gone else lies.write_bytes(b"%P")
    found = verify(store)
    assert [(damage.kind, damage.key) for damage in found] == [("blob_missing" if gone else "blob_changed", pdf)]
    assert repair(store, found) == 3
    assert not store.blobs.has(pdf)
    assert store.missing("steps", ["v"]) == ["v"]
    store.blobs.put(b"%PDF", "application/pdf")
    assert store.blobs.get(pdf) == b"%PDF"


def test_a_call_under_a_wrong_key_is_set_aside_with_its_judgement(store, place, call):
    fill(store, call)
    store.close()
    with duckdb.connect(str(place)) as connection:
        connection.execute("UPDATE calls SET model = 'another'")
    again = open_store(place)
    found = verify(again, {"calls": key_of})
    assert [damage.kind for damage in found] == ["key_changed"]
    assert repair(again, found) == 2
    assert again.query("SELECT count(*) FROM judgements").item() == 0
    kinds = [damage.kind for damage in verify(again, {"calls": key_of})]
    assert kinds == ["incident"]  # what was set aside stays on record
    again.close()
