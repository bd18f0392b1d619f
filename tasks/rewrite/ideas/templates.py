"""The sentences of the rule-based variants as data, and their content hash for keys.

Here belongs reading and checking ``templates.yaml``; how sentences are put into an idea is ``rules.py``.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any, Final

import yaml

from storage.ideas import PROSE
from storage.keys import content_hash
from storage.records import Record

FILE: Final = resources.files("tasks.rewrite.ideas") / "templates.yaml"
ADDING: Final = ("verbose", "grand", "overconfident", "novelty", "application")
REPLACING: Final = ("hollow", "flawed", "enriched")


class Additions(Record):
    """What a style adds: before and after fields, and between the sentences of all of them."""

    open: dict[str, tuple[str, ...]] = {}
    close: dict[str, tuple[str, ...]] = {}
    after: tuple[str, ...] = ()
    every: int = 2
    """A sentence of ``after`` follows every so many sentences."""


@cache
def _loaded() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load(FILE.read_text("utf-8"))
    if set(read) != {*ADDING, *REPLACING}:
        raise ValueError("templates.yaml has not exactly one entry for each style and each change of substance")
    return read


@cache
def additions(style: str) -> Additions:
    """What one style adds. A list under ``open`` is said before the problem."""
    entry = dict(_loaded()[style])
    if isinstance(entry.get("open"), list):
        entry["open"] = {"problem": entry["open"]}
    made = Additions.model_validate(entry)
    if unknown := {*made.open, *made.close} - set(PROSE):
        raise ValueError(f"templates.yaml: {style}: {min(unknown)} is no field of sentences")
    return made


@cache
def replacements(change: str) -> dict[str, tuple[str, ...]]:
    """What one change of substance says, by field."""
    return {name: tuple(said) for name, said in _loaded()[change].items()}


@cache
def templates_hash() -> str:
    """Identity of all templates."""
    return content_hash(FILE.read_bytes())
