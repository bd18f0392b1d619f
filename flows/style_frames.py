"""From judgements about ideas to frames of scores: idea, variant, context, dimension.

Queries and joins only; formulas belong to ``tasks.metrics``.
"""

from __future__ import annotations

import polars as pl

from flows.grid import Grid, cells_by_label
from flows.suites import Suite
from storage.store import Store

NOT_RUN = "not_run"
SCHEMA = {name: pl.String for name in ("configuration", "family", "version", "variant", "context", "key")}


def style_cells(suite: Suite, store: Store, grid: Grid) -> pl.DataFrame:
    """Every wanted cell with what is stored of it.

    Returns:
        The columns of ``SCHEMA``, repeat, outcome (``not_run`` without a judgement) and reason.
    """
    columns: dict[str, list[object]] = {name: [] for name in (*SCHEMA, "repeat")}
    for configuration in suite.judge.all_configurations():
        endpoint = suite.judge.endpoints[configuration.endpoint]
        for version, cell in cells_by_label(configuration, endpoint, grid, suite.judge.repeats):
            row = (configuration.name, version.family.family, version.label, version.condition, version.producer,
                   cell.key, cell.repeat)
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
    wanted = pl.DataFrame(columns, schema={**SCHEMA, "repeat": pl.Int64})
    found = store.query(
        "SELECT key, outcome, reason FROM judgements_best WHERE key IN (SELECT key FROM wanted_keys)",
        frames={"wanted_keys": wanted.select(pl.col("key").unique())},
    ).with_columns(pl.col("outcome").cast(pl.String))
    return wanted.join(found, on="key", how="left").with_columns(pl.col("outcome").fill_null(NOT_RUN))


def style_scores(store: Store, cells: pl.DataFrame) -> pl.DataFrame:
    """Columns configuration, context, idea, variant, dimension, score: means over the answered repeats."""
    found = store.query(
        "SELECT key, dimension, value FROM scores WHERE key IN (SELECT key FROM wanted_keys)",
        frames={"wanted_keys": cells.filter(pl.col("outcome") == "answered").select(pl.col("key").unique())},
    ).with_columns(pl.col("dimension").cast(pl.String), pl.col("value").cast(pl.Float64))
    joined = cells.select("configuration", "context", pl.col("family").alias("idea"), "variant", "key")
    joined = joined.join(found, on="key", how="inner", maintain_order="left")
    names = ["configuration", "context", "idea", "variant", "dimension"]
    return joined.group_by(names, maintain_order=True).agg(pl.col("value").mean().alias("score"))
