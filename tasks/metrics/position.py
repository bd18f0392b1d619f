"""The position probe: does a judge prefer an answer, or the place it stands in?

Every pair is asked in both orders; ``forward`` and ``swapped`` say which place won.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from tasks.metrics.assemble import number_json
from tasks.metrics.bias import rate
from tasks.metrics.scores import columns_of, labels, unique_cells

PLACES: tuple[str, ...] = ("first", "second", "unparsed")


def position_json(frame: pl.DataFrame, where: str = "verdicts") -> dict[str, Any]:
    """P(first) in each order and over pairs parsed in both, and consistency, with Wilson intervals.

    Consistency is the share of pairs, parsed in both orders, for which the same answer won: the place changes with the
    order. P(first) over both orders is 0.5 for a judge without preference for a place.

    Args:
        frame: Columns item, forward, swapped (each first, second or unparsed), perhaps configuration.
        where: What error messages call the frame.

    Raises:
        InputError: Naming the row and the column of what is wrong in the frame.
    """
    frame = columns_of(frame, ["item", "forward", "swapped"], ["configuration"], where)
    for name in ("configuration", "item"):
        frame = labels(frame, name, where)
    for name in ("forward", "swapped"):
        frame = labels(frame, name, where, PLACES)
    unique_cells(frame, ["configuration", "item"], "forward", where)
    return {"configurations": {str(name): _probe(part) for (name,), part in
                               frame.group_by("configuration", maintain_order=True)}}


def _probe(part: pl.DataFrame) -> dict[str, Any]:
    both = part.filter((pl.col("forward") != "unparsed") & (pl.col("swapped") != "unparsed"))
    first = sum(int((both[side] == "first").sum()) for side in ("forward", "swapped"))
    same = int((both["forward"] != both["swapped"]).sum())
    out: dict[str, Any] = {}
    for side in ("forward", "swapped"):
        parsed = part.filter(pl.col(side) != "unparsed")
        out[f"p_first_{side}"] = number_json(
            rate(int((parsed[side] == "first").sum()), parsed.height, f"no {side} answer was parsed"))
    # The two answers of a pair are not independent, so their joint share has no Wilson interval.
    why = "the two orders of a pair depend on each other: no interval"
    pooled = rate(first, 2 * both.height, "no pair was parsed in both orders").model_copy(
        update={"low": None, "high": None, "method": None, "interval_reason": why})
    out["p_first"] = number_json(pooled)
    out["consistency"] = number_json(rate(same, both.height, "no pair was parsed in both orders"))
    out["counts"] = {"pairs": part.height, "both_parsed": both.height, "unparsed": part.height - both.height}
    return out
