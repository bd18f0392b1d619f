"""How to cite a report: a CITATION.cff beside it, with the suite, the date and what made it."""

from __future__ import annotations

import json

from storage.results import Results

AUTHORS = "The Evenhand maintainers"


def citation(results: Results) -> bytes:
    """The report as a data set in Citation File Format 1.2.0; every text is a quoted scalar."""
    made_by = results.provenance.get("evenhand")
    fields = {
        "cff-version": "1.2.0",
        "message": "If you use these numbers, please cite the report and the papers whose benchmarks it runs.",
        "type": "dataset",
        "title": f"{results.title} (Evenhand report of the suite {results.suite})",
        "date-released": results.made_at.date().isoformat(),
        "version": str(results.provenance.get("suite_hash") or results.schema_version),
        "abstract": f"Benchmark {results.benchmark}: {len(results.configurations)} judges, {len(results.families)} "
        f"families, {len(results.versions)} versions; state {results.state}."
        + (f" Made by Evenhand {made_by}." if made_by else ""),
    }
    lines = [f"{key}: {_scalar(value)}" for key, value in fields.items()]
    return ("\n".join([*lines, "authors:", f"  - name: {_scalar(AUTHORS)}"]) + "\n").encode()


def _scalar(text: str) -> str:
    """A double-quoted YAML scalar; JSON's escapes are a part of YAML's."""
    return json.dumps(text)
