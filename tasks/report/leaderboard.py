"""The leaderboard and the score histograms as rows that a template can print: text, positions in percent, tooltips.

Layout only; numbers come with ``Results``, verdicts from ``verdicts``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from storage.results import ConfigurationResult, Estimate
from tasks.report.links import judge_link
from tasks.report.numbers import finite, interval, no_interval, number, reason, with_interval
from tasks.report.ranges import shown_range
from tasks.report.verdicts import Standing, estimate
from tasks.report.words import METRICS, VERDICTS, Metric, flag

MOST_BARS = 14


class Scale(NamedTuple):
    """The range of a metric over all judges, for the little interval bars."""

    low: float
    high: float

    def percent(self, value: float) -> float:
        """Where ``value`` lies, 0 to 100; values beyond the range lie on its edge."""
        return round(100 * min(max((value - self.low) / (self.high - self.low), 0.0), 1.0), 2)


class Bar(NamedTuple):
    """A little interval: dot, ends and reference in percent of the column."""

    at: float
    left: float | None
    right: float | None
    reference: float | None


class Cell(NamedTuple):
    """One metric of one judge."""

    key: str
    text: str
    interval: str
    reason: str
    sort: str
    bar: Bar | None
    few: bool
    tip: str


class Row(NamedTuple):
    """One judge of the leaderboard."""

    name: str
    link: str
    verdict: str
    chip: str
    meaning: str
    reasons: list[str]
    model: str
    protocol: str
    endpoint: str
    kind: str
    cells: list[Cell]
    answered: int
    wanted: int
    title: str = ""
    """What a reader calls the judge, where its name says little."""
    behind: tuple[str, str] | None = None
    """The difference to the best judge in discriminability, and its interval."""
    behind_tip: str = ""


class HistogramBar(NamedTuple):
    """One bar: label, cells, height in percent of the tallest."""

    label: str
    cells: int
    height: float


class Histogram(NamedTuple):
    """The scores that one judge gives."""

    name: str
    link: str
    verdict: str
    bars: list[HistogramBar]
    summary: str
    label: str


def rows(where: Standing) -> list[Row]:
    """The leaderboard, best judge first."""
    scales = {metric.key: _scale(metric, [estimate(each, metric.key) for each in where.order]) for metric in METRICS}
    return [_with_distance(_row(each, where.verdicts[each.name], scales), where) for each in where.order]


def _with_distance(row: Row, where: Standing) -> Row:
    """The row with how far it is behind the best judge, where the two were compared."""
    found = where.behind.get(row.name)
    if found is None or where.best is None:
        return row
    difference = Estimate(value=found.value, low=found.low, high=found.high)
    words = with_interval(difference, signed=True)
    tip = f"Discriminability less that of {where.best.title or where.best.name}, paired over papers: {words}"
    if found.p_holm is not None:
        tip += f"; p = {number(found.p_holm, 3)} (Holm)" if found.p_holm >= 0.001 else "; p < 0.001 (Holm)"
    else:
        tip += "; not tested"
    parts = (number(found.value, signed=True), interval(difference, signed=True))
    return row._replace(behind=parts, behind_tip=tip)


def _row(each: ConfigurationResult, verdict: str, scales: dict[str, Scale]) -> Row:
    chip, meaning = VERDICTS[verdict]
    cells = [cell(metric, estimate(each, metric.key), scales[metric.key]) for metric in METRICS]
    return Row(
        each.name,
        judge_link(each.name),
        verdict,
        chip,
        meaning,
        [flag(word) for word in each.false_robustness],
        each.model,
        each.protocol,
        each.endpoint,
        each.kind,
        cells,
        each.cells.answered,
        each.cells.wanted,
        each.title or "",
    )


def _scale(metric: Metric, estimates: Iterable[Estimate]) -> Scale:
    return Scale(*shown_range(estimates, [] if metric.reference is None else [metric.reference]))


def cell(metric: Metric, found: Estimate, scale: Scale) -> Cell:
    """One estimate as text, with its place on the column's scale."""
    value, low, high = finite(found.value), finite(found.low), finite(found.high)
    bar = None
    if value is not None:
        reference = None if metric.reference is None else scale.percent(metric.reference)
        whole = low is not None and high is not None
        left, right = (scale.percent(low or 0.0), scale.percent(high or 0.0)) if whole else (None, None)
        bar = Bar(scale.percent(value), left, right, reference)
    parts = [f"{metric.label} {with_interval(found, metric.digits)}", f"n = {found.n:,}"]
    parts += [f"interval: {found.method}"] if found.method else []
    parts += [f"note: {'; '.join(flag(each) for each in found.flags)}"] if found.flags else []
    parts += [found.interval_reason] if found.interval_reason else []
    return Cell(
        metric.key,
        number(value, metric.digits),
        interval(found, metric.digits) or no_interval(found),
        reason(found),
        "" if value is None else repr(value),
        bar,
        "few" in found.flags,
        " · ".join(parts),
    )


def histograms(where: Standing) -> list[Histogram]:
    """The scores each judge gives, in the leaderboard's order; all on the same axis."""
    axis = _axis(where.order)
    return [_histogram(each, where.verdicts[each.name], axis) for each in where.order]


def _axis(configurations: list[ConfigurationResult]) -> list[float]:
    """The scores that integer-scoring judges use; judges with continuous scores are rounded to it."""
    found: set[float] = set()
    for each in configurations:
        values = {float(score) for score in each.histogram}
        found |= values if len(values) <= MOST_BARS else {float(round(value)) for value in values}
    if len(found) > MOST_BARS:
        found = {float(round(value)) for value in found}
    return sorted(found)


def _histogram(each: ConfigurationResult, verdict: str, axis: list[float]) -> Histogram:
    counts = dict.fromkeys(axis, 0)
    for score, cells in each.histogram.items():
        nearest = min(axis, key=lambda place: abs(place - float(score)))
        counts[nearest] += cells
    top = max(counts.values(), default=0) or 1
    bars = [HistogramBar(f"{score:g}", cells, round(100 * cells / top, 1)) for score, cells in counts.items()]
    parts = [] if each.top_share is None else [f"mode {100 * each.top_share:.0f}\u00a0%"]
    parts += [] if each.entropy_bits is None else [f"{each.entropy_bits:.2f} bits"]
    said = ", ".join(f"{bar.label}: {bar.cells}" for bar in bars if bar.cells)
    return Histogram(
        each.name, judge_link(each.name), verdict, bars, " · ".join(parts), f"Scores of {each.name}: {said or 'none'}"
    )
