"""docker-compose.yml without an engine: its schema, its rules, and every command of it as a process on this machine.

Postgres and Redis are the system's packages; names of services become 127.0.0.1 and their ports free ones.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from flows.servant import end
from tests.fakes.stack import free_port

SECRETS = {
    "POSTGRES_PASSWORD": "postgres-secret-1",
    "REDIS_PASSWORD": "redis-secret-2",
    "EVENHAND_AUTH": "admin:auth-secret-3",
    "EVENHAND_STORE_TOKEN": "store-token-secret-4",
}
PORTS = {"postgres": 5432, "redis": 6379, "api": 4200, "store": 9494, "dask-scheduler": 8786}
BIN = Path(sys.executable).parent
POSTGRES = max(Path("/usr/lib/postgresql").glob("*/bin"), default=Path("/nowhere"))


@pytest.fixture(scope="module")
def compose(root: Path) -> dict[str, Any]:
    return yaml.safe_load((root / "docker-compose.yml").read_text(encoding="utf-8"))


def test_it_follows_the_compose_schema(compose: dict[str, Any], root: Path) -> None:
    schema = json.loads((root / "tests" / "fixtures" / "compose_spec.json").read_text(encoding="utf-8"))
    schema["properties"]["name"] = {"type": "string"}  # in the specification since the schema's version
    jsonschema.Draft7Validator(schema).validate(compose)
    spoilt = compose | {"services": compose["services"] | {"api": {"imagge": "x"}}}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft7Validator(schema).validate(spoilt)


def test_images_are_pinned_secrets_are_variables_and_every_dependency_is_there(compose: dict[str, Any]) -> None:
    services = compose["services"]
    for name, service in services.items():
        tag = service["image"].partition(":")[2]
        assert re.fullmatch(r"\d+\.\d+(\.\d+)?(-[a-z]+)?", tag), f"{name}: {service['image']}"
        for needed, how in service.get("depends_on", {}).items():
            known = services[needed]
            one_shot = known.get("restart") == "no"
            assert (how["condition"] == "service_completed_successfully") == one_shot, (name, needed)
            assert how["condition"] != "service_healthy" or "healthcheck" in known, (name, needed)
        for volume in service.get("volumes", []):
            assert volume.partition(":")[0] in compose["volumes"]
        for variable, value in (service.get("environment") or {}).items():
            if re.search(r"PASSWORD|TOKEN|KEY|AUTH", variable) and value:
                assert re.match(r"\$\{[A-Z_]+(:[?-][^}]*)?\}$", value), f"{name}: {variable} is written out"
    assert [name for name, service in services.items() if "ports" in service] == ["api"]
    assert services["api"]["ports"] == ["${EVENHAND_BIND:-127.0.0.1}:4200:4200"]


def _filled(text: str, variables: dict[str, str]) -> str:
    """Compose's interpolation: ${NAME}, ${NAME:-default}, ${NAME:?message}, $$."""

    def value(match: re.Match[str]) -> str:
        found = variables.get(match["name"], "")
        if not found and match["how"] == ":?":
            raise ValueError(f"{match['name']}: {match['rest']}")
        return found or (match["rest"] or "" if match["how"] == ":-" else "")

    filled = re.sub(r"(?<!\$)\$\{(?P<name>\w+)(?:(?P<how>:[-?])(?P<rest>[^}]*))?\}", value, text)
    return filled.replace("$$", "$")


def test_a_missing_secret_stops_compose(compose: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="REDIS_PASSWORD"):
        _filled(json.dumps(compose["services"]["api"]["environment"]), SECRETS | {"REDIS_PASSWORD": ""})


