"""The Dockerfile without an engine: its steps in their order in a scratch folder, where /app, /opt/venv and /data are folders."""

from __future__ import annotations

import fnmatch
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest


def _steps(path: Path) -> list[tuple[str, str]]:
    text = re.sub(r"\\\n", " ", path.read_text(encoding="utf-8"))
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split(None, 1)[0], line.split(None, 1)[1]) for line in lines]


def _sent(root: Path, name: str) -> bool:
    """Whether .dockerignore lets a top-level name into the build's context."""
    sent = True
    for rule in (root / ".dockerignore").read_text().split():
        if fnmatch.fnmatch(name, rule.removeprefix("!")):
            sent = rule.startswith("!")
    return sent


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_its_steps_end_with_a_working_evenhand(root: Path, tmp_path: Path) -> None:
    places = {"/app": tmp_path / "app", "/opt/venv": tmp_path / "venv", "/data": tmp_path / "data"}

    def here(text: str) -> str:
        for there, place in places.items():
            text = re.sub(rf"{there}\b", str(place), text)
        return text

    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    folder, ran = tmp_path, []
    for step, rest in _steps(root / "deployments" / "Dockerfile"):
        if step == "FROM":
            assert re.fullmatch(r"python:3\.\d+\.\d+-slim-[a-z]+", rest), "the base is pinned"
        elif step == "ENV":
            pairs = re.findall(r"(\w+)=(\S+)", rest)
            environment |= {key: here(value).replace("$PATH", environment["PATH"]) for key, value in pairs}
        elif step == "WORKDIR":
            folder = Path(here(rest))
            folder.mkdir(parents=True, exist_ok=True)
        elif step == "COPY":
            *sources, target = rest.split()
            for source in sources:
                assert _sent(root, source.split("/")[0]), f"{source} is not in the build's context"
                _copy(root / source, folder / target, target.endswith("/"))
        elif step == "RUN":
            ran.append(_run(here(rest), folder, environment))
    assert ran == ["simulated", "done", "simulated"]
    said = subprocess.run(["evenhand", "--version"], env=environment, cwd=folder, capture_output=True, text=True)
    assert said.returncode == 0 and said.stdout.startswith("evenhand "), said.stderr
    module = subprocess.run(
        ["python", "-c", "import prefect_redis, prefect_dask, asyncpg, flows.setup as s; print(s.PREFECT_FILE)"],
        env=environment | {"PREFECT_HOME": str(tmp_path / "prefect")}, cwd="/", capture_output=True, text=True,
    )
    assert module.stdout.strip() == str(places["/app"] / "deployments" / "prefect.yaml"), module.stderr


def _copy(source: Path, target: Path, into: bool) -> None:
    place = target / source.name if into else target
    place.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, place, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy2(source, place)


def _run(line: str, folder: Path, environment: dict[str, str]) -> str:
    """Runs a step; what would change this machine is simulated (packages) or checked for its words (users)."""
    if "apt-get install" in line:
        assert "rm -rf /var/lib/apt/lists" in line
        packages = line.split("--no-install-recommends", 1)[1].split("&&")[0].split()
        line, kind = f"apt-get install --simulate -qq --no-install-recommends {' '.join(packages)}", "simulated"
    elif line.startswith("useradd"):
        line, kind = "useradd --help >/dev/null && command -v chown", "simulated"
    else:
        kind = "done"
    done = subprocess.run(["sh", "-c", line], cwd=folder, env=environment | _index(), capture_output=True, text=True)
    assert done.returncode == 0, f"{line}: {done.stderr[-2000:]}"
    return kind


def _index() -> dict[str, str]:
    """How packages are reached here; no part of the image."""
    kept = ("PIP_", "UV_", "SSL_", "REQUESTS_", "HTTP", "http", "NO_PROXY", "no_proxy")
    given = {name: value for name, value in os.environ.items() if name.startswith(kept)}
    return given | {"XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))}
