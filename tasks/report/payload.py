"""What the page's script needs to draw a judge's own part: one JSON document, rounded and without repeated names.

Everything in it ends as text nodes in the browser. ``embed`` makes it safe to stand inside a script element.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from storage.results import Estimate, Results
from storage.vocabulary import ORIGINAL
from tasks.report.effects import CELL_STEPS, effect_conditions
from tasks.report.numbers import finite, no_interval, reason
from tasks.report.shifts import shift_parts
from tasks.report.verdicts import Standing
from tasks.report.words import METRICS, VERDICTS, condition_title, flag, is_null, metric, plain, version_label

NOBODY = "-"
"""How labels of scores name the producer of versions in which nobody wrote."""


def payload(results: Results, where: Standing, pages: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """The data of all judges, papers and comparisons; ``pages`` of versions are named family -> label -> path."""
    columns = _columns(results)
    given = {key for each in where.order for key in each.metrics if not key.startswith("variance_")}
    extra = sorted(given - {each.key for each in METRICS})
    metrics = [metric(key) for key in (*(each.key for each in METRICS), *extra)]
    names = [each.name for each in where.order]
    place = {name: index for index, name in enumerate(names)}
    return {
        "metrics": [[each.key, each.label, each.meaning, each.digits] for each in metrics],
        "versions": [[*_title(label), label] for label in columns],
        "families": [[each.family, each.title or each.family, _round(each.human_score)] for each in results.families],
        "steps": CELL_STEPS,
        "judges": [_judge(each, where.verdicts[each.name], metrics, columns, results) for each in where.order],
        "effects": _effects(results, place),
        "comparisons": [
            [
                each.metric,
                place[each.first],
                place[each.second],
                *_estimate(each.difference),
                _round(each.p_value),
                _round(each.p_holm),
                each.families_needed,
            ]
            for each in results.comparisons
            if each.first in place and each.second in place
        ],
        **shift_parts(results, pages, columns, place),
    }


def embed(value: Any) -> str:
    """JSON that cannot close the script element it stands in, nor hold a NaN."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character, escape in (
        ("<", "\\u003c"),
        (">", "\\u003e"),
        ("&", "\\u0026"),
        ("\u2028", "\\u2028"),
        ("\u2029", "\\u2029"),
    ):
        text = text.replace(character, escape)
    return text


def _round(value: float | None) -> float | None:
    value = finite(value)
    if value is None:
        return None
    rounded = float(f"{value:.6g}")
    return int(rounded) if rounded.is_integer() else rounded


def _estimate(found: Estimate) -> list[Any]:
    return [_round(found.value), _round(found.low), _round(found.high), found.n, reason(found)]


def _columns(results: Results) -> list[str]:
    """Version labels in reading order: the original, conditions by producer, the null arm, whatever else was scored."""
    wanted = sorted(results.conditions, key=is_null)
    known = [ORIGINAL, *(version_label(condition, producer) for condition in wanted for producer in results.producers)]
    seen = dict.fromkeys(label for each in results.configurations for row in each.scores.values() for label in row)
    return [*(label for label in known if label in seen), *(label for label in seen if label not in known)]


def _title(label: str) -> tuple[str, str]:
    condition, _, producer = label.partition("/")
    return condition_title(condition), "" if producer == NOBODY else producer


def _judge(each: Any, verdict: str, metrics: list[Any], columns: list[str], results: Results) -> dict[str, Any]:
    absent = Estimate(value=None, reason="not_computed")
    found = [each.metrics.get(one.key, absent) for one in metrics]
    rows = [each.scores.get(family.family) for family in results.families]
    chip, meaning = VERDICTS[verdict]
    return {
        "name": each.name,
        "title": each.title or "",
        "verdict": verdict,
        "chip": chip,
        "meaning": meaning,
        "why": [flag(word) + "." for word in each.false_robustness],
        "facts": [
            *([["What it is", each.title]] if each.title else []),
            ["Model", each.model],
            ["Protocol", each.protocol],
            ["Endpoint", each.endpoint],
            ["Kind", each.kind],
        ],
        "metrics": [
            [*_estimate(one), one.method, [flag(word) for word in one.flags], no_interval(one)] for one in found
        ],
        "planted": None if each.planted is None else [_round(each.planted.get(one.key)) for one in metrics],
        "histogram": [
            [score, cells] for score, cells in sorted(each.histogram.items(), key=lambda pair: float(pair[0]))
        ],
        "entropy": _round(each.entropy_bits),
        "top": _round(each.top_share),
        "wanted": each.cells.wanted,
        "answered": each.cells.answered,
        "missing": [[plain(word), cells] for word, cells in each.cells.missing.items() if cells],
        "scores": [None if row is None else [_round(row.get(label)) for label in columns] for row in rows],
    }


def _effects(results: Results, place: dict[str, int]) -> dict[str, list[Any]]:
    """By the judge's place: ``[condition title, producer, value, low, high, n, reason]``."""
    out: dict[str, list[Any]] = {}
    order = effect_conditions(results)
    for each in sorted(results.effects, key=lambda effect: order.index(effect.condition)):
        if each.configuration in place:
            out.setdefault(str(place[each.configuration]), []).append(
                [condition_title(each.condition), each.producer, *_estimate(each.shift)]
            )
    return out
