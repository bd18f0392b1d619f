"""The published values of the papers, and which of our judges they belong to.

The values are data (``data/published.json``). A phantom is never matched: it mirrors a judge's name, not the judge.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib import resources
from typing import NamedTuple

from storage.records import Record
from storage.results import ConfigurationResult


class Published(Record):
    """One row of a published table."""

    name: str
    aliases: list[str]
    metrics: dict[str, float]


class Pair(NamedTuple):
    """A published row and the judge here that it belongs to, if there is one."""

    published: Published
    ours: ConfigurationResult | None


@cache
def published() -> tuple[Published, ...]:
    """All published rows, in the order of the data file."""
    text = resources.files("tasks.report").joinpath("data/published.json").read_text(encoding="utf-8")
    return tuple(Published.model_validate(row) for row in json.loads(text)["rows"])


def beside(configurations: list[ConfigurationResult]) -> list[Pair]:
    """Every published row beside our configuration of the same model and protocol.

    Args:
        configurations: the judges of this report; phantoms among them are passed over.
    """
    real = [each for each in configurations if each.kind != "phantom"]
    ours: dict[str, ConfigurationResult] = {}
    for each in real:
        for name in (f"{each.model}/{each.protocol}", each.name):
            ours[_plain(name)] = each
    return [
        Pair(row, next((ours[_plain(name)] for name in (*row.aliases, row.name) if _plain(name) in ours), None))
        for row in published()
    ]


def published_of(name: str) -> dict[str, float]:
    """The published metrics of the judge that a configuration is named after; none for other names."""
    wanted = _plain(name)
    return next((row.metrics for row in published() if wanted in map(_plain, (*row.aliases, row.name))), {})


def _plain(name: str) -> str:
    """A name without provider, case and punctuation: ``openai/GPT-5.5/strict`` and ``gpt-5.5 strict`` are one."""
    parts = name.split("/")
    tail = "/".join(parts[-2:])
    return re.sub(r"[^a-z0-9]", "", tail.lower())
