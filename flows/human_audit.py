"""People's audit of a suite's versions: a blind sample goes out as CSV and form, verdicts come back, agreement is told.

Here belong the sample, the rows and the summary. The form is rendered by ``tasks.report.audit_form``, formulas are
``tasks.metrics.agreement``'s.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from flows.grid import NOBODY, Grid, LabelledVersion
from flows.version_pages import changes_of
from storage.errors import InputError, SuiteError
from storage.ideas import IDENTITY
from storage.keys import step_key
from storage.records import Step
from storage.results import Estimate
from storage.store import Store
from storage.vocabulary import ORIGINAL
from tasks.latex.masks import Segment
from tasks.metrics.agreement import Agreement, agreement, majorities
from tasks.metrics.intervals import wilson
from tasks.report.audit_form import Item, Question
from tasks.rewrite.fidelity import DIMENSIONS
from tasks.rewrite.ideas.audit import STYLES, SUBSTANCES

SAMPLE = 150
PUBLISHED = {"claims": 0.973, "methods": 0.98, "evidence": 0.967, "results": 0.987, "conclusions": 0.973}
"""Majority pass rates of the paper's human audit; its mean pairwise agreement was 0.946."""
_ASKED = {
    "claims": "Does it claim the same, with the same scope and conditions?",
    "methods": "Are methods, settings and assumptions the same?",
    "evidence": "Does it rest on the same experiments, data, proofs and citations?",
    "results": "Are all numbers and outcomes the same?",
    "conclusions": "Are conclusions and limitations the same?",
}
FIDELITY = tuple(Question(name, _ASKED[name], ("kept", "changed")) for name in DIMENSIONS)
VALIDITY = (
    Question("style", "Which style do you see in the second text?", STYLES),
    Question("substance", "What happened to the substance?", SUBSTANCES),
    Question("quality", "How well is it written?", ("1", "2", "3", "4", "5")),
    Question("style_only", "Is the style all that changed?", ("yes", "no")),
)


def questions_of(benchmark: str) -> tuple[Question, ...]:
    """What people are asked about a version of a benchmark.

    Raises:
        SuiteError: for a benchmark whose versions are checked in another way.
    """
    asked = {"robust_review": FIDELITY, "sci_style": VALIDITY}.get(benchmark)
    if asked is None:
        raise SuiteError(f"audit: injected pairs are verified by rewrite.verifiers, not by people ({benchmark})")
    return asked


def item_of(version: LabelledVersion) -> str:
    """The name of a comparison on the form: says nothing about who wrote what."""
    return sha256(f"{version.family.text_hash}\x00{version.version.text_hash}".encode()).hexdigest()[:12]


def comparable(grid: Grid) -> list[LabelledVersion]:
    """The versions that can be compared with an original, each pair of texts once."""
    found: dict[str, LabelledVersion] = {}
    for version in grid.versions:
        wrote = version.condition not in (ORIGINAL, IDENTITY) and version.producer != NOBODY
        if wrote and version.family.text_hash is not None:
            found.setdefault(item_of(version), version)
    return list(found.values())


def draw_sample(grid: Grid, count: int, seed: int) -> list[LabelledVersion]:
    """``count`` versions, as evenly over conditions and producers as they go, in an order that tells nothing.

    Depends on the seed and the texts only. All versions where there are fewer.
    """

    def lot(version: LabelledVersion) -> str:
        return sha256(f"{seed}\x00{item_of(version)}".encode()).hexdigest()

    groups: dict[tuple[str, str], list[LabelledVersion]] = {}
    for version in sorted(comparable(grid), key=lot):
        groups.setdefault((version.condition, version.producer), []).append(version)
    drawn: list[LabelledVersion] = []
    for place in range(max(map(len, groups.values()), default=0)):
        turn = sorted((group[place] for group in groups.values() if place < len(group)), key=lot)
        drawn += turn[: count - len(drawn)]
    return sorted(drawn, key=lot)


def form_items(store: Store, drawn: Sequence[LabelledVersion]) -> list[Item]:
    """The comparisons as the form shows them."""
    originals: dict[str, list[Segment]] = {}
    return [
        Item(item_of(v), v.family.title or v.family.family, changes_of(store, v.family, v.version, originals))
        for v in drawn
    ]


def write_sheet(path: Path, drawn: Sequence[LabelledVersion], questions: Sequence[Question]) -> None:
    """The CSV to be filled in: a row a comparison, a column a question."""
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["item", *(question.name for question in questions), "remark", "rater"])
        rows.writerows([item_of(version), *("" for _ in questions), "", ""] for version in drawn)


