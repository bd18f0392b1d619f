"""The top of the page: which judge can be trusted, and how sure that is, in four cards and one sentence.

Sentences only; the numbers come with ``Results``, the verdicts from ``verdicts``.
"""

from __future__ import annotations

from typing import NamedTuple

from storage.results import Results
from tasks.report.numbers import count, finite, interval, listed, number
from tasks.report.verdicts import HEADLINE, Standing, estimate

FEW_FAMILIES = 20


class Card(NamedTuple):
    """One headline card. ``link`` is an anchor on the page."""

    kicker: str
    figure: str
    text: str
    tone: str
    """``good``, ``warn``, ``plain``."""
    link: str
    link_text: str
    judge: str | None = None
    """The judge that the card's figure names, for a deep link."""


def lead_sentence(results: Results, where: Standing) -> str:
    """The answer in one sentence."""
    total = len(results.configurations)
    able = sum(verdict in ("best", "level", "separates") for verdict in where.verdicts.values())
    flat = sum(verdict == "flat" for verdict in where.verdicts.values())
    judges = "judge" if total == 1 else "judges"
    first = f"Of {total} {judges}, {able} can be shown to tell papers apart whatever their wording"
    second = f"{flat} only {'looks' if flat == 1 else 'look'} stable" if flat else "none only looks stable"
    return f"{first}; {second}."


def phantom_note(results: Results) -> str:
    """What must be said where judges are simulated; empty where none is."""
    phantoms = sum(each.kind == "phantom" for each in results.configurations)
    if not phantoms:
        return ""
    who = "All judges here" if phantoms == len(results.configurations) else f"{phantoms} of these judges"
    return f"{who} are phantoms: instruments with planted behaviour that test the pipeline, not any language model."


def cards(results: Results, where: Standing) -> list[Card]:
    """The four cards, in reading order."""
    return [_trust(where), _sure(results, where), _flat(results, where), _base(results)]


def _trust(where: Standing) -> Card:
    if where.best is None:
        return Card(
            "Most even-handed judge",
            "None shown",
            "No judge here can be shown to tell papers apart better than a coin.",
            "warn",
            "#leaderboard",
            "See all judges",
        )
    discr, drift = estimate(where.best, HEADLINE), estimate(where.best, "mad")
    text = (
        f"In {number(100 * (discr.value or 0), 0)} of 100 comparisons "
        "it keeps two wordings of one paper closer than two different papers "
        f"({_percent(discr.low, discr.high)}chance: 50)."
    )
    if finite(drift.value) is not None:
        text += f" A rewrite moves its score by {number(drift.value)} points {interval(drift)}".rstrip() + "."
    return Card(
        "Most even-handed judge",
        where.best.title or where.best.name,
        text,
        "good",
        "#plot",
        "Stability against discrimination",
        where.best.name,
    )


def _percent(low: float | None, high: float | None) -> str:
    if finite(low) is None or finite(high) is None:
        return ""
    return f"95\u00a0% interval {number(100 * (low or 0), 0)} to {number(100 * (high or 0), 0)}; "


def _sure(results: Results, where: Standing) -> Card:
    families = len(results.families)
    called = {each.name: each.title or each.name for each in results.configurations}
    if where.best is None:
        return Card(
            "How sure",
            "Undecided",
            f"All intervals of discriminability reach 0.5 with {families} papers.",
            "warn",
            "#methods",
            "How this is decided",
        )
    how = (
        "by paired family draws, Holm-corrected"
        if where.tested
        else "by overlapping intervals, as no paired comparisons were made"
    )
    if where.peers:
        figure = f"{len(where.peers)} rival{'s' if len(where.peers) > 1 else ''}"
        text = f"cannot be told from it {how}: {listed(called[name] for name in where.peers)}."
    else:
        figure, text = "Clear lead", f"Every other judge is measurably worse at telling papers apart, {how}."
    if families < FEW_FAMILIES:
        text += f" With only {families} papers, read this as a demonstration."
    return Card("How sure", figure, text, "plain" if where.peers else "good", "#leaderboard", "Compare the intervals")


def _flat(results: Results, where: Standing) -> Card:
    names = [each.title or each.name for each in where.order if where.verdicts[each.name] == "flat"]
    if not names:
        return Card(
            "False robustness",
            "None",
            "No judge is stable only because it scores everything alike.",
            "good",
            "#scores",
            "See the scores they give",
        )
    text = f"{listed(names)}: small drift, but no difference between papers can be shown, so it says nothing."
    return Card(
        "False robustness",
        f"{len(names)} of {len(results.configurations)}",
        text,
        "warn",
        "#scores",
        "See the scores they give",
    )


def _base(results: Results) -> Card:
    wanted = sum(each.cells.wanted for each in results.configurations)
    answered = sum(each.cells.answered for each in results.configurations)
    text = f"{count(len(results.families))} papers in {count(len(results.versions))} wordings, "
    text += f"{count(answered)} of {count(wanted)} judgements answered"
    text += "." if answered == wanted else f"; {count(wanted - answered)} are missing and left out, never guessed."
    if results.exclusions:
        text += f" {count(len(results.exclusions))} versions were excluded."
    share = (
        "100\u00a0%"
        if wanted and answered == wanted
        else f"{100 * answered / wanted:.1f}\u00a0%"
        if wanted
        else "Nothing"
    )
    if answered < wanted and share == "100.0\u00a0%":
        share = "> 99.9\u00a0%"
    return Card(
        "What it rests on", share, text, "plain" if wanted == answered else "warn", "#missing", "Exclusions and gaps"
    )
