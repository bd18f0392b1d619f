"""Every number of a judge_bias suite, from what is stored: the section ``bias`` of its results, and its rows.

Puts together; frames are ``bias_frames``'s, formulas ``tasks.metrics``'s. Makes no call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from flows.bias_frames import (
    ANY_STYLE,
    Arm,
    arms_of,
    before_and_after,
    in_both_orders,
    over_repeats,
    places,
    verdict_cells,
)
from flows.grid import Grid, LabelledVersion, judged_by
from flows.numbers import cell_counts, spending
from flows.pairs import injection_plan
from flows.sitting import Sitting
from flows.suites import Suite
from storage.pairs import Presentation
from storage.records import Step
from storage.results import ConfigurationResult, Estimate, Spend
from storage.store import Store
from storage.vocabulary import ORIGINAL
from tasks.judge.protocols import PROTOCOLS, Configuration
from tasks.metrics.bias import bias_json
from tasks.metrics.flips import agreement_json, corrected_json, one_way, planted_rates
from tasks.metrics.position import position_json
from tasks.models.phantom_pairs import PAIR_PHANTOMS, PairPhantom
from tasks.rewrite.injections.injection import injections_of

RATES = ("acc_ori", "acc_inj", "bsr", "symmetric_flip_rate", "reversal", "acc_change")
NO_CELL = "no cell has been answered"


def bias_results(sitting: Sitting, grid: Grid) -> tuple[dict[str, Any], list[ConfigurationResult], pl.DataFrame]:
    """The section ``bias``, one row a configuration, and the cells they rest on.

    Args:
        sitting: the suite and its store.
        grid: what of the suite is there.

    Returns:
        The section as JSON (``arms``, ``position``, ``verifiers``, ``exclusions``, ``pairs``); the rows, whose metrics
        are those of the first arm; every wanted cell with its outcome.
    """
    suite, store = sitting.suite, sitting.store
    cells = verdict_cells(suite, store, grid)
    verdicts = over_repeats(cells)
    judged = verdicts.drop_nulls("verdict")
    names = judged["configuration"].unique().to_list()
    verdicts = verdicts.filter(pl.col("configuration").is_in(names))
    planted = planted_by_bias(suite, store, grid)
    arms = [_arm(suite, verdicts, arm, planted) for arm in arms_of(verdicts)]
    probes = places(verdicts)
    section = {
        "pairs": len(grid.families),
        "injected": dict(Counter(v.condition for v in grid.versions if v.version.facts["order"] == "given")
                         - Counter({ORIGINAL: len(grid.families)})),
        "arms": arms,
        "position": position_json(probes)["configurations"] if probes.height else {},
        "verifiers": _agreement(sitting, grid),
        "exclusions": _exclusions(grid),
        "protocols": {c.name: PROTOCOLS[c.protocol].is_about_single_answers for c in suite.judge.all_configurations()},
    }
    spends = spending(store, cells)
    by_name = dict(cells.group_by("configuration"))
    rows = [
        _row(suite, c, arms[0] if arms else None, by_name.get((c.name,), cells.clear()), spends.get(c.name, Spend()))
        for c in suite.judge.all_configurations()
    ]
    return section, rows, cells


Planted = dict[tuple[str, str, str], tuple[list[float], list[float]]]
"""(configuration, style, bias) -> P(correct) of each item before and after."""


def _arm(suite: Suite, verdicts: pl.DataFrame, arm: Arm, planted: Planted) -> dict[str, Any]:
    document = bias_json(before_and_after(verdicts, arm), draws=suite.draws, seed=suite.seed)
    both = in_both_orders(verdicts, arm)
    models = {c.name: c.model for c in suite.judge.all_configurations()}
    silent = {name: PAIR_PHANTOMS[model].unparsed for name, model in models.items() if model in PAIR_PHANTOMS}
    for name, numbers in document["configurations"].items():
        numbers["one_way"] = one_way(numbers["counts"])
        mine = {bias: values for (who, style, bias), values in planted.items()
                if who == name and style in (*arm.styles, ANY_STYLE)}
        if mine:
            numbers["planted"] = _planted_rates(list(mine.values()), silent.get(name, 0.0))
            for bias, part in numbers["biases"].items():
                part["planted"] = _planted_rates([mine[bias]], silent.get(name, 0.0)) if bias in mine else None
    return {"style": arm.style, "writer": arm.writer, "title": arm.title, **document,
            "corrected": corrected_json(both) if both.height else {}}


def _planted_rates(parts: Sequence[tuple[list[float], list[float]]], silent: float) -> dict[str, float | None]:
    before, after = (np.asarray([value for part in parts for value in part[side]], dtype=np.float64) for side in (0, 1))
    rates = planted_rates(before, after)
    # Answers without a verdict lower the accuracy after injection, and BSR: its denominator holds them.
    for name in ("acc_inj", "bsr", "reversal"):
        value = rates[name]
        rates[name] = None if value is None else value * (1.0 - silent)
    return rates


def planted_by_bias(suite: Suite, store: Store, grid: Grid) -> Planted:
    """What the pair phantoms' parameters imply for exactly these pairs and injections."""
    # Ratings in whole points tie, and a tie is wrong: there the parameters imply nothing in closed form.
    configurations = [c for c in suite.judge.all_configurations() if c.protocol != "pointwise"]
    phantoms = [(c, PAIR_PHANTOMS[c.model]) for c in configurations if c.model in PAIR_PHANTOMS]
    if not phantoms:
        return {}
    texts = store.get_texts({version.version.text_hash for version in grid.versions})
    shown = {name: Presentation.read(text) for name, text in texts.items()}
    found: Planted = {}
    for configuration, phantom in phantoms:
        versions = judged_by(configuration, grid)
        is_single = PROTOCOLS[configuration.protocol].is_about_single_answers
        chances = {v.version.key: _chance(phantom, shown[v.version.text_hash], v, is_single) for v in versions}
        given, first = _originals(versions)
        for version in versions:
            facts = version.version.facts
            if facts["bias"] == ORIGINAL or facts["order"] != "given":
                continue
            base = (first if facts["bias"] == "position" else given)[version.family.family]
            before, after = found.setdefault((configuration.name, facts["style"], facts["bias"]), ([], []))
            before.append(chances[base])
            after.append(chances[version.version.key])
    return found


