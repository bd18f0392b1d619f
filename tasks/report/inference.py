"""What stands behind the verdicts: noise floor, variance components, power and the certified subset, as rows.

Layout of numbers that came with ``Results``; nothing is estimated here. Intervals' measured coverage is ``measured``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from pydantic import ValidationError

from storage.results import Certified, ConfigurationResult, Estimate, Results
from tasks.report.links import judge_link
from tasks.report.numbers import count, finite, interval, number, reason, with_interval
from tasks.report.verdicts import Standing, estimate
from tasks.report.words import METRICS, metric

PARTS = ("family", "condition", "producer", "family_x_condition", "residual")


class NoiseRow(NamedTuple):
    """A judge's drift beside that of mere repeats."""

    name: str
    link: str
    mad: str
    noise: str
    excess: str
    excess_interval: str
    share: str
    """How much of the drift the noise floor is."""
    verdict: str
    is_noise: bool
    sorts: list[str]


class VarianceRow(NamedTuple):
    """A judge's variance components: text of each, and each as a share of the sum of the positive ones."""

    name: str
    link: str
    cells: list[str]
    shares: list[float]
    label: str


class VarianceTable(NamedTuple):
    """The components of all judges that have them, and why the others have none."""

    labels: list[str]
    rows: list[VarianceRow]
    lacking: list[tuple[str, int]]


class PowerRow(NamedTuple):
    """What this many papers can show for one metric."""

    label: str
    families: str
    detectable: str
    spread: str
    needed: list[tuple[str, str]]
    pairs: str


class CertifiedRow(NamedTuple):
    """A judge on all versions and on the certified ones."""

    name: str
    link: str
    cells: list[tuple[str, str]]


class CertifiedPart(NamedTuple):
    """The sensitivity to the fidelity audit."""

    rule: str
    counts: str
    labels: list[str]
    rows: list[CertifiedRow]
    moved: str


class Inference(NamedTuple):
    """All of it; each is empty or None where the results have nothing of the kind."""

    noise: list[NoiseRow]
    noise_lead: str
    variance: VarianceTable | None
    power: list[PowerRow]
    certified: CertifiedPart | None


def inference(results: Results, where: Standing) -> Inference:
    """Rows for the part of the page about how sure the numbers are."""
    noise = [row for each in where.order if (row := _noise(each)) is not None]
    return Inference(noise, _noise_lead(noise), _variance(where), _power(results), certified(results, where))


def _noise(each: ConfigurationResult) -> NoiseRow | None:
    floor, excess, mad = estimate(each, "noise_mad"), estimate(each, "excess_mad"), estimate(each, "mad")
    if "noise_mad" not in each.metrics:
        return None
    low, value, whole = finite(excess.low), finite(floor.value), finite(mad.value)
    unclear = low is None or low <= 0
    if finite(excess.value) is None:
        words = reason(excess)
    elif low is None:
        words = "No interval"
    else:
        words = "Not more than noise" if unclear else "More than noise"
    share = None if value is None or not whole else 100 * value / whole
    return NoiseRow(
        each.name,
        judge_link(each.name),
        with_interval(mad),
        with_interval(floor),
        number(excess.value, 2, signed=True),
        interval(excess, 2, signed=True),
        number(share, 0) + ("\u00a0%" if share is not None else ""),
        words,
        unclear,
        ["" if (part := finite(one.value)) is None else repr(part) for one in (mad, floor, excess)],
    )


def _noise_lead(rows: list[NoiseRow]) -> str:
    if not rows:
        return ""
    more = sum(not row.is_noise for row in rows)
    return (
        f"{more} of {len(rows)} judges move more when a paper is reworded than when they are simply asked again; "
        "for the others the drift may be their own noise."
    )


def _variance(where: Standing) -> VarianceTable | None:
    keys = [f"variance_{part}" for part in PARTS]
    found = [each for each in where.order if keys[0] in each.metrics]
    if not found:
        return None
    rows, lacking = [], dict[str, int]()
    for each in found:
        parts = [estimate(each, key) for key in keys]
        values = [finite(one.value) for one in parts]
        if any(value is None for value in values):
            why = next(reason(one) for one in parts if finite(one.value) is None)
            lacking[why] = lacking.get(why, 0) + 1
            continue
        positive = [max(value or 0.0, 0.0) for value in values]
        total = sum(positive)
        shares = [round(100 * value / total, 2) if total else 0.0 for value in positive]
        said = ", ".join(
            f"{_part(key)} {share:.0f} %" for key, share in zip(keys, shares, strict=True)
        )
        rows.append(
            VarianceRow(each.name, judge_link(each.name), [number(value, 3) for value in values], shares,
                        f"Variance of {each.name}: {said}")
        )
    return VarianceTable([_part(key) for key in keys], rows, sorted(lacking.items()))


def _part(key: str) -> str:
    words = metric(key).label.removeprefix("Variance: ")
    return words[:1].upper() + words[1:]


def _power(results: Results) -> list[PowerRow]:
    return [
        PowerRow(
            metric(each.metric).label,
            count(each.families),
            number(each.detectable, 2),
            f"{number(each.detectable_low, 2)} to {number(each.detectable_high, 2)}",
            [(size, count(families)) for size, families in each.needed.items()],
            count(each.pairs),
        )
        for each in results.power
    ]


def certified(results: Results, where: Standing) -> CertifiedPart | None:
    """All versions beside the certified ones; None without that section (or with one of another shape)."""
    section: Any = results.sections.get("certified")
    try:
        found = Certified.model_validate(section)
    except ValidationError:
        return None
    shown = [each for each in METRICS if any(each.key in row for row in found.configurations.values())]
    rows, moved = [], 0
    for each in where.order:
        if each.name not in found.configurations:
            continue
        pairs = [(estimate(each, one.key), found.configurations[each.name].get(one.key)) for one in shown]
        moved += any(_moved(whole, part) for whole, part in pairs)
        rows.append(
            CertifiedRow(each.name, judge_link(each.name), [
                (number(whole.value), with_interval(part) if part else number(None)) for whole, part in pairs
            ])
        )
    return CertifiedPart(
        found.rule,
        f"{count(found.versions)} of {count(found.of)} versions",
        [each.short for each in shown],
        rows,
        f"{moved} of {len(rows)} judges have a number outside its own certified interval."
        if moved
        else "No number leaves its certified interval: no conclusion hangs on versions that failed the audit.",
    )


def _moved(whole: Estimate, part: Estimate | None) -> bool:
    if part is None:
        return False
    value, low, high = finite(whole.value), finite(part.low), finite(part.high)
    return value is not None and low is not None and high is not None and not low <= value <= high
