"""A family under a condition by a producer: a checked, compiled version, or a typed reason why there is none.

Here belongs the making of one version. Which versions are wanted, and what is there already, is ``tasks.py``'s matter;
wordings come from ``producers.py`` and ``model.py``, the check of the build from ``fitting.py``.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from storage.records import Family, Step, Version
from storage.store import Store
from storage.vocabulary import ORIGINAL
from tasks.latex.compile import Build, build, differences
from tasks.latex.masks import MASK, Segment
from tasks.latex.pdftext import pdf_text
from tasks.latex.project import Project, load_project, to_tar
from tasks.latex.segments import read_prose
from tasks.models.engine import engine_for
from tasks.rewrite.fitting import Fit, Paper, fit, suspects
from tasks.rewrite.keys import PARENTS, SHARED, original_key, rewrite_key
from tasks.rewrite.model import (
    Pen,
    ProducerRefuses,
    ProducerUnavailable,
    advice_on,
    mend_by_model,
    outline_of,
    reword_by_model,
)
from tasks.rewrite.producers import Wording, reword_by_rules
from tasks.rewrite.spec import Producer

PDF: Final = "application/pdf"
TAR: Final = "application/x-tar"
ASKED_TO_MEND: Final = 6
"""Wordings that a producer is shown with the log when taking wordings back did not help."""
_PASSING_REASONS: Final = frozenset({"timed_out", "too_many_processes"})
"""Faults of a build that say more about the machine than about the paper."""


class NoVariant(Exception):
    """There is no such version, and another try would give none: ``reason`` is the type, the message says more."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


class NotNow(Exception):
    """The version could not be made this time; a later run tries again."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


@dataclass(frozen=True)
class Bench:
    """What variants of one family are made with."""

    store: Store
    family: Family
    paper: Paper | None
    """The original's project and build; None where the family has no LaTeX source."""
    run_id: str | None = None
    captions: bool = True


@dataclass(frozen=True)
class _Made:
    """A project that passed, and what is told about it."""

    project: Project
    build: Build
    segments: int
    changed: int
    fallbacks: int
    facts: dict[str, Any]


def original_version(family: Family) -> Version:
    """The version that is the family as it was ingested."""
    if family.text_hash is None:
        raise ValueError(f"family {family.family} has no text that could be judged")
    return Version(key=original_key(family), family_key=family.key, condition=ORIGINAL, text_hash=family.text_hash,
                   pdf_hash=family.pdf_hash, source_hash=family.source_hash, pages=family.pages, words=family.words)


def make_variant(bench: Bench, condition: str, producer: Producer) -> Step:
    """Make one version and remember it, or remember why there is none.

    Args:
        bench: the family, its original's build, the store.
        condition: a condition or one of the null arm; its parent version must be made before.
        producer: who rewrites.

    Returns:
        The step as it was appended: ``done``, ``excluded`` (final until ``evenhand retry``) or ``failed``.

    Raises:
        EnvironmentProblem: this machine has no TeX, or the endpoint's key variable is not set.
    """
    key = rewrite_key(bench.family, condition, producer, captions=bench.captions)
    started = time.monotonic()

    def ended(outcome: Any, reason: str | None, detail: str | None, output: dict[str, Any]) -> Step:
        return Step(key=key, step="rewrite", outcome=outcome, reason=reason, detail=detail, output=output,
                    run_id=bench.run_id, seconds=time.monotonic() - started)

    told = {"family": bench.family.family, "condition": condition, "producer": producer.name}
    try:
        version = _version(bench, key, condition, producer)
    except (NoVariant, ProducerRefuses) as error:
        step = ended("excluded", error.reason, _line(bench, condition, error), told)
    except NotNow as error:
        step = ended("failed", error.reason, _line(bench, condition, error), told)
    except ProducerUnavailable as error:
        step = ended("failed", str(error.outcome), _line(bench, condition, error), told)
    else:
        step = ended("done", None, None, told)
        bench.store.append(version)
    bench.store.append(step)
    return step


def _line(bench: Bench, condition: str, error: Exception) -> str:
    return " ".join(f"{bench.family.family}, {condition}: {error}".split())[:500]


def _version(bench: Bench, key: str, condition: str, producer: Producer) -> Version:
    family, store = bench.family, bench.store
    if condition == "null_repeat":
        return original_version(family).model_copy(update={
            "key": key, "condition": condition, "facts": {"repeat_of_original": True}})
    if bench.paper is None:
        raise NoVariant("no_latex_source", f"it was given as {family.source_kind}, which cannot be rewritten")
    paper = bench.paper
    made = _recompiled(paper) if condition == "null_recompile" else _reworded(bench, paper, condition, producer)
    if made.build.pdf is None:
        raise NoVariant("no_output", "the build ended without a document")
    text = pdf_text(made.build.pdf)
    facts = {**made.facts, "build_seconds": round(made.build.seconds, 3), "engine": made.build.engine,
             "passes": made.build.passes, "flags": [*made.build.flags, *text.flags],
             "checks": {"sets": "equal", "pages_original": paper.baseline.pages}}
    if condition not in SHARED:
        facts["producer"] = producer.name
    return Version(
        key=key, family_key=family.key, condition=condition, text_hash=store.put_text(text.text),
        pdf_hash=store.blobs.put(made.build.pdf, PDF), source_hash=store.blobs.put(to_tar(made.project), TAR),
        pages=made.build.pages, words=_words(made.project), segments=made.segments,
        segments_changed=made.changed, segments_fallback=made.fallbacks, facts=facts)


