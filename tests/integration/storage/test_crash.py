"""Whatever kills the writer, every row that was acknowledged is there once."""

from __future__ import annotations

import logging
import random
import time

import pytest

from storage.store import open_store

APPEND_50 = """
store = open_store(sys.argv[1])
for number in range(50):
    store.append(call(str(number), "x" * 1000))
    if number == 20:
        store.flush()
"""
DIE = {
    "before the commit": "commit.commit_entries = writer.commit_entries = lambda *_: os._exit(9)\nstore.flush()",
    "in the transaction": "session.FileSession.commit = lambda _: os._exit(9)\nstore.flush()",
    "before the checkpoint": "session.FileSession.checkpoint = lambda _: os._exit(9)\nstore.flush()",
    "before the promise": "session.FileSession.counts = lambda _: os._exit(9)\nstore.flush()",
    "before the journal goes": "writer.Journal.close = lambda *_, **__: os._exit(9)\nstore.close()",
    "at once": "os._exit(9)",
}
ALL = [str(number) for number in range(50)]


def keys(place) -> list[str]:
    store = open_store(place)
    try:
        return sorted(store.query("SELECT key FROM calls")["key"].to_list(), key=int)
    finally:
        store.close()


@pytest.mark.parametrize("moment", DIE)
def test_a_writer_that_dies_loses_and_doubles_nothing(run, place, moment):
    code, _, err = run(APPEND_50 + DIE[moment], place)
    assert code == 9, err
    assert keys(place) == ALL
    assert not list(place.parent.glob("*.journal/*.jsonl"))


def test_a_folder_of_journals_whose_folding_dies_is_folded_once(run, place):
    run(APPEND_50 + "os._exit(9)", place)
    dying = """
from storage.journal import DeadJournal
DeadJournal.remove = lambda _: os._exit(9)
open_store(sys.argv[1])
"""
    assert run(dying, place)[0] == 9
    assert keys(place) == ALL


LEAVE_LOG = APPEND_50 + DIE["before the checkpoint"]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999, 1.0])
def test_a_cut_log_loses_nothing(run, place, share):
    """B109 (a): DuckDB opens such a file without a word and with fewer rows."""
    assert run(LEAVE_LOG, place)[0] == 9
    log = place.with_name("store.duckdb.wal")
    data = log.read_bytes()
    log.write_bytes(data[:int(len(data) * share)])
    assert keys(place) == ALL


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_damaged_log_is_set_aside_aloud_and_nothing_is_lost(run, place, share, caplog):
    """B109 (b): DuckDB refuses to open such a file until somebody deletes its log by hand."""
    assert run(LEAVE_LOG, place)[0] == 9
    log = place.with_name("store.duckdb.wal")
    data = bytearray(log.read_bytes())
    data[int(len(data) * share)] ^= 1
    log.write_bytes(data)
    with caplog.at_level(logging.WARNING):
        assert keys(place) == ALL
    aside = list(place.parent.glob("store.duckdb.wal.damaged-*"))
    assert [path.read_bytes() for path in aside] == [bytes(data)]
    assert "could not be used" in caplog.text
    assert aside[0].name in caplog.text


def test_a_torn_journal_costs_only_the_row_whose_append_never_returned(run, place):
    assert run(APPEND_50.replace("number == 20", "False") + "os._exit(9)", place)[0] == 9
    (journal,) = place.parent.glob("*.journal/*.jsonl")
    data = journal.read_bytes()
    journal.write_bytes(data[:-10])
    assert keys(place) == ALL[:-1]


def test_a_damaged_line_is_named_and_its_journal_kept(run, place, caplog):
    assert run(DIE["before the commit"].replace("store.flush()", "") + APPEND_50.replace("number == 20", "False")
               + "os._exit(9)", place)[0] == 9
    (journal,) = place.parent.glob("*.journal/*.jsonl")
    data = bytearray(journal.read_bytes())
    data[len(data) // 2] ^= 1
    journal.write_bytes(data)
    assert len(keys(place)) == 49
    assert "do not have their checksum" in caplog.text
    assert len(list(place.parent.glob("*.journal/*.damaged"))) == 1


WRITE_ON = """
writer.BATCH_ROWS, writer.BATCH_SECONDS = 4, 0.01
store = open_store(sys.argv[1])
number = 0
while True:
    key = f"{sys.argv[2]}.{number}"
    store.append(call(key, os.urandom(500).hex()))
    say(key)
    number += 1
"""


@pytest.mark.slow
def test_writers_killed_at_random_moments_lose_no_acknowledged_row(start, place):
    chance = random.Random(7)
    acknowledged: set[str] = set()
    for turn in range(4):
        writers = [start(WRITE_ON, place, f"{turn}-{who}") for who in "ab"]
        said = [writer.stdout.readline().strip() for writer in writers]
        time.sleep(chance.uniform(0.05, 0.6))
        for writer in writers:
            writer.kill()
        for writer, first in zip(writers, said, strict=True):
            acknowledged |= {first, *writer.stdout.read().split("\n")[:-1]}
    store = open_store(place)
    present = store.query("SELECT key FROM calls")["key"].to_list()
    assert len(present) == len(set(present))
    assert acknowledged <= set(present)
    # At most the one row of each that was being written when the kill came.
    assert len(present) <= len(acknowledged) + 8
    assert store.lease.manifest.incidents() == []
    store.close()


FILL = """
import resource, signal, random
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = open_store(sys.argv[1])
store.append(call("first")); store.flush()
resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, resource.RLIM_INFINITY))
from storage.errors import StoreError
number = 0
while True:
    try:
        store.append(call(str(number), os.urandom(4000).hex()))
        say(str(number))
        number += 1
        if number % 50 == 0:
            store.flush()
    except StoreError as error:
        say("error:" + str(error).replace(" ", "_"))
        break
for attempt in range(3):
    try:
        store.append(call(f"late{attempt}", "x" * 100))
        say(f"late{attempt}")
        store.flush()
    except StoreError as error:
        say("error:" + str(error).replace(" ", "_"))
try:
    store.close()
    say("closed")
except StoreError as error:
    say("error:" + str(error).replace(" ", "_"))
"""


def test_a_full_disk_is_a_clear_error_and_loses_nothing(run, place):
    """B105: the limit on the size of files stands for the disk; every acknowledged row is there once there is room."""
    code, said, err = run(FILL, place)
    assert code == 0, err
    errors = [line for line in said if line.startswith("error:")]
    assert errors
    assert all("make_room" in error for error in errors), errors
    assert "closed" not in said
    acknowledged = {line for line in said if not line.startswith("error:")}
    store = open_store(place)
    present = store.query("SELECT key FROM calls")["key"].to_list()
    assert len(present) == len(set(present))
    assert acknowledged | {"first"} <= set(present)
    store.close()


def test_a_process_that_ends_without_closing_has_committed(run, place):
    code, _, err = run("open_store(sys.argv[1]).append(call('a'))", place)
    assert code == 0, err
    assert not list(place.parent.glob("*.journal/*.jsonl"))
    store = open_store(place)
    assert store.query("SELECT key FROM calls").rows() == [("a",)]
    store.close()
