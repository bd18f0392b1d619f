"""An original's build, remembered: so that its variants can be checked in a later run without building it again.

What of a ``Build`` is kept, as JSON and one small archive, and how it comes back from the store.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from typing import Any

from storage.errors import InputError
from storage.records import Family
from storage.store import Store
from tasks.latex.compile import Build
from tasks.latex.project import Project, load_project
from tasks.latex.sets import Sets

MEDIA_TYPE = "application/x-tar"


def build_facts(build: Build, carry_hash: str) -> dict[str, Any]:
    """What a family's ``facts["build"]`` says of its original's build."""
    return {
        "engine": build.engine,
        "pages": build.pages,
        "seconds": round(build.seconds, 3),
        "flags": list(build.flags),
        "inputs": list(build.inputs),
        "sets": build.sets.model_dump(mode="json"),
        "carry": carry_hash,
    }


def carry_archive(build: Build) -> bytes:
    """The auxiliary files that a variant's build starts from, as an archive with equal bytes for equal files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(build.carry):
            entry = tarfile.TarInfo(name)
            entry.size = len(build.carry[name])
            archive.addfile(entry, io.BytesIO(build.carry[name]))
    return buffer.getvalue()


def restored_build(facts: Mapping[str, Any], carry: bytes) -> Build:
    """The build that ``build_facts`` and ``carry_archive`` describe (its PDF and log are not part of it)."""
    files: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(carry), mode="r:") as archive:
        for entry in archive:
            content = archive.extractfile(entry)
            if content is not None:
                files[entry.name] = content.read()
    return Build(
        True,
        sets=Sets.model_validate(facts["sets"]),
        pages=facts["pages"],
        seconds=facts["seconds"],
        flags=tuple(facts["flags"]),
        carry=files,
        inputs=tuple(facts["inputs"]),
        engine=facts["engine"],
    )


def load_paper(store: Store, family: Family) -> tuple[Project, Build]:
    """A family's project and its original's build, out of the store.

    Raises:
        InputError: the family is a PDF, which has no source to rewrite.
        StoreError: a blob is gone.
    """
    if family.source_kind != "latex":
        raise InputError(f"{family.family}: it was given as {family.source_kind}; only LaTeX sources can be rewritten")
    project = load_project(store.blobs.get(family.source_hash), family.main_file)
    facts = family.facts["build"]
    return project, restored_build(facts, store.blobs.get(facts["carry"]))
