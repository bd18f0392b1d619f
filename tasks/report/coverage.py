"""What the numbers rest on: missing cells, exclusions, versions, papers and cost, as rows that a template can print."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from storage.results import Results, VersionResult
from storage.vocabulary import ORIGINAL
from tasks.report.links import judge_link
from tasks.report.numbers import count, duration, money, number
from tasks.report.verdicts import Standing
from tasks.report.words import condition_title, is_null, plain


class MissingRow(NamedTuple):
    """The gaps of one judge."""

    name: str
    link: str
    wanted: int
    answered: int
    counts: list[int]


class MissingTable(NamedTuple):
    """Gaps by reason; judges without gaps are not listed."""

    reasons: list[str]
    rows: list[MissingRow]
    totals: list[int]
    complete: int


class VersionRow(NamedTuple):
    """What rewriting did under one condition by one producer, over the families."""

    condition: str
    producer: str
    versions: int
    excluded: int
    changed: str
    fallback: str
    words: str
    pages: str


class CostRow(NamedTuple):
    """What one judge cost."""

    name: str
    link: str
    cells: list[str]
    sorts: list[float]


def missing(where: Standing) -> MissingTable:
    """Missing cells by judge and reason."""
    totals: Counter[str] = Counter()
    for each in where.order:
        totals.update(each.cells.missing)
    reasons = [reason for reason, cells in totals.most_common() if cells]
    rows = [
        MissingRow(
            each.name,
            judge_link(each.name),
            each.cells.wanted,
            each.cells.answered,
            [each.cells.missing.get(reason, 0) for reason in reasons],
        )
        for each in where.order
        if each.cells.answered < each.cells.wanted or any(each.cells.missing.values())
    ]
    return MissingTable(
        [plain(reason) for reason in reasons],
        rows,
        [totals[reason] for reason in reasons],
        len(where.order) - len(rows),
    )


def exclusion_counts(results: Results) -> list[tuple[str, int]]:
    """Excluded versions by reason, most frequent first."""
    return [
        (plain(reason), cells) for reason, cells in Counter(each.reason for each in results.exclusions).most_common()
    ]


def version_rows(results: Results) -> list[VersionRow]:
    """One row a condition and producer, the null arm last."""
    originals = {each.family: each for each in results.versions if each.condition == ORIGINAL}
    groups: dict[tuple[str, str], list[VersionResult]] = {}
    for each in results.versions:
        if each.condition != ORIGINAL:
            groups.setdefault((each.condition, each.producer), []).append(each)
    excluded = Counter((each.condition, each.producer) for each in results.exclusions)
    for key in excluded:
        groups.setdefault(key, [])
    order = {name: index for index, name in enumerate(results.conditions)}
    keys = sorted(groups, key=lambda key: (is_null(key[0]), order.get(key[0], len(order)), key[1]))
    return [_version_row(key, groups[key], originals, excluded[key]) for key in keys]


def _version_row(
    key: tuple[str, str], found: list[VersionResult], originals: dict[str, VersionResult], excluded: int
) -> VersionRow:
    segments = sum(each.segments for each in found)
    ratios = [
        each.words / originals[each.family].words
        for each in found
        if each.family in originals and originals[each.family].words
    ]
    pages = [
        each.pages - first
        for each in found
        if each.pages is not None and each.family in originals and (first := originals[each.family].pages) is not None
    ]
    share = f"{100 * sum(each.segments_changed for each in found) / segments:.0f} %" if segments else number(None)
    return VersionRow(
        condition_title(key[0]),
        key[1] or number(None),
        len(found),
        excluded,
        share,
        count(sum(each.segments_fallback for each in found)),
        f"{number(100 * (sum(ratios) / len(ratios) - 1), 0, signed=True)} %" if ratios else number(None),
        number(sum(pages) / len(pages), 1, signed=True) if pages else number(None),
    )


def cost_rows(where: Standing) -> list[CostRow]:
    """Calls, tokens, dollars and time by judge."""
    out = []
    for each in where.order:
        spend = each.spend
        values = [spend.calls, spend.attempts, spend.input_tokens, spend.output_tokens]
        out.append(
            CostRow(
                each.name,
                judge_link(each.name),
                [*(count(value) for value in values), money(spend.usd), duration(spend.seconds)],
                [*(float(value) for value in values), -1.0 if spend.usd is None else spend.usd, spend.seconds],
            )
        )
    return out
