"""The nights of a suite as small lines, and one judge's numbers from several benchmarks on one card.

Both are drawn from sections that come with the results; without them there is nothing to show.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError

from storage.records import Record
from storage.results import Estimate, Results
from tasks.report.links import judge_link
from tasks.report.numbers import finite, number, with_interval
from tasks.report.verdicts import Standing, estimate
from tasks.report.words import metric

WIDTH, HEIGHT = 220.0, 44.0


class _Line(Record):
    """One metric of one judge, a value a night (None for a night without it)."""

    configuration: str
    metric: str
    values: list[float | None]


class _Section(Record):
    """``Results.sections["trend"]``: the nights, oldest first, and the lines over them."""

    dates: list[str]
    trends: list[_Line]


class Trend(NamedTuple):
    """A line as it is drawn: polylines (broken where a night is missing), its last point and its words."""

    name: str
    link: str | None
    label: str
    runs: list[str]
    last: tuple[float, float] | None
    latest: str
    change: str
    said: str


class Trends(NamedTuple):
    """All lines, and what nights they are about."""

    first: str
    latest: str
    nights: int
    lines: list[Trend]


def trends(results: Results) -> Trends | None:
    """The section ``trend`` as lines; None without it, or with one of another shape."""
    try:
        found = _Section.model_validate(results.sections.get("trend"))
    except ValidationError:
        return None
    known = {each.name for each in results.configurations}
    lines = [_trend(each, each.configuration in known) for each in found.trends]
    if not lines or not found.dates:
        return None
    return Trends(found.dates[0], found.dates[-1], len(found.dates), lines)


def _trend(line: _Line, is_known: bool) -> Trend:
    values = [finite(value) for value in line.values]
    there = [value for value in values if value is not None]
    low, high = min(there, default=0.0), max(there, default=0.0)
    span, step = (high - low) or 1.0, (WIDTH - 12) / max(len(values) - 1, 1)
    height = HEIGHT - 12
    places = [
        None if value is None else (round(6 + at * step, 1), round(6 + height - (value - low) / span * height, 1))
        for at, value in enumerate(values)
    ]
    change = there[-1] - there[0] if len(there) > 1 else None
    label = metric(line.metric).label
    return Trend(
        line.configuration,
        judge_link(line.configuration) if is_known else None,
        label,
        list(_runs(places)),
        next((place for place in reversed(places) if place is not None), None),
        number(values[-1] if values else None, 3),
        number(change, 3, signed=True),
        f"{label} of {line.configuration} over {len(values)} nights: "
        + ", ".join(number(value, 3) for value in values),
    )


def _runs(places: list[tuple[float, float] | None]) -> Iterator[str]:
    """Polylines between missing nights."""
    run: list[str] = []
    for place in [*places, None]:
        if place is not None:
            run.append(f"{place[0]},{place[1]}")
        elif run:
            yield " ".join(run)
            run = []


class Side(NamedTuple):
    """What one benchmark says of a judge: its name, its headline numbers."""

    benchmark: str
    question: str
    numbers: list[tuple[str, str]]


class JudgeCard(NamedTuple):
    """One judge over the benchmarks that know it."""

    name: str
    link: str
    sides: list[Side]


_STYLE = (("sbi", "SBI"), ("srr", "SRR"), ("awr", "AWR"))
_BIAS = (("acc_ori", "Right before"), ("acc_inj", "Right after"), ("bsr", "BSR"))


def judge_cards(results: Results, where: Standing) -> list[JudgeCard]:
    """A card for every judge that at least two benchmarks know: rhetoric here, ``style`` and ``bias`` as sections."""
    style, bias = _style(results.sections.get("style")), _bias(results.sections.get("bias"))
    cards = []
    for each in where.order:
        sides = []
        if finite(estimate(each, "mad").value) is not None:
            named = [(metric(key).label, with_interval(estimate(each, key))) for key in ("discriminability", "mad")]
            sides.append(Side("Rhetoric", "Does rewording a paper move its score?", named))
        for title, question, rows, labels in (
            ("Style", "Does the style of an idea beat its substance?", style, _STYLE),
            ("Bias", "Does an injected cue turn a verdict?", bias, _BIAS),
        ):
            row = rows.get(each.name) or rows.get(each.model)
            if row is not None:
                sides.append(Side(title, question, [(words, _said(row.get(key))) for key, words in labels]))
        if len(sides) > 1:
            cards.append(JudgeCard(each.title or each.name, judge_link(each.name), sides))
    return cards


def _style(section: Any) -> Mapping[str, Mapping[str, Any]]:
    rows = section.get("configurations") if isinstance(section, dict) else None
    return {name: row for name, row in rows.items() if isinstance(row, dict)} if isinstance(rows, dict) else {}


def _bias(section: Any) -> Mapping[str, Mapping[str, Any]]:
    """The pooled rates of the first arm."""
    arms = section.get("arms") if isinstance(section, dict) else None
    first = arms[0] if isinstance(arms, list) and arms and isinstance(arms[0], dict) else {}
    rows = first.get("configurations")
    pooled = {
        name: row.get("pooled", row) for name, row in rows.items() if isinstance(row, dict)
    } if isinstance(rows, dict) else {}
    return {name: row for name, row in pooled.items() if isinstance(row, dict)}


def _said(value: Any) -> str:
    """A number as its benchmark gives it (value, low, high, n, reason)."""
    if not isinstance(value, dict):
        return number(None)
    known = {key: each for key, each in value.items() if key in ("value", "low", "high", "n", "reason")}
    try:
        return with_interval(Estimate.model_validate({"value": None, **known}))
    except ValidationError:
        return number(None)
