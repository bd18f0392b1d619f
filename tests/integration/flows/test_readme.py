"""Every command of the README does what it says there."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from storage.store import open_store
from tests.fakes.mock_server import MockServer
from tests.integration.flows.conftest import Ended, copy_papers


def _commands(readme: str, program: str) -> list[list[str]]:
    found = re.findall(rf"^    ({program} .*)$", readme, re.M)
    return [shlex.split(line.split("#")[0])[1:] for line in found]


@pytest.mark.slow
def test_every_evenhand_command_of_the_readme_runs(
    root: Path, tmp_path: Path, evenhand: Callable[..., Ended], mock: MockServer
) -> None:
    readme = (root / "README.md").read_text()
    suite = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", readme, re.S)[0])
    key = suite["judge"]["endpoints"]["openai"]["api_key_env"]
    suite["judge"]["endpoints"]["openai"]["base_url"] = mock.base_url
    suite["rewrite"]["conditions"] = ["novelty_stance"]
    folder = tmp_path / "a folder"
    copy_papers(folder, root)
    (folder / "mine.yaml").write_text(yaml.safe_dump(suite))
    scores = ["family,version,score"]
    scores += [f"f{place},original,{place}" for place in range(6)] + [f"f{place},a,{place + 1}" for place in range(6)]
    (folder / "scores.csv").write_text("\n".join(scores) + "\n")
    (folder / "human.csv").write_text("family,score\n" + "".join(f"f{place},{place}\n" for place in range(6)))
    commands = _commands(readme, "evenhand")
    shown = {command[0] for command in commands}
    assert shown >= {"plan", "run", "status", "retry", "report", "trace", "export", "verify", "doctor", "metrics"}
    for command in commands:
        if "KEY" in command:
            store = open_store(folder / ".evenhand" / "store.duckdb")
            key_of_a_cell = store.query("SELECT key FROM judgements_best LIMIT 1")["key"][0]
            store.close()
            command = [key_of_a_cell if word == "KEY" else word for word in command]
        ended = evenhand(*command, **{key: "sk-test-of-the-readme"})
        assert ended.code == 0, (command, ended.err)
        assert "sk-test-of-the-readme" not in ended.out + ended.err
        if "--json" in command:
            json.loads(ended.out)
    stored = (folder / ".evenhand" / "store.duckdb").read_bytes()
    assert b"sk-test-of-the-readme" not in stored, "a key reached the store"


def test_make_knows_the_commands_of_the_readme(root: Path) -> None:
    readme = (root / "README.md").read_text()
    targets = {command[0] for command in _commands(readme, "make")}
    assert targets >= {"demo", "test"}
    for target in targets:
        assert subprocess.run(["make", "-n", target], cwd=root, capture_output=True).returncode == 0, target
    assert subprocess.run(["make", "help"], cwd=root, capture_output=True).stdout.count(b"\n") >= 6