class Host:
    """Runs the services of the file as processes here."""

    def __init__(self, compose: dict[str, Any], folder: Path) -> None:
        self.services = compose["services"]
        self.folder = folder
        self.ports = {port: str(free_port()) for port in [*PORTS.values(), 8080]}
        self.data = folder / "data"
        self.data.mkdir()
        self.variables = SECRETS | {
            "EVENHAND_STORE": f"quack://store:9494?ssl=false&blobs={self.data}/store.duckdb.blobs",
            "EVENHAND_DASK": "tcp://dask-scheduler:8786",
            "EVENHAND_UI_API_URL": "",
        }
        self._processes = contextlib.ExitStack()

    def here(self, text: str) -> str:
        """A value of the file, on this machine."""
        text = _filled(text, self.variables)
        for name in PORTS:
            text = re.sub(rf"(?<=[/@]){name}(?=:\d)", "127.0.0.1", text)
        text = re.sub(rf"\b({'|'.join(map(str, self.ports))})\b", lambda match: self.ports[int(match[0])], text)
        return text.replace("0.0.0.0", "127.0.0.1").replace("/data", str(self.data))

    def environment(self, name: str) -> dict[str, str]:
        """A service's environment, and nothing of ours but the path."""
        places = {"redis": "127.0.0.1", "/app": str(Path.cwd())}
        given = (self.services[name].get("environment") or {}).items()
        own = {key: places.get(str(value), self.here(str(value))) for key, value in given}
        if name == "redis":
            own |= {"REDISCLI_AUTH": SECRETS["REDIS_PASSWORD"]}
        path = f"{BIN}:{POSTGRES}:{os.environ['PATH']}"
        home = self.folder / "home" / name
        home.mkdir(parents=True, exist_ok=True)
        return own | {"PATH": path, "HOME": str(home), "PREFECT_WORKER_WEBSERVER_PORT": self.ports[8080]}

    def command(self, name: str, words: list[str]) -> list[str]:
        """A command line of the file, on this machine; Postgres refuses to run as root, as in its image."""
        line = [self.here(word) for word in words]
        if name == "postgres":
            place = self.folder / "postgres"
            if line[0] == "postgres":
                line = [str(POSTGRES / "postgres"), "-D", str(place), "-k", str(place), "-p", self.ports[5432], *line[1:]]
            if line[0] == "pg_isready":
                line = [str(POSTGRES / "pg_isready"), "-h", "127.0.0.1", "-p", self.ports[5432], *line[1:]]
            return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *line] if os.getuid() == 0 else line
        if name == "redis":
            port = ["-p", self.ports[6379]]
            return ["redis-cli", *port, *line[1:]] if line[0] == "redis-cli" else [
                *line[:-1], line[-1] + f" --port {self.ports[6379]} --bind 127.0.0.1 --dir {shlex.quote(str(self.data))}"
            ]
        return line

    def once(self, name: str, words: list[str] | None = None, timeout: float = 240) -> None:
        """Runs a one-shot service, or another command of one, to its end."""
        done = subprocess.run(
            self.command(name, words or self.services[name]["command"]), env=self.environment(name), cwd=Path.cwd(),
            capture_output=True, text=True, timeout=timeout,
        )
        assert done.returncode == 0, f"{name}: {done.stdout[-3000:]}{done.stderr[-3000:]}"

    def up(self, name: str, timeout: float = 90) -> None:
        """Starts a service and waits until its health check says so."""
        with (self.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                self.command(name, self.services[name]["command"]), env=self.environment(name), cwd=Path.cwd(),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )
        self._processes.callback(end, process)
        test = self.services[name].get("healthcheck", {}).get("test")
        if test is None:
            return
        check = [word.replace("/proc/1/", f"/proc/{process.pid}/") for word in self.command(name, test[1:])]
        deadline = time.monotonic() + timeout
        while subprocess.run(check, env=self.environment(name), capture_output=True).returncode != 0:
            said = (self.folder / f"{name}.log").read_text(errors="replace")[-3000:]
            assert process.poll() is None and time.monotonic() < deadline, f"{name}: {said}"
            time.sleep(0.5)

    def down(self) -> None:
        """Ends everything, the last first."""
        self._processes.close()

    def api(self, path: str, body: Any = None, auth: str | None = SECRETS["EVENHAND_AUTH"]) -> Any:
        """Asks the API."""
        headers = {"Content-Type": "application/json"}
        if auth:
            headers["Authorization"] = "Basic " + b64encode(auth.encode()).decode()
        data = None if body is None else json.dumps(body).encode()
        url = f"http://127.0.0.1:{self.ports[4200]}/api{path}"
        with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=20) as answer:
            return json.loads(answer.read())


