"""How often the 95 % intervals really hold the true value: the measured table, for the methods section.

The table is data (``data/coverage.json``), made by ``tests/benchmarks/bench_coverage.py`` on simulated benchmarks whose
truth is planted; nothing of it is typed into a template. Only sorting, shares and words happen here.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from storage.records import Record
from tasks.report.numbers import number
from tasks.report.words import metric

AIM = (0.93, 0.97)
METHODS: dict[str, str] = {
    "percentile": "percentile",
    "bca": "BCa",
    "bca_t": "BCa, widened",
    "bootstrap_t": "bootstrap t",
    "jackknife_t": "jackknife t",
    "f": "F",
}


class Measured(Record):
    """The file: how it was made, the simulated judges, one row a judge, size, metric and method."""

    schema_version: int
    command: str
    date: str
    simulations: int
    draws: int
    level: float
    settings: int
    null_repeats: int
    seconds: int
    seeds: dict[str, int]
    versions: dict[str, str]
    defaults: dict[str, str]
    judges: dict[str, dict[str, Any]]
    columns: list[str]
    rows: list[list[Any]]


class Case(NamedTuple):
    """One row of the file, as far as it is shown."""

    judge: str
    families: int
    metric: str
    method: str
    share: float


class MethodRow(NamedTuple):
    """One method of one metric over all simulated judges and sizes."""

    metric: str
    method: str
    is_chosen: bool
    is_nearest: bool
    lowest: str
    mean: str
    highest: str
    within: str
    """How many cases lie within the aim, of how many."""


class JudgeRow(NamedTuple):
    """One simulated judge at one size: the chosen interval's coverage of every metric; ``outside`` marks misses."""

    judge: str
    kind: str
    families: int
    cells: list[tuple[str, bool]]


class Coverage(NamedTuple):
    """What the methods section shows."""

    made: Measured
    methods: list[MethodRow]
    labels: list[str]
    judges: list[JudgeRow]
    outside: list[str]
    """One sentence a metric whose chosen interval leaves the aim somewhere."""
    even: tuple[str, str]
    """F interval and family-drawn interval of ICC where papers are spread evenly: lowest coverage of each, percent."""
    flat: list[str]
    """Coverage of the almost flat judge by metric, in words."""


@cache
def measured() -> Measured:
    """The table as it is stored."""
    text = resources.files("tasks.report").joinpath("data/coverage.json").read_text(encoding="utf-8")
    return Measured.model_validate_json(text)


def cases(made: Measured) -> list[Case]:
    """The rows with their shares."""
    rows = (dict(zip(made.columns, row, strict=True)) for row in made.rows)
    return [
        Case(row["judge"], row["families"], row["metric"], row["method"], row["covered"] / row["simulations"])
        for row in rows
    ]


@cache
def coverage() -> Coverage:
    """Everything that the methods section says about coverage."""
    made = measured()
    found = cases(made)
    chosen = [each for each in found if each.method == made.defaults[each.metric]]
    names = list(made.defaults)
    sizes = sorted({each.families for each in found}, reverse=True)
    even = [name for name, judge in made.judges.items() if judge["uniform"]]
    flat = [name for name in made.judges if "flat" in name]
    return Coverage(
        made,
        [row for name in names for row in _methods(made, name, [each for each in found if each.metric == name])],
        [metric(name).short for name in names],
        [_judge(made, judge, size, chosen) for judge in made.judges for size in sizes],
        [sentence for name in names if (sentence := _outside(name, chosen))],
        (_lowest(chosen, "icc_a1", even), _lowest(chosen, "icc_a1_cluster", even)),
        [f"{metric(name).label} {_span(own)}" for name in names if (own := _missed(chosen, name, flat))],
    )


def _missed(chosen: list[Case], name: str, judges: list[str]) -> list[Case]:
    """The cases of these judges, where one of them leaves the aim."""
    own = [each for each in chosen if each.metric == name and each.judge in judges]
    return own if any(not _fits(each.share) for each in own) else []


def _methods(made: Measured, name: str, found: list[Case]) -> list[MethodRow]:
    by_method: dict[str, list[float]] = {}
    for each in found:
        by_method.setdefault(each.method, []).append(each.share)
    distance = {method: sum(abs(share - made.level) for share in shares) for method, shares in by_method.items()}
    nearest = min(distance, key=lambda method: distance[method])
    return [
        MethodRow(
            metric(name).label,
            METHODS.get(method, method),
            method == made.defaults[name],
            method == nearest,
            _percent(min(shares)),
            _percent(sum(shares) / len(shares)),
            _percent(max(shares)),
            f"{sum(map(_fits, shares))} of {len(shares)}",
        )
        for method, shares in by_method.items()
    ]


def _judge(made: Measured, judge: str, size: int, chosen: list[Case]) -> JudgeRow:
    shares = {each.metric: each.share for each in chosen if each.judge == judge and each.families == size}
    cells = [(_percent(shares.get(name)), name in shares and not _fits(shares[name])) for name in made.defaults]
    return JudgeRow(judge, str(made.judges[judge]["kind"]), size, cells)


def _outside(name: str, chosen: Iterable[Case]) -> str:
    misses = [each for each in chosen if each.metric == name and not _fits(each.share)]
    if not misses:
        return ""
    judges = "; ".join(
        f"{judge} {_span([each for each in misses if each.judge == judge])}"
        for judge in dict.fromkeys(each.judge for each in misses)
    )
    return f"{metric(name).label}: {judges}"


def _lowest(chosen: list[Case], name: str, judges: list[str]) -> str:
    return _percent(min((each.share for each in chosen if each.metric == name and each.judge in judges), default=None))


def _span(found: list[Case]) -> str:
    low, high = _percent(min(each.share for each in found)), _percent(max(each.share for each in found))
    return low if low == high else f"{low} to {high}"


def _fits(share: float) -> bool:
    return AIM[0] <= share <= AIM[1]


def _percent(share: float | None) -> str:
    return number(None if share is None else 100 * share, 1)
