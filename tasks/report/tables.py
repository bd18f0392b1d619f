"""``Results`` as flat tables, one frame a question: what CSV, Parquet and LaTeX are written from.

Column names are part of what we promise to readers of the files; change them with a new schema version.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from storage.results import Estimate, Results
from tasks.report.bias import bias_table, section_of
from tasks.report.numbers import finite
from tasks.report.published import beside
from tasks.report.style import style_section, style_table
from tasks.report.verdicts import Standing, estimate, standing
from tasks.report.words import METRICS, VERDICTS

TEXT, REAL, WHOLE = pl.String, pl.Float64, pl.Int64
_ESTIMATE: dict[str, Any] = {
    "value": REAL,
    "low": REAL,
    "high": REAL,
    "n": WHOLE,
    "reason": TEXT,
    "flags": TEXT,
    "method": TEXT,
    "standard_error": REAL,
    "interval_reason": TEXT,
}


def tables(results: Results) -> dict[str, pl.DataFrame]:
    """Every table by name. A table without rows still has its columns."""
    where = standing(results)
    section, ideas = section_of(results), style_section(results)
    return {
        **({"bias": bias_table(section)} if section else {}),
        **({"style": style_table(ideas)} if ideas else {}),
        "leaderboard": _leaderboard(where),
        "metrics": _metrics(where),
        "effects": _effects(results),
        "comparisons": _comparisons(results),
        "power": _power(results),
        "scores": _scores(where),
        "histograms": _histograms(where),
        "families": _records(results.families),
        "versions": _records(results.versions),
        "exclusions": _records(results.exclusions),
        "missing": _missing(where),
        "cost": _cost(where),
        "planted": _planted(where),
        "published": _published(results),
    }


def _frame(schema: Mapping[str, Any], rows: Iterable[Iterable[Any]]) -> pl.DataFrame:
    return pl.DataFrame([tuple(row) for row in rows], schema=dict(schema), orient="row")


def _parts(found: Estimate) -> tuple[Any, ...]:
    return (
        finite(found.value),
        finite(found.low),
        finite(found.high),
        found.n,
        found.reason,
        "; ".join(found.flags),
        found.method,
        finite(found.standard_error),
        found.interval_reason,
    )


def _leaderboard(where: Standing) -> pl.DataFrame:
    schema: dict[str, Any] = {
        "place": WHOLE,
        "configuration": TEXT,
        "verdict": TEXT,
        "false_robustness": TEXT,
        "endpoint": TEXT,
        "model": TEXT,
        "protocol": TEXT,
        "kind": TEXT,
        "wanted": WHOLE,
        "answered": WHOLE,
    }
    for metric in METRICS:
        schema |= {
            metric.key: REAL,
            f"{metric.key}_low": REAL,
            f"{metric.key}_high": REAL,
            f"{metric.key}_n": WHOLE,
            f"{metric.key}_reason": TEXT,
        }
    rows = []
    for place, each in enumerate(where.order, 1):
        row = [
            place,
            each.name,
            VERDICTS[where.verdicts[each.name]][0],
            "; ".join(each.false_robustness),
            each.endpoint,
            each.model,
            each.protocol,
            each.kind,
            each.cells.wanted,
            each.cells.answered,
        ]
        for metric in METRICS:
            row += _parts(estimate(each, metric.key))[:5]
        rows.append(row)
    return _frame(schema, rows)


def _metrics(where: Standing) -> pl.DataFrame:
    schema = {"configuration": TEXT, "metric": TEXT, **_ESTIMATE}
    return _frame(
        schema, ((each.name, key, *_parts(found)) for each in where.order for key, found in each.metrics.items())
    )


def _effects(results: Results) -> pl.DataFrame:
    schema = {"configuration": TEXT, "condition": TEXT, "producer": TEXT, **_ESTIMATE}
    return _frame(
        schema, ((each.configuration, each.condition, each.producer, *_parts(each.shift)) for each in results.effects)
    )


def _comparisons(results: Results) -> pl.DataFrame:
    schema = {"metric": TEXT, "first": TEXT, "second": TEXT, **_ESTIMATE, "p_value": REAL, "p_holm": REAL}
    schema |= {"families_needed": WHOLE}
    return _frame(
        schema,
        (
            (each.metric, each.first, each.second, *_parts(each.difference), finite(each.p_value), finite(each.p_holm),
             each.families_needed)
            for each in results.comparisons
        ),
    )


def _power(results: Results) -> pl.DataFrame:
    schema = {"metric": TEXT, "families": WHOLE, "pairs": WHOLE, "detectable": REAL, "detectable_low": REAL,
              "detectable_high": REAL, "difference": REAL, "families_needed": WHOLE}
    return _frame(
        schema,
        (
            (each.metric, each.families, each.pairs, each.detectable, each.detectable_low, each.detectable_high,
             float(size), needed)
            for each in results.power
            for size, needed in each.needed.items()
        ),
    )


def _scores(where: Standing) -> pl.DataFrame:
    schema = {"configuration": TEXT, "family": TEXT, "version": TEXT, "score": REAL}
    return _frame(
        schema,
        (
            (each.name, family, version, finite(score))
            for each in where.order
            for family, row in each.scores.items()
            for version, score in row.items()
        ),
    )


def _histograms(where: Standing) -> pl.DataFrame:
    schema = {"configuration": TEXT, "score": TEXT, "cells": WHOLE}
    return _frame(
        schema, ((each.name, score, cells) for each in where.order for score, cells in each.histogram.items())
    )


def _missing(where: Standing) -> pl.DataFrame:
    schema = {"configuration": TEXT, "reason": TEXT, "cells": WHOLE}
    return _frame(
        schema, ((each.name, reason, cells) for each in where.order for reason, cells in each.cells.missing.items())
    )


def _cost(where: Standing) -> pl.DataFrame:
    schema = {
        "configuration": TEXT,
        "calls": WHOLE,
        "attempts": WHOLE,
        "input_tokens": WHOLE,
        "output_tokens": WHOLE,
        "usd": REAL,
        "seconds": REAL,
    }
    return _frame(
        schema,
        (
            (
                each.name,
                each.spend.calls,
                each.spend.attempts,
                each.spend.input_tokens,
                each.spend.output_tokens,
                finite(each.spend.usd),
                each.spend.seconds,
            )
            for each in where.order
        ),
    )


def _planted(where: Standing) -> pl.DataFrame:
    schema = {"configuration": TEXT, "metric": TEXT, "planted": REAL, **_ESTIMATE}
    return _frame(
        schema,
        (
            (each.name, key, finite(value), *_parts(estimate(each, key)))
            for each in where.order
            for key, value in (each.planted or {}).items()
        ),
    )


def _published(results: Results) -> pl.DataFrame:
    schema = {
        "name": TEXT,
        "metric": TEXT,
        "published": REAL,
        "ours": REAL,
        "ours_low": REAL,
        "ours_high": REAL,
        "configuration": TEXT,
    }
    rows = []
    for row, ours in beside(results.configurations):
        for key, value in row.metrics.items():
            found = estimate(ours, key) if ours else Estimate(value=None, reason="no_judge_of_this_name")
            rows.append((row.name, key, value, *_parts(found)[:3], ours.name if ours else None))
    return _frame(schema, rows)


_RECORDS: dict[type, Any] = {str: TEXT, int: WHOLE, float: REAL}


def _records(records: Iterable[Any]) -> pl.DataFrame:
    """Flat records as a frame; lists are joined, nested facts are left to metrics.json."""
    found = list(records)
    if not found:
        return pl.DataFrame()
    columns: dict[str, Any] = {}
    for name in type(found[0]).model_fields:
        values = [getattr(each, name) for each in found]
        if any(isinstance(value, dict) for value in values):
            continue
        values = ["; ".join(map(str, value)) if isinstance(value, list) else value for value in values]
        kind = next((_RECORDS[type(value)] for value in values if value is not None), TEXT)
        columns[name] = pl.Series(name, values, dtype=kind, strict=False)
    return pl.DataFrame(columns)