@pytest.fixture
def host(compose: dict[str, Any]) -> Iterator[Host]:
    with tempfile.TemporaryDirectory(prefix="evenhand-compose-") as folder:  # where another user than ours may look
        Path(folder).chmod(0o755)
        made = Host(compose, Path(folder))
        try:
            yield made
        finally:
            made.down()


def _init_postgres(host: Host) -> None:
    """What the image's entry point does before its command: the cluster, the user with its password, the database."""
    place, secret = host.folder / "postgres", host.folder / "secret"
    secret.write_text(SECRETS["POSTGRES_PASSWORD"])
    place.mkdir()
    if os.getuid() == 0:
        shutil.chown(place, "postgres", "postgres")
        shutil.chown(secret, "postgres", "postgres")
    host.once("postgres", [str(POSTGRES / "initdb"), "-D", str(place), "-U", "prefect", "-E", "UTF8",
                           "--auth=scram-sha-256",
                           "--pwfile", str(secret)])


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_command_runs_in_order_with_real_postgres_and_redis(host: Host) -> None:
    _init_postgres(host)
    host.up("postgres")
    environment = {"PGPASSWORD": SECRETS["POSTGRES_PASSWORD"], "PATH": os.environ["PATH"]}
    subprocess.run([POSTGRES / "createdb", "-h", "127.0.0.1", "-p", host.ports[5432], "-U", "prefect", "prefect"],
                   env=environment, check=True)
    host.up("redis")
    host.once("migrate")
    host.up("api")
    host.up("services")
    with pytest.raises(urllib.error.HTTPError, match="401"):
        host.api("/flows/filter", {}, auth=None)
    host.up("store")
    host.once("setup")
    deployments = {each["name"]: each for each in host.api("/deployments/filter", {})}
    assert {"nightly", "benchmark", "judge", "set-up"} <= set(deployments)
    host.up("dask-scheduler")
    host.up("dask-worker")
    host.up("worker")
    parameters = {"suite": "demo", "only": "ingest", "set_fields": ["families.path=papers"]}
    run = host.api(f"/deployments/{deployments['benchmark']['id']}/create_flow_run", {"parameters": parameters})
    deadline = time.monotonic() + 240
    state: dict[str, Any] = {}
    while time.monotonic() < deadline:
        state = host.api(f"/flow_runs/{run['id']}")["state"]
        if state["type"] in ("COMPLETED", "FAILED", "CRASHED"):
            break
        time.sleep(1)
    logs = "\n".join(f"== {path.name}\n{path.read_text(errors='replace')[-3000:]}" for path in host.folder.glob("*.log"))
    assert state["type"] == "COMPLETED", f"{state}\n{logs}"
    assert _keys_in_redis(host) > 0, "the API does not use Redis"
    for path in host.folder.glob("*.log"):
        text = path.read_text(errors="replace")
        assert [name for name, secret in SECRETS.items() if secret in text] == [], path


def _keys_in_redis(host: Host) -> int:
    with socket.create_connection(("127.0.0.1", int(host.ports[6379])), 5) as line:
        line.sendall(f"AUTH {SECRETS['REDIS_PASSWORD']}\r\nINFO keyspace\r\nQUIT\r\n".encode())
        text = b"".join(iter(lambda: line.recv(4096), b"")).decode()
    return sum(int(count) for count in re.findall(r"keys=(\d+)", text))