def _words(project: Project) -> int:
    """Words of prose, counted as the original's are when it is taken in."""
    return sum(segment.words for segment in read_prose(project).segments)


def _recompiled(paper: Paper) -> _Made:
    made = build(paper.project, baseline=paper.baseline, limits=paper.limits)
    faults = differences(paper.baseline, made)
    if faults:
        raise _refusal(made, faults)
    return _Made(paper.project, made, 0, 0, 0, {})


def _refusal(made: Build, faults: Sequence[str]) -> Exception:
    if made.reason in _PASSING_REASONS:
        return NotNow(made.reason or "timed_out", faults[0])
    return NoVariant("sets_differ" if made.ok else "does_not_build", "; ".join(faults)[:400])


def _parent_project(bench: Bench, paper: Paper, condition: str, producer: Producer) -> Project:
    parent = PARENTS[condition]
    if parent == ORIGINAL:
        return paper.project
    key = rewrite_key(bench.family, parent, producer, captions=bench.captions)
    versions = bench.store.load(Version, [key])
    if versions and versions[0].source_hash is not None:
        return load_project(bench.store.blobs.get(versions[0].source_hash), main=paper.project.main)
    steps = bench.store.load(Step, [key])
    if steps and steps[0].outcome == "excluded":
        raise NoVariant("parent_excluded", f"{parent} was excluded: {steps[0].reason}")
    raise NotNow("parent_missing", f"{parent} is not there yet")


def _reworded(bench: Bench, original: Paper, condition: str, producer: Producer) -> _Made:
    project = _parent_project(bench, original, condition, producer)
    prose = read_prose(project, captions=bench.captions)
    pen = _pen(bench, condition, producer, prose.segments, [text for _, text in prose.sections])
    wording = reword_by_rules(prose.segments, condition, producer.spec.seed) if pen is None else (
        reword_by_model(pen, prose.segments))
    if not wording.texts:
        why = ", ".join(sorted(set(wording.fallbacks.values()))) or "no passage was changed"
        raise NoVariant("nothing_changed", f"no wording could be used ({why})")
    paper = Paper(project, original.baseline, original.limits)
    fitted = fit(paper, prose.segments, wording.texts)
    if fitted.faults and pen is not None:
        fitted = _mended(pen, paper, prose.segments, fitted)
    if fitted.faults:
        raise _refusal(fitted.build, fitted.faults)
    if not fitted.texts:
        raise NoVariant("nothing_changed", "every wording was taken back because the paper did not build with it")
    return _Made(fitted.project, fitted.build, len(prose.segments), len(fitted.texts),
                 len(wording.fallbacks) + len(fitted.reverted), _facts(wording, fitted, prose.flags))


def _facts(wording: Wording, fitted: Fit, flags: dict[str, list[str]]) -> dict[str, Any]:
    facts: dict[str, Any] = {"fallbacks": wording.fallbacks, "reverted": fitted.reverted, "builds": fitted.builds}
    facts |= wording.facts
    if flags:
        facts["source_flags"] = flags
    return facts


def _pen(
    bench: Bench, condition: str, producer: Producer, parts: Sequence[Segment], sections: Sequence[str]
) -> Pen | None:
    """The model producer at work, with its reviewer's advice where the condition asks for it; None for rules."""
    if producer.endpoint is None:
        return None
    store, family = bench.store, bench.family
    pen = Pen(store, engine_for(store, bench.run_id), producer, condition, producer.endpoint,
              outline_of(family.title, sections, parts))
    if condition != "feedback_guided":
        return pen
    draft = "\n\n".join(MASK.sub("(...)", part.text) for part in parts) if family.text_hash is None else (
        store.get_text(family.text_hash))
    advice = advice_on(pen, producer.reviewer or producer.endpoint, draft)
    return Pen(store, pen.engine, producer, condition, producer.endpoint, pen.outline, advice)


def _mended(pen: Pen, paper: Paper, parts: Sequence[Segment], fitted: Fit) -> Fit:
    """Ask the producer, with the log, for wordings of the passages still under suspicion, and try once more."""
    shown = suspects(fitted, parts, ASKED_TO_MEND)
    mended = mend_by_model(pen, [(part, fitted.texts[part.id]) for part in shown], fitted.build.log_tail)
    names = {part.id for part in shown}
    kept = {name: text for name, text in fitted.texts.items() if name not in names}
    again = fit(paper, parts, {**kept, **mended.texts})
    again.reverted = [*fitted.reverted, *again.reverted, *sorted(names - set(mended.texts))]
    again.builds += fitted.builds
    return again
