"""What the numbers of a judge amount to: one of six verdicts, and the order of the leaderboard.

A verdict rests on discriminability, because a judge that gives everything one score is perfectly stable and worthless.
Nothing is computed here that ``aggregate`` should have computed: intervals, flags and corrected comparisons come with
``Results``.
"""

from __future__ import annotations

from typing import NamedTuple

from storage.results import ConfigurationResult, Estimate, Results
from tasks.report.numbers import finite

CHANCE = 0.5
ALPHA = 0.05
HEADLINE = "discriminability"
NONE = Estimate(value=None, reason="not_computed")


class Behind(NamedTuple):
    """How a judge differs from the best one in the headline metric: its value less the best one's."""

    value: float
    low: float | None
    high: float | None
    p_holm: float | None


class Standing(NamedTuple):
    """The judges of a report with their verdicts, best first."""

    order: list[ConfigurationResult]
    verdicts: dict[str, str]
    best: ConfigurationResult | None
    peers: list[str]
    """Judges that cannot be told from the best one."""
    tested: bool
    """Whether the peers come from corrected paired comparisons; else from overlapping intervals."""
    behind: dict[str, Behind] = {}
    """Judge -> difference to the best one, where that comparison was made."""


def estimate(configuration: ConfigurationResult, key: str) -> Estimate:
    """The metric of a configuration; one without value where it was not computed."""
    return configuration.metrics.get(key, NONE)


def standing(results: Results) -> Standing:
    """Verdicts and order of all configurations of ``results``."""
    basic = {each.name: _basic(each) for each in results.configurations}
    able = [each for each in results.configurations if basic[each.name] == "separates"]
    best = max(able, key=_strength, default=None)
    if best is None:
        return Standing(_ordered(results, basic), basic, None, [], False)
    corrected = _corrected(results, best.name)
    peers = [each.name for each in able if each.name != best.name and _peer(each, best, corrected)]
    verdicts = basic | {name: "level" for name in peers} | {best.name: "best"}
    tested = all(each.name in corrected for each in able if each.name != best.name) and bool(corrected)
    return Standing(_ordered(results, verdicts), verdicts, best, peers, tested, _behind(results, best.name))


def _basic(configuration: ConfigurationResult) -> str:
    found = estimate(configuration, HEADLINE)
    if configuration.false_robustness:
        return "flat"
    if finite(found.value) is None:
        return "unmeasured"
    edge = finite(found.low)
    return "separates" if (found.value if edge is None else edge) > CHANCE else "chance"  # type: ignore[operator]


def _strength(configuration: ConfigurationResult) -> tuple[float, float]:
    value, signal = finite(estimate(configuration, HEADLINE).value), finite(estimate(configuration, "spr").value)
    return (-1.0 if value is None else value, -1.0 if signal is None else signal)


def _corrected(results: Results, best: str) -> dict[str, float]:
    """The corrected p value of every comparison of ``best`` with another on the headline metric."""
    found = {}
    for each in results.comparisons:
        if each.metric == HEADLINE and best in (each.first, each.second) and each.p_holm is not None:
            found[each.second if each.first == best else each.first] = each.p_holm
    return found


def _behind(results: Results, best: str) -> dict[str, Behind]:
    found = {}
    for each in results.comparisons:
        value, low, high = (finite(part) for part in (each.difference.value, each.difference.low, each.difference.high))
        if each.metric != HEADLINE or best not in (each.first, each.second) or value is None:
            continue
        if each.second == best:
            found[each.first] = Behind(value, low, high, each.p_holm)
        else:
            turned = (None if high is None else -high, None if low is None else -low)
            found[each.second] = Behind(-value, *turned, each.p_holm)
    return found


def _peer(other: ConfigurationResult, best: ConfigurationResult, corrected: dict[str, float]) -> bool:
    if other.name in corrected:
        return corrected[other.name] >= ALPHA
    high, low = finite(estimate(other, HEADLINE).high), finite(estimate(best, HEADLINE).low)
    return high is None or low is None or high >= low


def _ordered(results: Results, verdicts: dict[str, str]) -> list[ConfigurationResult]:
    """Best first; judges that only look stable, or cannot be measured, come last whatever their numbers."""
    rank = {"best": 0, "level": 0, "separates": 0, "chance": 1, "flat": 2, "unmeasured": 3}
    return sorted(
        results.configurations,
        key=lambda each: (rank[verdicts[each.name]], *(-part for part in _strength(each)), each.name),
    )
