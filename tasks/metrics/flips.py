"""Flips beyond the benchmark's own rates: those that position does not explain, those that planted parameters imply,
those that only go one way; and how far verifiers agree.

Companions of ``bias`` and ``position``; pure functions of frames, arrays and counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import binomtest

from tasks.metrics.assemble import number_json
from tasks.metrics.bias import VERDICTS, Table, rate, tables
from tasks.metrics.scores import columns_of, labels, unique_cells

SIDES: tuple[str, ...] = ("original_given", "original_swapped", "injected_given", "injected_swapped")
ALPHA = 0.05


def corrected_json(frame: pl.DataFrame, where: str = "verdicts") -> dict[str, Any]:
    """The rates over verdicts that hold in both orders: what injection flips although position does not.

    A verdict is correct, or wrong, when it is so in both orders; everything else is undecided and counted as such
    (under the names that ``bias`` uses for unparsed). A pair undecided before is in no rate but ``acc_inj``.

    Args:
        frame: Columns item, bias and ``SIDES`` (each correct, wrong or unparsed), perhaps configuration.
        where: What error messages call the frame.

    Raises:
        InputError: Naming the row and the column of what is wrong in the frame.
    """
    frame = columns_of(frame, ["item", "bias", *SIDES], ["configuration"], where)
    for name in ("configuration", "item", "bias"):
        frame = labels(frame, name, where)
    for name in SIDES:
        frame = labels(frame, name, where, VERDICTS, empty=True)
    unique_cells(frame, ["configuration", "item", "bias"], "original_given", where)
    steady = frame.drop_nulls(list(SIDES)).select(
        "configuration", "item", "bias",
        *(pl.when(pl.col(f"{side}_given") == pl.col(f"{side}_swapped")).then(pl.col(f"{side}_given"))
          .otherwise(pl.lit("unparsed")).alias(side) for side in ("original", "injected")),
    )
    found = tables(steady)
    return {name: {**_part(sum(by_bias.values(), _empty())),
                   "biases": {bias: _part(table) for bias, table in by_bias.items()}}
            for name, by_bias in found.items()}


def _empty() -> Table:
    return Table(np.zeros((3, 3), dtype=np.int64))


def _part(table: Table) -> dict[str, Any]:
    return {**{name: number_json(one) for name, one in table.rates().items()}, "counts": table.counts()}


def planted_rates(before: NDArray[np.float64], after: NDArray[np.float64]) -> dict[str, float | None]:
    """What the probabilities of being right imply for the rates, when one chance per item decides both verdicts.

    Args:
        before: P(correct) of each item without the injection.
        after: P(correct) with it. Items are right with probability min(before, after) in both.

    Returns:
        ``acc_ori``, ``acc_inj``, ``bsr``, ``symmetric_flip_rate``, ``reversal``; None where the denominator is 0.
    """
    if before.size == 0:
        return dict.fromkeys(("acc_ori", "acc_inj", "bsr", "symmetric_flip_rate", "reversal"))
    lost, won = np.maximum(before - after, 0.0).sum(), np.maximum(after - before, 0.0).sum()
    right, wrong = before.sum(), (1.0 - before).sum()
    return {
        "acc_ori": float(before.mean()), "acc_inj": float(after.mean()), "bsr": float(lost / right) if right else None,
        "symmetric_flip_rate": float((lost + won) / before.size), "reversal": float(won / wrong) if wrong else None,
    }


def one_way(counts: Mapping[str, int]) -> dict[str, Any]:
    """Whether flips go mostly from wrong to correct: a bias turned round, which BSR does not see.

    Args:
        counts: of a ``bias`` document: ``correct_incorrect`` and ``incorrect_correct`` are used.

    Returns:
        ``lost`` and ``won`` (flips), the two-sided p of a fair coin, and ``reverses``: p under 0.05 with more won.
    """
    lost, won = counts["correct_incorrect"], counts["incorrect_correct"]
    p = float(binomtest(won, lost + won, 0.5).pvalue) if lost + won else None
    return {"lost": lost, "won": won, "p_value": p, "reverses": p is not None and p < ALPHA and won > lost}


def agreement_json(votes: Sequence[tuple[str, Sequence[str | None]]], names: Sequence[str]) -> dict[str, Any]:
    """How far verifiers agree, by bias and over all.

    Args:
        votes: For each injected pair its bias, and each verifier's vote in the order of ``names``: ``kept``,
            ``changed``, ``equal``, or None.
        names: The verifiers.

    Returns:
        ``names``, ``pooled`` and ``biases``: pairs voted on, the share kept by majority, the share of pairs with all
        votes equal, the mean agreement of two verifiers, and the share each one would keep.
    """
    biases = list(dict.fromkeys(bias for bias, _ in votes))
    return {
        "names": list(names), "pooled": _agreement([cast for _, cast in votes], names),
        "biases": {bias: _agreement([cast for one, cast in votes if one == bias], names) for bias in biases},
    }


def _agreement(votes: Sequence[Sequence[str | None]], names: Sequence[str]) -> dict[str, Any]:
    kept = unanimous = 0
    agreed: list[bool] = []
    by_name: Counter[str] = Counter()
    voted: Counter[str] = Counter()
    for cast in votes:
        counted = [vote for vote in cast if vote is not None]
        kept += 2 * counted.count("kept") > len(counted)
        unanimous += len(counted) > 1 and len(set(counted)) == 1
        agreed += [one == two for one, two in combinations(counted, 2)]
        for name, vote in zip(names, cast, strict=True):
            voted[name] += vote is not None
            by_name[name] += vote == "kept"
    n = len(votes)
    why = "fewer than two votes"
    return {
        "pairs": n,
        "kept": number_json(rate(kept, n, "no pair was voted on")),
        "unanimous": number_json(rate(unanimous, n, "no pair was voted on")),
        # Pairs of votes on one injected pair depend on each other, so there is no Wilson interval.
        "pairwise_agreement": number_json(rate(sum(agreed), len(agreed), why).model_copy(
            update={"low": None, "high": None, "method": None})),
        "by_verifier": {name: number_json(rate(by_name[name], voted[name], "cast no vote")) for name in names},
    }
