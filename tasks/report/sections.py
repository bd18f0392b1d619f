"""Parts of a report that this package does not know by name: any JSON as headings, tables and lists.

Provenance is shown this way, and what other benchmarks put into ``Results.sections``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from storage.results import Estimate
from tasks.report.numbers import number, with_interval
from tasks.report.words import plain

DEEPEST = 6
_ESTIMATE = {"value", "n", "reason"}


class Node(NamedTuple):
    """A piece of a page: ``text``, ``pairs`` (heading and node), ``table`` (columns, rows of text) or ``list``."""

    kind: str
    text: str = ""
    pairs: list[tuple[str, Node]] = []
    columns: list[str] = []
    rows: list[list[str]] = []


def node(value: Any, depth: int = 0) -> Node:
    """JSON as a piece of a page. Everything becomes text; nothing is read as markup."""
    if isinstance(value, dict) and not _is_estimate(value) and depth < DEEPEST:
        return Node("pairs", pairs=[(str(key), node(each, depth + 1)) for key, each in value.items()])
    if isinstance(value, list) and value and all(isinstance(each, dict) for each in value) and depth < DEEPEST:
        columns = list(dict.fromkeys(key for each in value for key in each))
        return Node(
            "table",
            columns=[plain(str(key)) for key in columns],
            rows=[[text(each.get(key)) for key in columns] for each in value],
        )
    return Node("text", text=text(value))


def text(value: Any) -> str:
    """A value as one line of text."""
    if value is None:
        return number(None)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return number(value, 3)
    if isinstance(value, dict):
        if _is_estimate(value):
            return with_interval(
                Estimate.model_validate({key: each for key, each in value.items() if key in Estimate.model_fields})
            )
        return ", ".join(f"{key}: {text(each)}" for key, each in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(text(each) for each in value)
    return str(value)


def _is_estimate(value: dict[str, Any]) -> bool:
    return value.keys() >= _ESTIMATE and value.keys() <= set(Estimate.model_fields)


def flat(value: Any, path: str = "") -> list[tuple[str, str]]:
    """Nested JSON as ``(dotted path, text)``: how provenance is shown."""
    if isinstance(value, dict) and value:
        return [pair for key, each in value.items() for pair in flat(each, f"{path}.{key}" if path else str(key))]
    return [(path, text(value))]
