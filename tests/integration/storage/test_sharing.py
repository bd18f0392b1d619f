"""Several processes and other programs at one file."""

from __future__ import annotations

import subprocess
import sys

import pytest

from storage.errors import StoreHeld
from storage.lease import FileLease
from storage.store import Store, open_store

WRITER = """
store = open_store(sys.argv[1])
for number in range(600):
    store.append(call(f"{sys.argv[2]}.{number}", "x" * 2000))
    if number == 0:
        store.flush(); say("going")
text = store.put_text("the same text")
store.close()
"""


def test_two_runs_and_a_reader_share_a_file(start, place):
    writers = [start(WRITER, place, name) for name in ("a", "b")]
    for writer in writers:
        assert writer.stdout.readline() == "going\n"
    reader = open_store(place)
    seen = [0]
    while any(writer.poll() is None for writer in writers):
        seen.append(reader.query("SELECT count(*) FROM calls").item())
    assert seen == sorted(seen)
    for writer in writers:
        _, err = writer.communicate()
        assert writer.returncode == 0, err
    assert reader.query("SELECT count(*), count(DISTINCT key) FROM calls").row(0) == (1200, 1200)
    assert reader.query("SELECT count(*) FROM texts").item() == 1
    reader.close()


HOLD = "import duckdb, sys; held = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"


def test_a_file_that_another_program_holds_is_named_with_its_holder_and_no_row_is_lost(place, run):
    """B106."""
    store = Store(FileLease(place, wait_s=0.5), str(place) + ".blobs", "mine")
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(place)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"held\n"
    call = _call("paid for")
    store.append(call)
    with pytest.raises(StoreHeld, match=f"PID {holder.pid}"):
        store.flush()
    with pytest.raises(StoreHeld, match=f"PID {holder.pid}"):
        Store(FileLease(place, wait_s=0.2), str(place) + ".blobs", "another")
    with pytest.raises(StoreHeld):
        store.close()
    holder.communicate()
    assert run("say(open_store(sys.argv[1]).load(Call)[0].key.replace(' ', '_'))", place)[1] == ["paid_for"]


def test_the_holder_of_the_lease_is_named(start, place):
    code = "held = lease.FileLease(Path(sys.argv[1]))\nwith held.session():\n    say('held'); sys.stdin.read()"
    open_store(place).close()
    holder = start(code, place)
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(StoreHeld, match=f"PID {holder.pid}"):
        Store(FileLease(place, wait_s=0.3), str(place) + ".blobs", "another")


def test_a_dead_lease_is_free_at_once(run, place):
    code = "held = lease.FileLease(Path(sys.argv[1]))\nwith held.session():\n    os._exit(9)"
    assert run(code, place)[0] == 9
    with FileLease(place, wait_s=5).session() as session:
        assert session.run("SELECT 1") == [(1,)]


def _call(key: str):
    from storage.records import Call, now
    return Call(key=key, attempt=1, outcome="answered", base_url="b", api="chat", model="m", messages=[], parameters={},
                repeat=0, answer="7", started_at=now(), latency_ms=1.0)
