"""The part of the page about research ideas: does style move a judge, does substance, and does literature help.

Here belong the rows; drawing is ``style_charts``'s, formulas are ``tasks.metrics``'s. Input is the section ``style`` of
the results; published values are data (``data/published_style.json``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

import polars as pl

from storage.results import Estimate, Results
from tasks.report.numbers import NO_VALUE, count, finite, interval, listed, number, reason

RATES: tuple[tuple[str, str, str], ...] = (
    ("sbi", "SBI", "Style bias index as published: mean points by which a style moves a score, against a paraphrase."),
    ("sbi_plain", "SBI, plain", "The same against the plain core of the idea."),
    ("sbi_net", "SBI, net", "Points beyond what a mere paraphrase moves against the plain core."),
    ("srr", "SRR", "Share of comparisons in which more substance gets strictly more points; a tie is no win."),
    ("awr", "AWR", "Share of comparisons in which the plain idea beats its deceptive versions."),
    ("awr_enriched", "AWR, enriched", "The same for the enriched idea."),
    ("adr", "ADR", "How much of the movement on dimensions the overall score hides: 1 all of it, 0 none. Ours."),
)
SHORT = ("sbi", "srr", "awr")
TITLES = {"none": "no literature"}


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
    note: str = ""


class Variants(NamedTuple):
    """One judge in one setting, by variant."""

    title: str
    rows: list[Row]


class StylePart(NamedTuple):
    """Everything that the template prints."""

    lead: str
    judges: list[Row]
    settings: list[tuple[str, list[Row]]]
    """Setting -> judges."""
    methods: list[Row]
    dimensions: list[Row]
    dimension_names: list[str]
    variants: list[Variants]
    top: list[Row]
    top_sizes: list[str]
    agreement: list[Row]
    planted: list[tuple[str, str, list[str]]]
    literature: list[list[str]]
    audit: list[list[str]]
    rule: str


def style_section(results: Results) -> dict[str, Any] | None:
    """The section ``style`` of results, where it is what is made of ideas; None for other JSON of that name."""
    section = results.sections.get("style")
    return section if isinstance(section, dict) and isinstance(section.get("configurations"), dict) else None


@cache
def published_style() -> dict[str, Any]:
    """The published aggregates."""
    text = resources.files("tasks.report").joinpath("data/published_style.json").read_text(encoding="utf-8")
    read: dict[str, Any] = json.loads(text)
    return read


def estimate_of(numbers: Mapping[str, Any] | None) -> Estimate:
    """A number of the section as an estimate."""
    if numbers is None:
        return Estimate(value=None, reason="no number was made")
    return Estimate.model_validate({key: value for key, value in numbers.items() if key in Estimate.model_fields})


def cell(numbers: Mapping[str, Any] | None) -> Cell:
    """A number of the section as it is shown."""
    estimate = estimate_of(numbers)
    value = finite(estimate.value)
    if value is None:
        return Cell(NO_VALUE, "", reason(estimate), "", reason(estimate))
    tip = f"{number(value, 3)} {interval(estimate, 3)} · n = {estimate.n}"
    return Cell(number(value), interval(estimate), "", repr(value), tip)


def _plain(value: float | None, tip: str) -> Cell:
    text = number(value)
    return Cell(text, "", "" if value is not None else "Not published", "" if value is None else repr(value), tip)


def setting(name: str) -> str:
    """A context as the page names it."""
    return TITLES.get(name, name)


def style_part(section: Mapping[str, Any]) -> StylePart:
    """The part of the page, from the section ``style``."""
    configurations = section["configurations"]
    contexts = list(dict.fromkeys(name for numbers in configurations.values() for name in numbers["contexts"]))
    keys = [key for key, _, _ in RATES]
    return StylePart(
        lead=_lead(section),
        judges=[_row(name, numbers, keys) for name, numbers in configurations.items()],
        settings=[
            (setting(context), [_row(name, numbers["contexts"][context], keys, collapsed=True)
                                for name, numbers in configurations.items() if context in numbers["contexts"]])
            for context in contexts
        ],
        methods=_methods(section),
        dimensions=[
            Row(f"{name} · {setting(context)}", [cell(part["sbi"]) for part in numbers["dimensions"].values()])
            for name, found in configurations.items() for context, numbers in found["contexts"].items()
        ],
        dimension_names=_dimensions(configurations),
        variants=[_variants(section, name, context, numbers)
                  for name, found in configurations.items() for context, numbers in found["contexts"].items()],
        top=_top(configurations),
        top_sizes=["5", "10", "20", "30"],
        agreement=[
            Row(f"{entry['first']} and {entry['second']} · {setting(entry['context'])}",
                [cell(entry[name]) for name in ("spearman", "top_50_overlap", "top_5_overlap")])
            for entry in section["agreement"]
        ],
        planted=_planted(configurations),
        literature=_literature(section),
        audit=_audit(section),
        rule=str(section["aggregate"].get("rule", "")),
    )


def _row(name: str, numbers: Mapping[str, Any], keys: list[str], *, collapsed: bool = False) -> Row:
    note = "collapsed: it scores everything alike" if collapsed and numbers.get("collapsed") else ""
    return Row(name, [cell(numbers.get(key)) for key in keys], note)


def _dimensions(configurations: Mapping[str, Any]) -> list[str]:
    for numbers in configurations.values():
        for part in numbers["contexts"].values():
            return list(part["dimensions"])
    return []


def _lead(section: Mapping[str, Any]) -> str:
    known = sorted(
        (value, name) for name, numbers in section["configurations"].items()
        if (value := finite(estimate_of(numbers["sbi"]).value)) is not None and not _is_collapsed(numbers)
    )
    if not known:
        return "No judge has scored the variants that are compared yet."
    said = f"Style moves {known[0][1]} least ({number(known[0][0])} points on a scale of ten)"
    said += f" and {known[-1][1]} most ({number(known[-1][0])})." if len(known) > 1 else "."
    fooled = [name for name, numbers in section["configurations"].items()
              if (high := estimate_of(numbers["awr"]).high) is not None and high < 0.5 and not _is_collapsed(numbers)]
    if fooled:
        said += f" {listed(fooled)} prefer{'s' if len(fooled) == 1 else ''} deceptive versions to the plain idea."
    flat = [name for name, numbers in section["configurations"].items() if _is_collapsed(numbers)]
    if flat:
        said += f" {listed(flat)} look{'s' if len(flat) == 1 else ''} unmoved only because all scores are alike."
    return said


def _is_collapsed(numbers: Mapping[str, Any]) -> bool:
    contexts = numbers["contexts"].values()
    return bool(contexts) and all(part.get("collapsed") for part in contexts)


def _methods(section: Mapping[str, Any]) -> list[Row]:
    """Each method: our judges averaged, phantoms apart, and the published values beside them."""
    rows = []
    told = published_style()
    for entry in section.get("methods", []):
        who = "phantoms" if entry["phantoms"] else "judges"
        note = f"{len(entry['judges'])} {who}: {listed(entry['judges'], 8)}"
        rows.append(Row(f"{entry['method']} ({who})", [cell(entry.get(key)) for key in SHORT], note))
    for method, values in told["methods"].items():
        cells = [_plain(values.get(key), told["source"]) for key in SHORT]
        rows.append(Row(f"{method} (published)", cells, told["rule"]))
    return rows


def _variants(section: Mapping[str, Any], name: str, context: str, numbers: Mapping[str, Any]) -> Variants:
    keys = ("sbi", "sbi_plain", "score_delta", "rank_shift")
    titles = section.get("titles", {})
    return Variants(f"{name} · {setting(context)}", [
        Row(f"{variant} {titles.get(variant, '')}".strip(), [cell(part[key]) for key in keys])
        for variant, part in numbers["variants"].items()
    ])


def _top(configurations: Mapping[str, Any]) -> list[Row]:
    """Share of the plain Top-K that leaves it under the variant with all styles (H4)."""
    return [
        Row(f"{name} · {setting(context)}", [cell(numbers["variants"]["H4"]["top_k_change"][size])
                                             for size in ("5", "10", "20", "30")])
        for name, found in configurations.items() for context, numbers in found["contexts"].items()
    ]


def _planted(configurations: Mapping[str, Any]) -> list[tuple[str, str, list[str]]]:
    rows = []
    for name, found in configurations.items():
        for context, numbers in found["contexts"].items():
            if planted := numbers.get("planted"):
                texts = [f"{number(planted[key])} · {cell(numbers[key]).text} {cell(numbers[key]).interval}"
                         for key in SHORT]
                rows.append((name, setting(context), texts))
    return rows


def _literature(section: Mapping[str, Any]) -> list[list[str]]:
    return [
        [setting(row["name"]), row["provider"], count(row["ideas"]), count(row["wanted"]), count(row["works"]),
         count(row["short"]), count(row["without_abstract"]), count(row["failed"]),
         ", ".join(f"{provider} {count(n)}" for provider, n in row["records"].items()) or NO_VALUE]
        for row in section.get("contexts", [])
    ]


def _audit(section: Mapping[str, Any]) -> list[list[str]]:
    return [
        [f"{row['variant']} {row['title']}", count(row["made"]), count(row["audited"]), count(row["at_once"]),
         ", ".join(f"{count(n)} {style}" for style, n in row["styles_seen"].items()) or NO_VALUE,
         ", ".join(f"{count(n)} {why.replace('_', ' ')}" for why, n in row["excluded"].items()) or NO_VALUE]
        for row in section.get("audit", [])
    ]


def style_table(section: Mapping[str, Any]) -> pl.DataFrame:
    """Every headline number as a flat table: one row a judge and setting (``all`` for their mean)."""
    rows: list[dict[str, Any]] = []
    for name, found in section["configurations"].items():
        for context, numbers in (("all", found), *found["contexts"].items()):
            row: dict[str, Any] = {"configuration": name, "context": context}
            for key, _, _ in RATES:
                estimate = estimate_of(numbers.get(key))
                row |= {key: estimate.value, f"{key}_low": estimate.low, f"{key}_high": estimate.high}
            rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)


def style_words(section: Mapping[str, Any] | None, drawn: Mapping[str, Any]) -> dict[str, Any]:
    """What the template prints, by name; ``drawn`` are the figures. Empty for other benchmarks.

    Args:
        section: the section ``style``, or None.
        drawn: figures by name.
    """
    if section is None:
        return {}
    part = style_part(section)
    heads = [(words, tip) for _, words, tip in RATES]
    return {
        "style_part": part,
        "style_figures": drawn,
        "style_rates": RATES,
        "style_heads": heads,
        "style_short": [(words, tip) for key, words, tip in RATES if key in SHORT],
        "style_dimension_heads": [(name, f"SBI on {name}") for name in part.dimension_names],
        "style_variant_heads": [
            ("SBI", heads[0][1]),
            ("SBI, plain", heads[1][1]),
            ("Shift", "Mean change of the overall score against plain"),
            ("Rank shift", "Mean places by which an idea moves in the ranking"),
        ],
        "style_top_heads": [
            (f"Top {size}", f"Share of the plain Top-{size} that leaves it") for size in part.top_sizes
        ],
        "style_agreement_heads": [
            ("Spearman", "Rank correlation of the overall scores"), ("Top-50", "Share in common"),
            ("Top-5", "Share in common"),
        ],
        "style_published": published_style(),
    }
