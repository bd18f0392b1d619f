"""What ``metrics.json`` holds, as a JSON schema: made from the records, with their own words as descriptions.

``docs/metrics-schema.json`` is this text; a test keeps it current.
"""

from __future__ import annotations

import ast
import inspect
import json
from itertools import pairwise
from typing import Any

from storage import results as records
from storage.results import Results

TITLE = "Evenhand metrics.json"


def metrics_schema() -> bytes:
    """The schema of ``metrics.json`` (JSON Schema 2020-12): every field of every record, described in their words."""
    schema = Results.model_json_schema(mode="serialization")
    described = _field_docs()
    _describe(schema, described.get("Results", {}))
    for name, part in schema.get("$defs", {}).items():
        _describe(part, described.get(name, {}))
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": TITLE}
    schema.pop("title", None)
    return (json.dumps(head | schema, indent=1) + "\n").encode()


def _describe(part: dict[str, Any], docs: dict[str, str]) -> None:
    if isinstance(text := part.get("description"), str):
        part["description"] = " ".join(text.split())
    for name, field in part.get("properties", {}).items():
        if name in docs:
            field["description"] = docs[name]


def _field_docs() -> dict[str, dict[str, str]]:
    """Class -> field -> the string that stands below the field in ``storage.results``."""
    found: dict[str, dict[str, str]] = {}
    for each in ast.parse(inspect.getsource(records)).body:
        if isinstance(each, ast.ClassDef):
            found[each.name] = dict(_documented(each.body))
    return found


def _documented(body: list[ast.stmt]) -> list[tuple[str, str]]:
    return [
        (field.target.id, " ".join(words.value.value.split()))
        for field, words in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(words, ast.Expr)
        and isinstance(words.value, ast.Constant)
        and isinstance(words.value.value, str)
    ]
