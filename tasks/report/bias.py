"""The part of the page about preference pairs: what each judge does when a cue is injected, in words and tables.

Here belong the rows; sentences are ``bias_findings``'s, drawing is ``bias_charts``'s, formulas are ``tasks.metrics``'s.
Input is the section ``bias`` of the results.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import polars as pl

from storage.results import Results
from storage.vocabulary import BIASES
from tasks.report.bias_findings import Finding, findings, found, lead
from tasks.report.numbers import NO_VALUE, count, finite, interval, number, reason

PUBLISHED_NAME = "the published injections"
STYLE_NAMES = {
    "tuned": "the common injections",
    "held_out": "the held-out injections",
    "published": PUBLISHED_NAME,
    "any": "order alone",
}
TITLES = {bias.name: bias.title for bias in BIASES}
RATES: tuple[tuple[str, str, str], ...] = (
    ("acc_ori", "Right before", "Share of the parsed originals in which the better answer won."),
    (
        "acc_inj",
        "Right after",
        "Share of all injected pairs in which the better answer won; unparsed ones count too.",
    ),
    ("bsr", "BSR", "Bias susceptibility: of the originals judged right, the share judged wrong after the injection."),
    (
        "symmetric_flip_rate",
        "Flips both ways",
        "Share of pairs, parsed on both sides, whose verdict changed either way.",
    ),
    ("reversal", "Reversal", "Of the originals judged wrong, the share judged right after the injection."),
)
CELLS: tuple[tuple[str, str, str], ...] = (
    ("correct_correct", "✓→✓", "Right before and after"),
    ("correct_incorrect", "✓→✗", "Right before, wrong after"),
    ("incorrect_correct", "✗→✓", "Wrong before, right after"),
    ("incorrect_incorrect", "✗→✗", "Wrong before and after"),
    ("original_unparsed", "? before", "Originals without a verdict"),
    ("injected_unparsed", "? after", "Injected pairs without a verdict: no flips, and not right either"),
)
PLANTED = ("bsr", "symmetric_flip_rate")


class Cell(NamedTuple):
    """One number as it is shown."""

    text: str
    interval: str
    why: str
    sort: str
    tip: str


class Row(NamedTuple):
    """One line of a table of rates."""

    name: str
    cells: list[Cell]
    counts: list[str]
    missing: str


class JudgeBiases(NamedTuple):
    """One judge by bias."""

    name: str
    rows: list[Row]
    planted: list[tuple[str, str]]


class ArmPart(NamedTuple):
    """One style of injections."""

    title: str
    slug: str
    rows: list[Row]
    judges: list[JudgeBiases]
    corrected: list[Row]


class BiasPart(NamedTuple):
    """Everything that the template prints."""

    lead: str
    findings: list[Finding]
    arms: list[ArmPart]
    position: list[tuple[str, list[Cell]]]
    verifiers: list[tuple[str, list[Cell]]]
    verifier_names: list[str]
    injected: list[tuple[str, str, str]]


def section_of(results: Results) -> dict[str, Any] | None:
    """The section ``bias`` of results, where it is what is made of pairs; None for other JSON of that name."""
    section = results.sections.get("bias")
    return section if isinstance(section, dict) and isinstance(section.get("arms"), list) else None


def bias_part(section: Mapping[str, Any]) -> BiasPart:
    """The part of the page, from the section ``bias``."""
    arms = section["arms"]
    agreement = section.get("verifiers")
    return BiasPart(
        lead=lead(section),
        findings=findings(section),
        arms=[_arm(arm) for arm in arms],
        position=[
            (name, [_cell(probe[key]) for key in ("p_first", "p_first_forward", "p_first_swapped", "consistency")])
            for name, probe in section["position"].items()
        ],
        verifiers=[] if agreement is None else _agreement(agreement),
        verifier_names=[] if agreement is None else list(agreement["names"]),
        injected=_injected(section),
    )


def _cell(numbers: Mapping[str, Any] | None) -> Cell:
    estimate = found(numbers)
    value = finite(estimate.value)
    if value is None:
        return Cell(NO_VALUE, "", reason(estimate), "", reason(estimate))
    between = interval(estimate)
    return Cell(
        number(value), between, "", repr(value), f"{number(value, 3)} {interval(estimate, 3)} · n = {estimate.n}"
    )


def _row(name: str, numbers: Mapping[str, Any]) -> Row:
    counts = numbers["counts"]
    return Row(
        name,
        [_cell(numbers.get(key)) for key, _, _ in RATES],
        [count(counts[key]) for key, _, _ in CELLS],
        count(counts["missing"]),
    )


def _planted(numbers: Mapping[str, Any]) -> list[tuple[str, str]]:
    planted = numbers.get("planted")
    if planted is None:
        return []
    labels = {key: label for key, label, _ in RATES}
    return [
        (
            labels[key],
            f"planted {number(planted[key])}, recovered {_cell(numbers[key]).text} {_cell(numbers[key]).interval}",
        )
        for key in PLANTED
        if planted.get(key) is not None
    ]


def _arm(arm: Mapping[str, Any]) -> ArmPart:
    title = STYLE_NAMES.get(arm["style"], arm["style"])
    if arm["writer"] != "-":
        title = f"{title}, written by {arm['writer']}"
    judges = [
        JudgeBiases(
            name, [_row(TITLES.get(bias, bias), part) for bias, part in numbers["biases"].items()], _planted(numbers)
        )
        for name, numbers in arm["configurations"].items()
    ]
    return ArmPart(
        title=title[:1].upper() + title[1:],
        slug=f"{arm['style']}-{arm['writer']}",
        rows=[_row(name, numbers) for name, numbers in arm["configurations"].items()],
        judges=judges,
        corrected=[_row(name, numbers) for name, numbers in arm["corrected"].items()],
    )


def _agreement(agreement: Mapping[str, Any]) -> list[tuple[str, list[Cell]]]:
    parts = [("All", agreement["pooled"]), *((TITLES.get(b, b), part) for b, part in agreement["biases"].items())]
    return [
        (
            name,
            [
                _cell(part["kept"]),
                _cell(part["unanimous"]),
                _cell(part["pairwise_agreement"]),
                *(_cell(part["by_verifier"][who]) for who in agreement["names"]),
            ],
        )
        for name, part in parts
    ]


def _injected(section: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    left_out = section["exclusions"]
    names = [bias.name for bias in BIASES if bias.name in section["injected"] or bias.name in left_out]
    return [
        (
            TITLES[name],
            count(section["injected"].get(name, 0)),
            ", ".join(f"{count(n)} {why.replace('_', ' ')}" for why, n in left_out.get(name, {}).items()) or NO_VALUE,
        )
        for name in names
    ]


def bias_table(section: Mapping[str, Any]) -> pl.DataFrame:
    """Every rate and count of the section as a flat table: one row a style, judge and bias (``pooled`` for all)."""
    rows: list[dict[str, Any]] = []
    for arm in section["arms"]:
        for name, numbers in arm["configurations"].items():
            for bias, part in (("pooled", numbers), *numbers["biases"].items()):
                row: dict[str, Any] = {"style": arm["style"], "writer": arm["writer"]}
                row |= {"configuration": name, "bias": bias}
                for key, _, _ in RATES:
                    estimate = found(part[key])
                    row |= {key: estimate.value, f"{key}_low": estimate.low, f"{key}_high": estimate.high}
                rows.append(row | part["counts"])
    return pl.DataFrame(rows, infer_schema_length=None)
