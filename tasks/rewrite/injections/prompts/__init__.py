"""The prompts of model-written injections and of verifiers, as files; their content enters the keys.

Here belongs reading them.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Final

import yaml

from storage.keys import canonical_json, content_hash

FOLDER: Final = resources.files("tasks.rewrite.injections.prompts")


@cache
def prompt(name: str) -> str:
    """The text of a prompt: ``inject`` or ``verify``."""
    return (FOLDER / f"{name}.md").read_text("utf-8").strip() + "\n"


@cache
def instructions() -> dict[str, dict[str, str]]:
    """By rewriting bias: ``remove``, and one instruction a style."""
    read: dict[str, dict[str, str]] = yaml.safe_load((FOLDER / "instructions.yaml").read_text("utf-8"))
    return read


@cache
def instruction_hash(bias: str, style: str) -> str:
    """Everything that a model is told for a bias in a style, as one hash."""
    told = {"frame": prompt("inject"), "remove": instructions()[bias]["remove"], "add": instructions()[bias][style]}
    return content_hash(canonical_json(told))
