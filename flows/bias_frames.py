"""From judgements about pairs to frames of verdicts: which answer won, and whether that was the better one.

Queries and joins only; formulas belong to ``tasks.metrics``. An answer that holds no verdict is ``unparsed``; a cell
that was not answered for another reason (a budget, an outage, a window) is missing, never wrong.
"""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from flows.grid import Grid, cells_by_label
from flows.suites import Suite
from storage.store import Store
from storage.vocabulary import ORIGINAL, PUBLISHED, TEMPLATE_SETS, Outcome

UNPARSED = tuple(
    outcome.value
    for outcome in (Outcome.unparsable, Outcome.out_of_range, Outcome.truncated, Outcome.refused, Outcome.filtered,
                    Outcome.empty)
)
"""Outcomes of answers that came and hold no verdict."""
ANY_STYLE, NOBODY = "any", "-"
SCHEMA = {name: pl.String for name in
          ("configuration", "family", "version", "bias", "style", "writer", "order", "better", "key")}


class Arm(NamedTuple):
    """Injections that belong together: one style, by one writer, with the words that need no writer."""

    style: str
    writer: str

    @property
    def styles(self) -> tuple[str, ...]:
        """The styles whose injections belong to it."""
        return (PUBLISHED, TEMPLATE_SETS[0]) if self.style == PUBLISHED else (self.style,)

    @property
    def title(self) -> str:
        """How the report names it."""
        return self.style if self.writer == NOBODY else f"{self.style}, by {self.writer}"


def verdict_cells(suite: Suite, store: Store, grid: Grid) -> pl.DataFrame:
    """Every wanted cell with what is stored of it.

    Returns:
        The columns of ``SCHEMA``, repeat, outcome (``not_run`` without a judgement), reason, overall, and verdict:
        ``correct``, ``wrong`` (a tie is wrong), ``unparsed``, or null for a missing cell.
    """
    columns: dict[str, list[object]] = {name: [] for name in (*SCHEMA, "repeat")}
    for configuration in suite.judge.all_configurations():
        endpoint = suite.judge.endpoints[configuration.endpoint]
        for version, cell in cells_by_label(configuration, endpoint, grid, suite.judge.repeats):
            facts = version.version.facts
            writer = NOBODY if facts["bias"] == ORIGINAL else version.producer.rsplit("/", 2)[0]
            row = (configuration.name, version.family.family, version.label, facts["bias"], facts["style"], writer,
                   facts["order"], facts["better"], cell.key, cell.repeat)
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
    wanted = pl.DataFrame(columns, schema={**SCHEMA, "repeat": pl.Int64})
    found = store.query(
        "SELECT key, outcome, reason, scores['overall'] AS overall FROM judgements_best "
        "WHERE key IN (SELECT key FROM wanted_keys)",
        frames={"wanted_keys": wanted.select(pl.col("key").unique())},
    ).with_columns(pl.col("outcome").cast(pl.String), pl.col("overall").cast(pl.Float64))
    joined = wanted.join(found, on="key", how="left").with_columns(pl.col("outcome").fill_null("not_run"))
    won = pl.when(pl.col("better") == "first").then(pl.col("overall")).otherwise(1.0 - pl.col("overall"))
    right_or_wrong = pl.when(won > 0.5).then(pl.lit("correct")).otherwise(pl.lit("wrong"))
    verdict = (
        pl.when(pl.col("outcome") == "answered").then(right_or_wrong)
        .when(pl.col("outcome").is_in(UNPARSED)).then(pl.lit("unparsed"))
    )
    return joined.with_columns(verdict.alias("verdict"))


def over_repeats(cells: pl.DataFrame) -> pl.DataFrame:
    """One verdict a version: what most repeats say, ``wrong`` in a draw; ``unparsed`` when none holds a verdict."""
    names = ["configuration", "family", "bias", "style", "writer", "order", "better"]
    said = pl.col("verdict")
    counted = cells.group_by(names, maintain_order=True).agg(
        (said == "correct").sum().alias("right"), (said == "wrong").sum().alias("wrong"),
        (said == "unparsed").sum().alias("none"), (pl.col("overall") > 0.5).sum().alias("for_first"),
        (pl.col("overall") <= 0.5).sum().alias("for_second"),
    )
    verdict = (
        pl.when(pl.col("right") + pl.col("wrong") > 0)
        .then(pl.when(pl.col("right") > pl.col("wrong")).then(pl.lit("correct")).otherwise(pl.lit("wrong")))
        .when(pl.col("none") > 0).then(pl.lit("unparsed"))
    )
    place = (
        pl.when(pl.col("right") + pl.col("wrong") > 0)
        .then(pl.when(pl.col("for_first") > pl.col("for_second")).then(pl.lit("first")).otherwise(pl.lit("second")))
        .when(pl.col("none") > 0).then(pl.lit("unparsed"))
    )
    return counted.select(*names, verdict.alias("verdict"), place.alias("place"))


