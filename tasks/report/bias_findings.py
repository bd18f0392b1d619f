"""What the numbers about pairs say, in sentences: who holds its verdicts, and whose numbers look better than they are.

Here belong the words and when they are said; nothing is computed anew but comparisons of numbers that are there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from storage.results import Estimate
from tasks.report.numbers import NO_VALUE, count, finite, listed, number

LEANS = 0.1
"""A judge whose share of first places is this far from one half is named."""
UNPARSED_SHARE = 0.05


class Finding(NamedTuple):
    """Something the numbers say about a judge, in words."""

    judge: str
    tone: str
    text: str


def found(number_of: Mapping[str, Any] | None) -> Estimate:
    """A number of the section as an estimate."""
    if number_of is None:
        return Estimate(value=None, reason="no number was made")
    return Estimate.model_validate({key: value for key, value in number_of.items() if key in Estimate.model_fields})


def percent(value: float | None) -> str:
    """A share in whole per cent."""
    return NO_VALUE if finite(value) is None else f"{number(100 * (value or 0.0), 0)}\u00a0%"


def lead(section: Mapping[str, Any]) -> str:
    """The answer in one or two sentences."""
    if not section["arms"]:
        return "No judge has answered an injected pair yet."
    judges = section["arms"][0]["configurations"]
    # A judge is as even-handed as under the style that moves it most.
    ranked = [
        (max((rate for arm in section["arms"] if (rate := _flips(arm, name)) is not None), default=None), name)
        for name in judges
    ]
    known = sorted((value, name) for value, name in ranked if value is not None)
    if not known:
        return "No judge gave a verdict on both sides of any pair."
    best, worst = known[0], known[-1]
    said = f"Of {len(judges)} judges, {best[1]} changes its verdict least when a cue is injected "
    said += f"({percent(best[0])} of pairs)"
    said += f", {worst[1]} most ({percent(worst[0])})." if len(known) > 1 else "."
    turned = [name for name, numbers in judges.items() if numbers["one_way"]["reverses"]]
    if turned:
        said += f" {listed(turned)} only {'turns its bias' if len(turned) == 1 else 'turn their biases'} round."
    return said


def _flips(arm: Mapping[str, Any], judge: str) -> float | None:
    numbers = arm["configurations"].get(judge)
    return None if numbers is None else found(numbers["symmetric_flip_rate"]).value


def findings(section: Mapping[str, Any]) -> list[Finding]:
    """What the numbers say about single judges: reversals first, then held-out styles, position, missing verdicts."""
    if not section["arms"]:
        return []
    first = section["arms"][0]["configurations"]
    said = [_reversal(name, numbers) for name, numbers in first.items() if numbers["one_way"]["reverses"]]
    held_out = next((arm for arm in section["arms"] if arm["style"] == "held_out"), None)
    if held_out is not None and section["arms"][0]["style"] != "held_out":
        said += [
            _not_debiased(name, numbers, held_out["configurations"][name])
            for name, numbers in first.items()
            if name in held_out["configurations"] and _is_worse(numbers, held_out["configurations"][name])
        ]
    said += [
        _place(name, probe)
        for name, probe in section["position"].items()
        if abs((found(probe["p_first"]).value or 0.5) - 0.5) > LEANS
    ]
    for name, numbers in first.items():
        counts = numbers["counts"]
        if counts["n"] and counts["injected_unparsed"] / counts["n"] > UNPARSED_SHARE:
            share = percent(counts["injected_unparsed"] / counts["n"])
            said.append(
                Finding(
                    name,
                    "plain",
                    f"{share} of its answers to injected pairs hold no verdict. They count neither "
                    "as flips nor as right, so its BSR leaves them out and its accuracy after does not.",
                )
            )
    return said


def _reversal(name: str, numbers: Mapping[str, Any]) -> Finding:
    flips = numbers["one_way"]
    rates = {key: percent(found(numbers[key]).value) for key in ("bsr", "symmetric_flip_rate", "reversal")}
    text = (
        f"Its BSR looks good ({rates['bsr']}) because BSR counts only verdicts that turn from right to wrong. The "
        f"injected cues turned {count(flips['won'])} wrong verdicts right and {count(flips['lost'])} right ones wrong: "
        f"it does not ignore the cues but shuns them, a bias turned round. Its verdict changed in "
        f"{rates['symmetric_flip_rate']} of pairs, and {rates['reversal']} of its wrong verdicts were reversed."
    )
    return Finding(name, "warn", text)


def _is_worse(tuned: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    one, two = found(tuned["symmetric_flip_rate"]), found(other["symmetric_flip_rate"])
    return one.high is not None and two.low is not None and two.low > one.high


def _not_debiased(name: str, tuned: Mapping[str, Any], other: Mapping[str, Any]) -> Finding:
    one, two = found(tuned["symmetric_flip_rate"]), found(other["symmetric_flip_rate"])
    text = (
        f"It changes {percent(one.value)} of its verdicts under the injections of the first table and "
        f"{percent(two.value)} under held-out ones that say the same in other words: what it learnt is the wording of "
        "the cues, not to ignore them."
    )
    return Finding(name, "warn", text)


def _place(name: str, probe: Mapping[str, Any]) -> Finding:
    share, steady = found(probe["p_first"]).value or 0.0, found(probe["consistency"]).value
    where = "first" if share > 0.5 else "second"
    text = (
        f"It prefers a place: the answer shown {where} wins in {percent(max(share, 1 - share))} of cases, and in only "
        f"{percent(steady)} of pairs the same answer wins in both orders. See its flips with position taken out."
    )
    return Finding(name, "warn", text)
