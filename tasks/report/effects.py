"""The drift by condition and producer as a heat table: one row a judge, one column a condition of a producer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from storage.results import Effect, Estimate, Results
from tasks.report.links import judge_link
from tasks.report.numbers import MINUS, finite, number, with_interval
from tasks.report.verdicts import Standing
from tasks.report.words import condition_title, is_null

MEAN_STEPS = (0.1, 0.3, 0.6, 1.0)
"""Edges of the colours for mean shifts, in points."""
CELL_STEPS = (0.25, 1.5, 2.5, 3.5)
"""Edges of the colours for a single paper's shift, in points."""


class Column(NamedTuple):
    """A condition of a producer."""

    condition: str
    title: str
    producer: str


class HeatCell(NamedTuple):
    """One mean shift: text, colour class, whether its interval leaves out 0, and the tooltip."""

    text: str
    shade: str
    clear: bool
    tip: str


class HeatRow(NamedTuple):
    """One judge."""

    name: str
    link: str
    cells: list[HeatCell]


class HeatTable(NamedTuple):
    """The table, its two header rows, and the legend's steps."""

    groups: list[tuple[str, int]]
    columns: list[Column]
    rows: list[HeatRow]
    legend: list[tuple[str, str, str]]


def shade(shift: float | None, steps: Sequence[float]) -> str:
    """The colour class of a shift: ``dn4`` (much lower) over ``d0`` to ``dp4`` (much higher)."""
    shift = finite(shift)
    if shift is None:
        return "dx"
    level = sum(abs(shift) >= step for step in steps)
    return "d0" if level == 0 else f"d{'p' if shift > 0 else 'n'}{level}"


def legend(steps: Sequence[float]) -> list[tuple[str, str, str]]:
    """``(class, bound, words)`` of every colour, from lower to higher."""
    bounds = [f"{step:g}" for step in steps]
    words = [f"{one} to {two}" for one, two in pairwise(bounds)] + [f"{bounds[-1]} or more"]
    low = [
        (f"dn{level}", MINUS + bounds[level - 1], f"lower by {words[level - 1]}") for level in range(len(steps), 0, -1)
    ]
    high = [
        (f"dp{level}", "+" + bounds[level - 1], f"higher by {words[level - 1]}") for level in range(1, len(steps) + 1)
    ]
    return [*low, ("d0", "0", f"less than {bounds[0]}"), *high]


def heat_table(results: Results, where: Standing) -> HeatTable | None:
    """The effects in the leaderboard's order; None where there are none."""
    if not results.effects:
        return None
    columns = _columns(results)
    found = {(each.configuration, each.condition, each.producer): each for each in results.effects}
    rows = [
        HeatRow(
            each.name,
            judge_link(each.name),
            [_cell(found.get((each.name, column.condition, column.producer))) for column in columns],
        )
        for each in where.order
        if any(effect.configuration == each.name for effect in results.effects)
    ]
    groups: list[tuple[str, int]] = []
    for column in columns:
        if groups and groups[-1][0] == column.title:
            groups[-1] = (column.title, groups[-1][1] + 1)
        else:
            groups.append((column.title, 1))
    return HeatTable(groups, columns, rows, legend(MEAN_STEPS))


def effect_conditions(results: Results) -> list[str]:
    """The conditions that have effects, in the suite's order, the null arm last."""
    seen = {each.condition for each in results.effects}
    known = [name for name in results.conditions if name in seen]
    return sorted(dict.fromkeys([*known, *sorted(seen)]), key=is_null)


def _columns(results: Results) -> list[Column]:
    seen = {(each.condition, each.producer) for each in results.effects}
    producers = list(dict.fromkeys([*results.producers, *(each.producer for each in results.effects)]))
    return [
        Column(one, condition_title(one), two)
        for one in effect_conditions(results)
        for two in producers
        if (one, two) in seen
    ]


def _cell(effect: Effect | None) -> HeatCell:
    shift = effect.shift if effect else Estimate(value=None, reason="not_run")
    low, high = finite(shift.low), finite(shift.high)
    clear = low is not None and high is not None and (low > 0 or high < 0)
    return HeatCell(
        number(shift.value, 1, signed=True),
        shade(shift.value, MEAN_STEPS),
        clear,
        f"{with_interval(shift, signed=True)}, n = {shift.n}",
    )
