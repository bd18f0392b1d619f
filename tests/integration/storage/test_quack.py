"""One server process, clients in other processes, and the same promises as with a file."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from storage.errors import EnvironmentProblem, StoreError, StoreHeld
from storage.lease import FileLease
from storage.quack_client import load_extensions, parse_address
from storage.store import Store, open_store

TOKEN = "0123456789abcdef-test"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """The server process, started and stopped at will on one port."""

    def __init__(self, place, root):
        self.place, self.root, self.port = place, root, _free_port()
        self.process = None

    def start(self):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "storage.quack", str(self.place), "--port", str(self.port)], cwd=self.root,
            env=os.environ | {"EVENHAND_STORE_TOKEN": TOKEN}, stderr=subprocess.PIPE)
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            assert self.process.poll() is None, self.process.stderr.read()
            time.sleep(0.1)
        raise AssertionError("the server does not listen")

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.communicate(timeout=60)


@pytest.fixture
def server(place, root, monkeypatch):
    monkeypatch.setenv("EVENHAND_STORE_TOKEN", TOKEN)
    served = Server(place, root)
    served.start()
    yield served
    if served.process.poll() is None:
        served.stop(signal.SIGKILL)


@pytest.fixture
def url(server, tmp_path):
    return f"quack://localhost:{server.port}?blobs={tmp_path}/blobs&journal={tmp_path}/journals"


CLIENT = """
store = open_store(sys.argv[1])
for number in range(300):
    store.append(call(f"{sys.argv[2]}.{number}", "x" * 500))
store.put_text("the same text")
store.flush()
say("flushed")
if sys.argv[2] == "killed":
    store.append(*[call(f"killed.{number}") for number in range(300, 350)])
    os._exit(9)
store.close()
"""


def test_two_clients_one_of_them_killed_lose_and_double_nothing(server, url, start, tmp_path):
    clients = {name: start(CLIENT, url, name) for name in ("whole", "killed")}
    for name, client in clients.items():
        _, err = client.communicate(timeout=120)
        assert client.returncode == (9 if name == "killed" else 0), err
    store = open_store(url)
    assert store.query("SELECT count(*), count(DISTINCT key) FROM calls").row(0) == (650, 650)
    wanted = [f"killed.{number}" for number in range(360)]
    assert store.missing("calls", wanted) == wanted[350:]
    assert store.query("SELECT count(*) FROM calls WHERE key = ? OR attempt > ?", ["whole.7", 5]).item() == 1
    name = store.blobs.put(b"a blob", "text/plain")
    assert store.blobs.get(name) == b"a blob"
    assert store.get_text(store.put_text("the same text")) == "the same text"
    with pytest.raises(Exception, match="read-only"):
        store.query("DELETE FROM calls")
    store.close()
    assert not list((tmp_path / "journals").glob("*.jsonl"))
    with pytest.raises(StoreHeld, match=f"PID {server.process.pid}"):
        Store(FileLease(server.place, wait_s=0.2), str(tmp_path / "blobs"), "file")


def test_a_server_that_goes_away_costs_nothing(server, url, tmp_path):
    store = open_store(url)
    _append(store, "before")
    store.flush()
    server.stop(signal.SIGKILL)
    _append(store, "meanwhile")
    with pytest.raises(StoreError, match="does not answer"):
        store.flush()
    server.start()
    store.flush()
    assert sorted(store.query("SELECT key FROM calls")["key"]) == ["before", "meanwhile"]
    store.close()
    server.stop()
    assert server.process.returncode == 0
    file = open_store(server.place)
    assert sorted(file.query("SELECT key FROM calls")["key"]) == ["before", "meanwhile"]
    file.close()


def test_who_has_not_the_token_gets_nothing_and_reads_no_token(server, url, monkeypatch):
    monkeypatch.setenv("EVENHAND_STORE_TOKEN", "another-token-altogether")
    with pytest.raises(StoreError, match="refuses the token in EVENHAND_STORE_TOKEN") as caught:
        open_store(url)
    assert "another-token" not in str(caught.value)


def test_what_is_missing_is_named(monkeypatch):
    monkeypatch.delenv("EVENHAND_STORE_TOKEN", raising=False)
    with pytest.raises(EnvironmentProblem, match="EVENHAND_STORE_TOKEN"):
        open_store("quack://localhost:1?blobs=/tmp/none")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(EnvironmentProblem, match=r"evenhand\[cluster\]"):
        load_extensions(None)


def test_an_address_is_read_whole():
    address = parse_address("quack://store.example:9000?token_env=MINE&blobs=s3://bucket/blobs&ssl=false")
    assert (address.uri, address.token_env, address.blobs, address.ssl) == (
        "quack:store.example:9000", "MINE", "s3://bucket/blobs", False)


def _append(store, key):
    from storage.records import Call, now
    store.append(Call(key=key, attempt=1, outcome="answered", base_url="b", api="chat", model="m", messages=[],
                      parameters={}, repeat=0, answer="7", started_at=now(), latency_ms=1.0))
