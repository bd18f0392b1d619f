"""From a source to a family: read, build, extract; or excluded, with the true cause.

One paper at a time. Everything is remembered by the content of the source, so that a second run finds it and does
nothing; names are not part of any key. The original is built before anything is spent on rewriting it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from storage.keys import step_key
from storage.records import Family, Step, Version
from storage.store import Store
from storage.vocabulary import ORIGINAL
from tasks.ingest.imported import imported_facts, imported_rows
from tasks.ingest.sources import Material, Source
from tasks.latex.baseline import MEDIA_TYPE, build_facts, carry_archive
from tasks.latex.compile import Build, Limits, build
from tasks.latex.engines import is_installed
from tasks.latex.masks import MASK
from tasks.latex.pdftext import PdfText, pdf_text
from tasks.latex.project import Project
from tasks.latex.protected import project_listing, text_listing
from tasks.latex.segments import Prose, read_prose

INGEST_VERSION = 1
"""Raised by hand when this stage's code changes which families come out."""
SHORT_WORDS = 100
_MENDABLE = frozenset({"missing_package", "missing_tool", "missing_file"})
_LEFT_ALONE = frozenset({"catcodes", "given_up", "round_trip"})


@dataclass(frozen=True)
class Ingested:
    """What became of one source: its step, its family (None: excluded), and whether it was there already."""

    name: str
    step: Step
    family: Family | None
    is_cached: bool


class _Excluded(Exception):
    def __init__(self, reason: str, detail: str, **output: Any) -> None:
        super().__init__(detail)
        self.reason, self.detail, self.output = reason, detail, output


def ingest_key(material: Material) -> str:
    """The key of a source's family, and of the step that makes it."""
    main = material.project.main if material.project else None
    return step_key("ingest", INGEST_VERSION, kind=material.kind, content=material.content, main=main)


def original_version(family: Family) -> Version:
    """The version that is the family as it was ingested."""
    return Version(
        key=step_key("original", 1, family=family.key),
        family_key=family.key,
        condition=ORIGINAL,
        text_hash=family.text_hash or "",
        pdf_hash=family.pdf_hash,
        source_hash=family.source_hash,
        pages=family.pages,
        words=family.words,
    )


def ingest_family(
    store: Store,
    source: Source,
    *,
    limits: Limits | None = None,
    run_id: str | None = None,
    retry: Collection[str] = (),
) -> Ingested:
    """Ingest one paper, or find that it was ingested before.

    Args:
        store: where the family, its original version and the step go.
        source: the paper, see ``sources.find_sources``.
        limits: of the original's build.
        run_id: enters the step.
        retry: reasons of exclusions that settle nothing this time.

    Raises:
        EnvironmentProblem: this machine has no TeX (and the paper is LaTeX).
    """
    material = source.read(store, run_id=run_id, retry=retry)
    if isinstance(material, Step):
        return Ingested(source.name, material, None, False)
    return ingest_material(store, source.name, material, limits=limits, run_id=run_id, retry=retry)


def ingest_material(
    store: Store,
    name: str,
    material: Material,
    *,
    limits: Limits | None = None,
    run_id: str | None = None,
    retry: Collection[str] = (),
) -> Ingested:
    """The same for a paper that was read already; see ``ingest_family``."""
    key = ingest_key(material)
    found = _remembered(store, key, name, retry)
    if found is not None:
        return found
    started = time.monotonic()

    def ended(
        outcome: Literal["done", "excluded"], reason: str | None, detail: str | None, output: dict[str, Any]
    ) -> Step:
        return Step(
            key=key,
            step="ingest",
            outcome=outcome,
            reason=reason,
            detail=detail,
            run_id=run_id,
            output={"family": name, **output},
            seconds=time.monotonic() - started,
        )

    try:
        family = _family(store, key, name, material, limits)
    except _Excluded as excluded:
        step = ended("excluded", excluded.reason, excluded.detail, excluded.output)
        store.append(step)
        return Ingested(name, step, None, False)
    step = ended("done", None, None, {"words": family.words, "pages": family.pages})
    store.append(family, original_version(family), *imported_rows(store, family, material.versions, run_id), step)
    return Ingested(name, step, family, False)


def remembered_family(store: Store, name: str, material: Material) -> Ingested | None:
    """What the store knows of a source, without doing anything; None when it was not ingested."""
    return _remembered(store, ingest_key(material), name, ())


def remembered_sources(store: Store, sources: Sequence[Source]) -> list[Ingested | None]:
    """What the store knows of many sources, in their order, in a few queries for all of them.

    None for a source that was never asked for; one that could not be fetched comes with the step that says why.
    """
    looks = [source.look(store) for source in sources]
    keys = [ingest_key(look) if isinstance(look, Material) else None for look in looks]
    wanted = [key for key in keys if key is not None]
    unsettled = set(store.missing("steps", wanted))
    steps = {step.key: step for step in store.load(Step, wanted) if step.key not in unsettled}
    families = {family.key: family for family in store.load(Family, steps)}
    found: list[Ingested | None] = []
    for source, look, key in zip(sources, looks, keys, strict=True):
        if key is None:
            found.append(Ingested(source.name, look, None, True) if isinstance(look, Step) else None)
        else:
            step = steps.get(key)
            found.append(_known(store, source.name, step, families.get(key)) if step else None)
    return found


def _remembered(store: Store, key: str, name: str, retry: Collection[str]) -> Ingested | None:
    if store.missing("steps", [key], retry=retry):
        return None
    step = store.load(Step, [key])[0]
    families = store.load(Family, [key]) if step.outcome == "done" else []
    return _known(store, name, step, families[0] if families else None)