def read_sheet(path: Path, grid: Grid, questions: Sequence[Question]) -> list[Step]:
    """The verdicts of one filled-in file as steps: one a comparison and rater; unanswered rows are left out.

    Raises:
        InputError: naming the file and the row that is wrong.
    """
    versions = {item_of(version): version for version in comparable(grid)}
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file, strict=True)
            lacking = {"item", *(question.name for question in questions)} - set(rows.fieldnames or ())
            if lacking:
                raise InputError(f"{path}, row 1: the column {min(lacking)} is missing")
            return _steps(path, rows, versions, questions)
    except FileNotFoundError as error:
        raise InputError(f"{path}: there is no such file") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: it is no CSV in UTF-8: {error}") from error


def _steps(
    path: Path, rows: csv.DictReader[str], versions: dict[str, LabelledVersion], questions: Sequence[Question]
) -> list[Step]:
    found: dict[tuple[str, str], Step] = {}
    for row in rows:
        where = f"{path}, row {rows.line_num}"
        cells = {name: (cell or "").strip() for name, cell in row.items() if isinstance(cell, str | None) and name}
        verdicts = {question.name: _verdict(where, question, cells[question.name]) for question in questions}
        given = {name: verdict for name, verdict in verdicts.items() if verdict is not None}
        if not given:
            continue
        if cells["item"] not in versions:
            raise InputError(f"{where}: no version of this suite is {cells['item']!r}; was the sample made of another?")
        rater = cells.get("rater") or path.stem
        if (cells["item"], rater) in found:
            raise InputError(f"{where}: {rater} has a verdict on {cells['item']} already")
        found[cells["item"], rater] = human_step(versions[cells["item"]], rater, given, cells.get("remark", ""))
    return list(found.values())


def _verdict(where: str, question: Question, cell: str) -> str | None:
    if not cell:
        return None
    said = cell.lower().replace(" ", "_")
    if said not in question.options:
        raise InputError(f"{where}: {question.name} is {cell!r}; it must be one of {', '.join(question.options)}")
    return said


def human_step(version: LabelledVersion, rater: str, verdicts: dict[str, str], remark: str = "") -> Step:
    """One person's verdict on one pair of texts; a later one of the same person replaces it."""
    texts = {"original": version.family.text_hash, "variant": version.version.text_hash}
    output = {**texts, "rater": rater, "verdicts": verdicts, "remark": remark}
    return Step(
        key=step_key("human_audit", 1, **texts, rater=rater), step="human_audit", outcome="done", output=output
    )


def human_verdicts(store: Store, grid: Grid) -> dict[str, dict[str, dict[str, str]]]:
    """Question -> item -> rater -> verdict, of the grid's versions."""
    wanted = {item_of(version) for version in comparable(grid)}
    keys = store.query("SELECT DISTINCT key FROM steps WHERE step = 'human_audit'")["key"].to_list()
    found: dict[str, dict[str, dict[str, str]]] = {}
    for step in store.load(Step, keys):
        output = step.output
        item = sha256(f"{output['original']}\x00{output['variant']}".encode()).hexdigest()[:12]
        if item not in wanted:
            continue
        for question, verdict in output["verdicts"].items():
            found.setdefault(question, {}).setdefault(item, {})[output["rater"]] = verdict
    return found


def majority_by_version(store: Store, grid: Grid) -> dict[str, dict[str, Any]]:
    """Version key -> question -> the majority's verdict (None: no majority), of versions that people judged."""
    by_item: dict[str, dict[str, Any]] = {}
    for question, items in human_verdicts(store, grid).items():
        for item, verdict in majorities(items).items():
            by_item.setdefault(item, {})[question] = verdict
    wrote = [version for version in grid.versions if version.condition != ORIGINAL and version.producer != NOBODY]
    return {v.version.key: by_item[item_of(v)] for v in wrote if item_of(v) in by_item}


def human_section(store: Store, grid: Grid) -> list[dict[str, Any]]:
    """One row a question: items, raters, the majority's verdicts, agreement."""
    return [_row(question, items) for question, items in human_verdicts(store, grid).items()]


def _row(question: str, items: dict[str, dict[str, str]]) -> dict[str, Any]:
    found: Agreement = agreement(items)
    chosen = list(majorities(items).values())
    decided = [verdict for verdict in chosen if verdict is not None]
    row: dict[str, Any] = {"question": question, "items": len(items), "raters": found.raters}
    if question in DIMENSIONS:
        kept = sum(verdict == "kept" for verdict in decided)
        limits = wilson(kept, len(decided))
        reason = None if decided else "no_majority"
        share = kept / len(decided) if decided else None
        row["kept"] = _plain(Estimate(value=share, low=limits.low, high=limits.high, n=len(decided), reason=reason,
                                      method="wilson"))
        row["published"] = PUBLISHED[question]
    else:
        row["majority"] = {name: decided.count(name) for name in sorted(set(decided))}
    row["undecided"] = len(chosen) - len(decided)
    return row | {name: _plain(getattr(found, name)) for name in ("pairwise", "cohen", "fleiss", "alpha")}


def _plain(found: Estimate) -> dict[str, Any]:
    return found.model_dump(mode="json", include={"value", "low", "high", "n", "reason"})
