"""The documented schema is current and holds what we write; the citation files are valid whatever a title holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from storage.results import Results
from tasks.report.citation import citation
from tasks.report.schema import metrics_schema
from tests.fixtures.report_results import inferred_results

AGAIN = (
    "make it again: .venv/bin/python -c \"from pathlib import Path; from tasks.report.schema import metrics_schema; "
    "Path('docs/metrics-schema.json').write_bytes(metrics_schema())\""
)


def _misfits(value: Any, schema: dict[str, Any], defs: dict[str, Any], place: str = "$") -> list[str]:
    """Where a document leaves its schema; the parts of JSON Schema that ours uses."""
    if "$ref" in schema:
        return _misfits(value, defs[schema["$ref"].rsplit("/", 1)[1]], defs, place)
    if "anyOf" in schema:
        found = [_misfits(value, each, defs, place) for each in schema["anyOf"]]
        return [] if [] in found else found[0]
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "null": type(None),
             "boolean": bool}
    if "type" in schema and not isinstance(value, kinds[schema["type"]]):
        return [f"{place}: {type(value).__name__} is not {schema['type']}"]
    out = []
    if isinstance(value, dict) and "properties" in schema:
        out += [f"{place}: {name} is missing" for name in schema.get("required", []) if name not in value]
        out += [f"{place}: {name} is unknown" for name in value if name not in schema["properties"]]
        for name, each in value.items():
            out += _misfits(each, schema["properties"].get(name, {}), defs, f"{place}.{name}")
    elif isinstance(value, dict) and isinstance(schema.get("additionalProperties"), dict):
        for name, each in value.items():
            out += _misfits(each, schema["additionalProperties"], defs, f"{place}.{name}")
    elif isinstance(value, list) and "items" in schema:
        for index, each in enumerate(value):
            out += _misfits(each, schema["items"], defs, f"{place}[{index}]")
    return out


def test_the_documented_schema_is_current(root: Path) -> None:
    assert (root / "docs" / "metrics-schema.json").read_bytes() == metrics_schema(), AGAIN


def test_what_is_written_fits_the_schema(demo: Results, hostile: Results) -> None:
    schema = json.loads(metrics_schema())
    for results in (demo, hostile, inferred_results()):
        assert _misfits(json.loads(results.model_dump_json()), schema, schema["$defs"]) == []
    broken = json.loads(demo.model_dump_json()) | {"families": 3, "odd": 1}
    assert len(_misfits(broken, schema, schema["$defs"])) == 2


def test_every_record_is_described() -> None:
    schema = json.loads(metrics_schema())
    assert all(part.get("description") for part in schema["$defs"].values())
    estimate = schema["$defs"]["Estimate"]["properties"]
    assert "averages over" in estimate["n"]["description"] and "SD over" in estimate["standard_error"]["description"]


def test_a_report_is_cited_by_name_and_date_whatever_its_title(demo: Results, hostile: Results) -> None:
    for results in (demo, hostile):
        found = yaml.safe_load(citation(results))
        assert results.title in found["title"] and found["cff-version"] == "1.2.0" and found["authors"]
        assert found["date-released"] == "2026-11-30"


def test_the_projects_own_citation_names_its_version(root: Path) -> None:
    found = yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))
    assert f'version = "{found["version"]}"' in (root / "pyproject.toml").read_text(encoding="utf-8")
    assert found["license"] == "Apache-2.0"