def _known(store: Store, name: str, step: Step, family: Family | None) -> Ingested | None:
    if step.outcome == "excluded":
        lacking = step.output.get("missing")
        # What was not installed then may be now: only this machine's state decides.
        if step.reason in _MENDABLE and isinstance(lacking, str) and is_installed(lacking):
            return None
        return Ingested(name, step, None, True)
    if family is None or not store.blobs.has(family.source_hash):
        return None
    if family.family != name:
        family = family.model_copy(update={"family": name})
        store.append(family)
    return Ingested(name, step, family, True)


def _family(store: Store, key: str, name: str, material: Material, limits: Limits | None) -> Family:
    if material.kind == "unusable":
        raise _Excluded(material.reason, material.detail)
    if material.project is None:
        family = _pdf_family(store, key, name, material.pdf)
    else:
        family = _latex_family(store, key, name, material.project, material.archive, limits)
    facts = {**family.facts, **material.facts, **imported_facts(family.key, material.versions)}
    return family.model_copy(update={"title": family.title or material.title, "facts": facts})


def _latex_family(
    store: Store,
    key: str,
    name: str,
    project: Project,
    archive: bytes,
    limits: Limits | None,
) -> Family:
    made = build(project, limits=limits)
    if not made.ok or made.pdf is None:
        log = store.blobs.put(made.log_tail.encode("utf-8", "replace"), "text/plain") if made.log_tail else None
        raise _Excluded(
            made.reason or "tex_error",
            f"{name}: the source does not build here: {made.detail}",
            missing=made.missing,
            engine=made.engine,
            log=log,
            flags=list(made.flags),
        )
    text = _readable(name, pdf_text(made.pdf))
    prose = read_prose(project)
    words = sum(segment.words for segment in prose.segments)
    if not words:
        raise _Excluded("no_prose", f"{name}: {project.main} was read, and no prose was found that could be rewritten")
    stated, abstract = _front(prose)
    title = stated or text.title
    flags = _flags(
        project,
        made,
        text,
        prose,
        {
            "no_title": not title,
            "no_abstract": not abstract,
            "short_text": words < SHORT_WORDS,
            "no_sections": not prose.sections,
        },
    )
    return Family(
        key=key,
        family=name,
        source_kind="latex",
        source_hash=store.blobs.put(archive, MEDIA_TYPE),
        title=title,
        abstract_hash=store.put_text(abstract) if abstract else None,
        sections=[heading for _, heading in prose.sections if heading],
        main_file=project.main,
        text_hash=store.put_text(text.text),
        pdf_hash=store.blobs.put(made.pdf, "application/pdf"),
        protected_hash=store.put_text(project_listing(project)),
        pages=made.pages or text.pages,
        words=words,
        flags=flags,
        facts=_facts(store, project, made, text, prose),
    )


def _facts(store: Store, project: Project, made: Build, text: PdfText, prose: Prose) -> dict[str, Any]:
    return {
        "build": build_facts(made, store.blobs.put(carry_archive(made), MEDIA_TYPE)),
        "segments": len(prose.segments),
        "files": len(prose.files),
        "prose_flags": prose.flags,
        "main_candidates": list(project.ambiguous),
        "hidden_text": [hidden._asdict() for hidden in text.hidden],
    }


def _pdf_family(store: Store, key: str, name: str, pdf: bytes) -> Family:
    text = _readable(name, pdf_text(pdf))
    pdf_hash = store.blobs.put(pdf, "application/pdf")
    return Family(
        key=key,
        family=name,
        source_kind="pdf",
        source_hash=pdf_hash,
        title=text.title,
        text_hash=store.put_text(text.text),
        pdf_hash=pdf_hash,
        protected_hash=store.put_text(text_listing(text.text)),
        pages=text.pages,
        words=text.words,
        flags=sorted(text.flags),
        facts={
            "hidden_text": [hidden._asdict() for hidden in text.hidden],
            "garbage_share": round(text.garbage_share, 5),
        },
    )


def _readable(name: str, text: PdfText) -> PdfText:
    """The text, where it may be judged.

    Raises:
        _Excluded: with the gate that closed.
    """
    if text.usable:
        return text
    reason = next(
        flag
        for flag in ("not_a_pdf", "encrypted", "too_many_pages", "no_text_layer", "unreadable")
        if flag in text.flags
    )
    said = {
        "not_a_pdf": "it cannot be opened as a PDF",
        "encrypted": "it needs a password",
        "too_many_pages": f"it has {text.pages} pages",
        "no_text_layer": "it has no text layer and needs OCR",
        "unreadable": f"{text.garbage_share:.0%} of its characters are unreadable; it needs OCR",
    }[reason]
    raise _Excluded(reason, f"{name}: {said}")


def _front(prose: Prose) -> tuple[str | None, str | None]:
    """Title and abstract in plain words, masks left out."""

    def plain(text: str) -> str:
        return re.sub(r"\s+([.,;:)])", r"\1", " ".join(MASK.sub(" ", text).split()))

    titles = [plain(segment.text) for segment in prose.segments if segment.kind == "title"]
    abstract = [
        plain(segment.text)
        for segment in prose.segments
        if segment.kind == "abstract" or segment.section.lower() == "abstract"
    ]
    return (titles[0] if titles else None), ("\n\n".join(abstract) or None)


def _flags(project: Project, made: Build, text: PdfText, prose: Prose, seen: dict[str, bool]) -> list[str]:
    flags = {*made.flags, *text.flags, *(flag for flag, holds in seen.items() if holds)}
    if project.ambiguous:
        flags.add("ambiguous_main_file")
    if any(_LEFT_ALONE.intersection(odd) for odd in prose.flags.values()):
        flags.add("files_left_alone")
    return sorted(flags)