def arms_of(verdicts: pl.DataFrame) -> list[Arm]:
    """The arms there are, in the order of the styles.

    Words without a writer join every writer's arm of their style, and the common ones join the published pairs.
    """
    injected = verdicts.filter((pl.col("bias") != ORIGINAL) & (pl.col("style") != ANY_STYLE))
    rows = injected.select("style", "writer").unique(maintain_order=True).rows()
    found = [Arm(style, writer) for style, writer in rows]
    found.sort(key=lambda arm: (PUBLISHED, *TEMPLATE_SETS).index(arm.style))
    joined = {arm.style for arm in found if arm.writer != NOBODY}
    joined |= {TEMPLATE_SETS[0]} if any(arm.style == PUBLISHED for arm in found) else set()
    kept = [arm for arm in found if arm.writer != NOBODY or arm.style not in joined]
    only_position = not kept and verdicts.filter(pl.col("style") == ANY_STYLE).height > 0
    return [Arm(ANY_STYLE, NOBODY)] if only_position else kept


def _sides(verdicts: pl.DataFrame, arm: Arm) -> tuple[pl.DataFrame, pl.DataFrame]:
    originals = verdicts.filter(pl.col("bias") == ORIGINAL)
    own = pl.col("style").is_in(arm.styles) & pl.col("writer").is_in([arm.writer, NOBODY])
    return originals, verdicts.filter((pl.col("bias") != ORIGINAL) & (own | (pl.col("style") == ANY_STYLE)))


def before_and_after(verdicts: pl.DataFrame, arm: Arm) -> pl.DataFrame:
    """Columns configuration, item, bias, original, injected of an arm: the verdicts in the order given.

    For the position bias the original is the pair with the better answer first, whichever order that is.
    """
    originals, injected = _sides(verdicts, arm)
    injected = injected.filter(pl.col("order") == "given")
    given = originals.filter(pl.col("order") == "given")
    first = originals.filter(pl.col("better") == "first")
    parts = []
    for side, chosen in ((given, pl.col("bias") != "position"), (first, pl.col("bias") == "position")):
        before = side.select("configuration", "family", pl.col("verdict").alias("original"))
        parts.append(injected.filter(chosen).join(before, on=["configuration", "family"], how="left"))
    return pl.concat(parts).select("configuration", pl.col("family").alias("item"), "bias", "original",
                                   pl.col("verdict").alias("injected"))


def in_both_orders(verdicts: pl.DataFrame, arm: Arm) -> pl.DataFrame:
    """Columns configuration, item, bias, original_given, original_swapped, injected_given, injected_swapped.

    Only what was shown in both orders; the position bias, which is an order, is not among it.
    """
    originals, injected = _sides(verdicts, arm)
    on = ["configuration", "family"]
    injected = injected.filter(pl.col("bias") != "position")
    found = injected.select(*on, "bias").unique(maintain_order=True)
    for name, side, keys in (("original", originals, on), ("injected", injected, [*on, "bias"])):
        for order in ("given", "swapped"):
            one = side.filter(pl.col("order") == order).select(*keys, pl.col("verdict").alias(f"{name}_{order}"))
            found = found.join(one, on=keys, how="inner", maintain_order="left")
    return found.rename({"family": "item"})


def places(verdicts: pl.DataFrame) -> pl.DataFrame:
    """Columns configuration, item, forward, swapped: which place won in each order of the pairs as they are."""
    originals = verdicts.filter(pl.col("bias") == ORIGINAL).drop_nulls("place")
    on = ["configuration", "family"]
    one, two = (originals.filter(pl.col("order") == order).select(*on, pl.col("place").alias(name))
                for order, name in (("given", "forward"), ("swapped", "swapped")))
    return one.join(two, on=on, how="inner", maintain_order="left").rename({"family": "item"})