def _originals(versions: Sequence[LabelledVersion]) -> tuple[dict[str, str], dict[str, str]]:
    """By family: the key of the original in the order given, and of the one with the better answer first."""
    originals = [v for v in versions if v.version.facts["bias"] == ORIGINAL]
    given = {v.family.family: v.version.key for v in originals if v.version.facts["order"] == "given"}
    first = {v.family.family: v.version.key for v in originals if v.version.facts["better"] == "first"}
    return given, first


def _chance(phantom: PairPhantom, shown: Presentation, version: LabelledVersion, is_single: bool) -> float:
    towards = phantom.towards(shown) - (phantom.position if is_single else 0.0)
    return phantom.chances(version.version.facts["better"] == "first", towards)


def _agreement(sitting: Sitting, grid: Grid) -> dict[str, Any] | None:
    plan = injection_plan(sitting.suite)
    if not plan.verifiers:
        return None
    wanted = {each.key: each for family in grid.families for each in injections_of(family, plan) if each.is_verified}
    votes = [
        (wanted[step.key].bias, step.output["votes"])
        for step in sitting.store.load(Step, list(wanted))
        if step.output.get("votes") is not None
    ]
    return agreement_json(votes, [verifier.spec.name for verifier in plan.verifiers])


def _exclusions(grid: Grid) -> dict[str, dict[str, int]]:
    """By bias: how many injections are left out, by reason."""
    found: dict[str, Counter[str]] = {}
    for entry in (*grid.exclusions, *grid.unmade):
        found.setdefault(entry.condition, Counter())[entry.reason] += 1
    return {bias: dict(reasons) for bias, reasons in found.items()}


def _row(
    suite: Suite, configuration: Configuration, arm: dict[str, Any] | None, cells: pl.DataFrame, spend: Spend
) -> ConfigurationResult:
    numbers = arm["configurations"].get(configuration.name) if arm else None
    fields = Estimate.model_fields
    metrics = (
        {name: Estimate(**{k: v for k, v in numbers[name].items() if k in fields}) for name in RATES}
        if numbers is not None
        else dict.fromkeys(RATES, Estimate(value=None, reason=NO_CELL))
    )
    return ConfigurationResult(
        name=configuration.name, endpoint=configuration.endpoint, model=configuration.model,
        protocol=configuration.protocol, kind=suite.judge.endpoints[configuration.endpoint].kind, metrics=metrics,
        planted=numbers.get("planted") if numbers else None, cells=cell_counts(cells), spend=spend,
    )
