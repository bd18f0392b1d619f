"""Numbers beside numbers: planted and recovered values of phantoms, published values and ours."""

from __future__ import annotations

from typing import NamedTuple

from storage.results import ConfigurationResult, Estimate, Results
from tasks.report.links import judge_link
from tasks.report.numbers import finite, interval, number, reason, with_interval
from tasks.report.published import beside
from tasks.report.verdicts import Standing, estimate
from tasks.report.words import METRICS, metric


class Recovered(NamedTuple):
    """One metric of one phantom. ``inside`` is None where a value or interval is not defined."""

    planted: str
    found: str
    interval: str
    inside: bool | None


class PhantomRow(NamedTuple):
    """One phantom."""

    name: str
    link: str
    cells: list[Recovered]


class Calibration(NamedTuple):
    """Planted beside recovered, and how often the interval holds the planted value."""

    labels: list[str]
    rows: list[PhantomRow]
    covered: list[tuple[str, int, int]]
    """Label, intervals that hold the planted value, intervals."""


class PublishedCell(NamedTuple):
    """A published number and ours."""

    published: str
    ours: str
    tip: str


class PublishedRow(NamedTuple):
    """One published row and our judge of that name, if there is one."""

    name: str
    ours: str | None
    link: str | None
    cells: list[PublishedCell]


def calibration(where: Standing) -> Calibration | None:
    """The phantoms of the report; None where there are none."""
    phantoms = [each for each in where.order if each.planted]
    if not phantoms:
        return None
    planted = {key for each in phantoms for key in each.planted or {}}
    keys = [each.key for each in METRICS if each.key in planted] + sorted(planted - {each.key for each in METRICS})
    rows = [PhantomRow(each.name, judge_link(each.name), [_recovered(each, key) for key in keys]) for each in phantoms]
    covered = []
    for index, key in enumerate(keys):
        decided = [inside for row in rows if (inside := row.cells[index].inside) is not None]
        covered.append((metric(key).label, sum(decided), len(decided)))
    return Calibration([metric(key).label for key in keys], rows, covered)


def _recovered(phantom: ConfigurationResult, key: str) -> Recovered:
    planted, found = finite((phantom.planted or {}).get(key)), estimate(phantom, key)
    low, high = finite(found.low), finite(found.high)
    inside = None if planted is None or low is None or high is None else low <= planted <= high
    return Recovered(number(planted), reason(found) or number(found.value), interval(found), inside)


def published_rows(results: Results) -> list[PublishedRow]:
    """The published table with our numbers where names match."""
    out = []
    for row, ours in beside(results.configurations):
        cells = []
        for each in METRICS:
            found = estimate(ours, each.key) if ours else Estimate(value=None, reason="no_judge_of_this_name")
            cells.append(
                PublishedCell(
                    number(row.metrics.get(each.key), 3), number(found.value, 3) if ours else "", with_interval(found)
                )
            )
        out.append(PublishedRow(row.name, ours.name if ours else None, judge_link(ours.name) if ours else None, cells))
    return out
