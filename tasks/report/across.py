"""One judge over all three benchmarks: rhetoric, style and bias side by side, from the results of several suites.

Input are the results of suites that judged with the same models; rows of one model at one kind of endpoint are one
judge, whatever their configurations are called. Nothing is averaged over benchmarks: they ask different things.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from storage.results import ConfigurationResult, Results
from tasks.report.numbers import with_interval
from tasks.report.verdicts import estimate

SECTION = "judges_over_all_benchmarks"
SHOWN: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    "robust_review": ("rhetoric", (("discriminability", "Discriminability"), ("mad", "MAD"))),
    "sci_style": ("style", (("sbi", "SBI"), ("srr", "SRR"), ("awr", "AWR"))),
    "judge_bias": ("bias", (("bsr", "BSR"), ("symmetric_flip_rate", "Flips both ways"))),
}
"""Benchmark -> what it asks about, and its headline metrics by key and label."""


def across_benchmarks(suites: Sequence[Results]) -> list[dict[str, Any]]:
    """One row a judge that was asked in at least two benchmarks; for ``Results.sections[SECTION]``.

    Args:
        suites: results of suites of different benchmarks; of several of one benchmark the last counts.

    Returns:
        Rows with ``judge`` and, for each benchmark, the protocols and numbers as text, or that it was not asked there.
    """
    latest = {results.benchmark: results for results in suites}
    judges: dict[tuple[str, str], dict[str, list[ConfigurationResult]]] = {}
    for benchmark, results in latest.items():
        for row in results.configurations:
            judges.setdefault((row.kind, row.model), {}).setdefault(benchmark, []).append(row)
    rows = []
    for (_, model), found in judges.items():
        if len(found) > 1:
            rows.append({"judge": model, **{about: _told(found.get(benchmark, ()), metrics)
                                            for benchmark, (about, metrics) in SHOWN.items()}})
    return sorted(rows, key=lambda row: row["judge"])


def _told(rows: Iterable[ConfigurationResult], metrics: Sequence[tuple[str, str]]) -> str:
    told = [f"{row.name}: " + ", ".join(f"{label} {with_interval(estimate(row, key))}" for key, label in metrics)
            for row in rows]
    return "; ".join(told) or "not asked"
