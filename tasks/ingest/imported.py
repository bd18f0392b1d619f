"""Rewrites that came with a paper as PDFs: versions that are judged as they are.

Here belongs taking them in. They are nobody's work here, so no producer of the suite stands behind them, and who made
them is part of what was imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from storage.keys import step_key
from storage.records import Family, Step, Version
from storage.store import Store
from tasks.ingest.sources import ImportedVersion
from tasks.latex.pdftext import pdf_text

IMPORT_VERSION = 1
"""Raised by hand when this module's code changes which versions come out."""


def imported_key(family_key: str, version: ImportedVersion) -> str:
    """The key of an imported version, and of the step that says why there is none."""
    return step_key(
        "imported", IMPORT_VERSION, family=family_key, condition=version.condition, producer=version.producer,
        content=version.content,
    )


def imported_facts(family_key: str, versions: Sequence[ImportedVersion]) -> dict[str, Any]:
    """What a family's ``facts`` say of the versions that came with it; nothing when none did."""
    if not versions:
        return {}
    return {
        "versions": [
            {"condition": each.condition, "producer": each.producer, "key": imported_key(family_key, each)}
            for each in versions
        ]
    }


def imported_rows(
    store: Store, family: Family, versions: Sequence[ImportedVersion], run_id: str | None = None
) -> list[Version | Step]:
    """The version of each PDF, or the step that excludes it; PDFs and texts are stored, the rows are not appended."""
    return [_row(store, family, each, run_id) for each in versions]


def _row(store: Store, family: Family, version: ImportedVersion, run_id: str | None) -> Version | Step:
    key = imported_key(family.key, version)
    told = {"family": family.family, "condition": version.condition, "producer": version.producer}

    def excluded(reason: str, detail: str) -> Step:
        said = f"{family.family}, {version.condition} by {version.producer}: {detail}"
        return Step(
            key=key, step="import", outcome="excluded", reason=reason, detail=said, output=told, run_id=run_id
        )

    if not version.content:
        return excluded("missing_file", f"{version.path.name} is not in the release")
    pdf = version.path.read_bytes()
    text = pdf_text(pdf)
    if not text.usable:
        return excluded(text.flags[0] if text.flags else "unreadable", "its PDF has no text that could be judged")
    return Version(
        key=key, family_key=family.key, condition=version.condition, text_hash=store.put_text(text.text),
        pdf_hash=store.blobs.put(pdf, "application/pdf"), pages=text.pages, words=text.words,
        facts={"producer": version.producer, "imported": True, "flags": list(text.flags)},
    )
