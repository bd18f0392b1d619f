"""The pages of versions: every version of a report beside its original, read from the store.

Reads and puts together; comparing and rendering belong to ``tasks.report``.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from storage.errors import StoreDamaged
from storage.records import Family, Version
from storage.results import Results, VersionResult
from storage.store import Store
from storage.vocabulary import ORIGINAL
from tasks.latex.masks import Segment, unmask
from tasks.latex.project import load_project
from tasks.latex.segments import read_prose
from tasks.report.changes import paragraphs, word_changes
from tasks.report.version_page import Part, Passage, Row, Wording, named, version_page, versions_index

MOST_PAGES = 400
"""Versions that get a page, in the order of the report; the index says how many did not."""
FOLDER = "versions"


def write_version_pages(results: Results, store: Store, out: Path, most: int = MOST_PAGES) -> Path | None:
    """Writes a page for each version and their index under ``out/versions``.

    Returns:
        The index; None where the report has no versions to show.
    """
    shown = [each for each in results.versions if each.condition != ORIGINAL and each.key]
    if not shown or results.benchmark == "judge_bias":
        return None
    folder = out / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.html"):
        old.unlink()
    rows: dict[str, list[Row]] = {}
    for wording in _wordings(shown[:most], store):
        (folder / wording.file).write_text(version_page(wording), encoding="utf-8")
        gone, new = wording.words
        condition, producer = wording.condition, wording.producer or "–"
        rows.setdefault(wording.family, []).append(Row(condition, producer, wording.file, gone, new))
    index = folder / "index.html"
    left_out = max(len(shown) - most, 0)
    index.write_text(versions_index(results.title, rows, results.exclusions, left_out), encoding="utf-8")
    return index


def _wordings(shown: list[VersionResult], store: Store) -> list[Wording]:
    versions = {version.key: version for version in store.load(Version, [each.key for each in shown])}
    keys = list(dict.fromkeys(version.family_key for version in versions.values()))
    families = {family.key: family for family in store.load(Family, keys)}
    # One query fills the store's memory: a version without source is compared by its text.
    lacking: list[Family | Version] = [each for each in families.values() if each.source_kind != "latex"]
    lacking += [each for each in versions.values() if each.source_hash is None]
    lacking += [families[each.family_key] for each in versions.values() if each.source_hash is None]
    store.get_texts(each.text_hash for each in lacking if each.text_hash)
    originals: dict[str, list[Segment]] = {}
    found: list[Wording] = []
    for each in shown:
        version = versions.get(each.key)
        family = families.get(version.family_key) if version else None
        if version is None or family is None:
            continue
        condition, producer = named(each.condition, each.producer)
        parts = changes_of(store, family, version, originals)
        found.append(
            Wording(each.family, family.title or "untitled", condition, "" if producer == "–" else producer,
                    _facts(family, version), parts)
        )
    return found


def changes_of(store: Store, family: Family, version: Version, originals: dict[str, list[Segment]]) -> list[Part]:
    """What a version changed, by section.

    Args:
        store: where both lie.
        family: whose original it is compared with.
        version: the version.
        originals: passages by family key, filled here, so that an original is read once.
    """
    is_latex = family.source_kind == "latex" and version.source_hash is not None
    if is_latex and store.blobs.has(version.source_hash or "") and store.blobs.has(family.source_hash):
        if family.key not in originals:
            originals[family.key] = _prose(store, family.source_hash, family.main_file)
        new = _prose(store, version.source_hash or "", family.main_file)
        return _latex_parts(originals[family.key], new, version.facts.get("fallbacks") or {})
    texts = store.get_texts([family.text_hash or "", version.text_hash])
    return _text_parts(texts.get(family.text_hash or "", ""), texts.get(version.text_hash, ""))


def _prose(store: Store, source: str, main: str | None) -> list[Segment]:
    try:
        return read_prose(load_project(store.blobs.get(source), main=main)).segments
    except StoreDamaged:
        return []


def _latex_parts(before: list[Segment], after: list[Segment], fallbacks: dict[str, str]) -> list[Part]:
    """The passages of both, matched by their ids, under the headings of the original."""
    new = {segment.id: segment for segment in after}
    parts: dict[str, tuple[list[Passage], list[int]]] = {}
    for segment in before:
        passages, unchanged = parts.setdefault(segment.section or "Before the first heading", ([], []))
        written = new.get(segment.id)
        old_text = _on_one_line(segment)
        new_text = "" if written is None else _on_one_line(written)
        note = str(fallbacks.get(segment.id, "")).replace("_", " ")
        if old_text == new_text and not note:
            unchanged.append(1)
            continue
        passages.append(Passage(segment.kind, word_changes(old_text, new_text), note))
    return [
        Part(heading, passages, len(unchanged)) for heading, (passages, unchanged) in parts.items() if passages
    ]


def _on_one_line(segment: Segment) -> str:
    """A passage with its protected spans in place; where the author broke lines is no matter of wording."""
    return " ".join(unmask(segment, segment.text).split())


def _text_parts(before: str, after: str) -> list[Part]:
    """Texts without source: paragraphs that are in one of them only, compared as a whole."""
    old, new = paragraphs(before), paragraphs(after)
    common = Counter(old) & Counter(new)
    left = "\n\n".join(_without(old, common))
    right = "\n\n".join(_without(new, common))
    if not left and not right:
        return []
    return [Part("Text", [Passage("paragraph", word_changes(left, right))], common.total())]


def _without(texts: list[str], common: Counter[str]) -> list[str]:
    left = Counter(common)
    kept: list[str] = []
    for text in texts:
        if left[text] > 0:
            left[text] -= 1
        else:
            kept.append(text)
    return kept


def _facts(family: Family, version: Version) -> list[tuple[str, str]]:
    facts: dict[str, Any] = version.facts
    found = [("Words", f"{version.words:,} (original {family.words:,})")]
    if version.pages is not None:
        found.append(("Pages", f"{version.pages} (original {family.pages if family.pages is not None else '–'})"))
    if version.segments:
        found.append(("Passages changed", f"{version.segments_changed:,} of {version.segments:,}"))
        found.append(("Passages kept because every rewrite failed a check", f"{version.segments_fallback:,}"))
    if reverted := facts.get("reverted"):
        found.append(("Taken back because the paper did not build with them", str(len(reverted))))
    if checks := facts.get("checks"):
        found.append(("Labels, citations, references, figures, bibliography", str(checks.get("sets", "–"))))
    if "build_seconds" in facts:
        engine, passes = facts.get("engine", "TeX"), facts.get("passes", "–")
        found.append(("Build", f"{facts['build_seconds']:.1f} s, {engine}, {passes} passes"))
    if facts.get("imported"):
        found.append(("Origin", "came with the release; judged as it is"))
    if flags := facts.get("flags"):
        found.append(("Flags", ", ".join(str(flag).replace("_", " ") for flag in flags)))
    return found
