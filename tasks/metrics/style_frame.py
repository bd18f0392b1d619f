"""Scores of SciStyleBench as arrays: ideas x variants x dimensions, for one judge and one context.

The names of the benchmark, the check of a frame and its layout. What is computed from it is ``style.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from tasks.metrics.grid import Floats
from tasks.metrics.scores import checked, labels

VARIANTS: tuple[str, ...] = (
    "A1", "A2", "A3", "B1", "B2", "B3", "B4", "B5", "C1", "C2", "C3", "H1", "H2", "H3", "H4",
)
PLAIN, PARAPHRASE = "A3", "A2"
STYLE_ONLY: tuple[str, ...] = ("B1", "B2", "B3", "B4", "B5", "H4")
SUBSTANCE_PAIRS: tuple[tuple[str, str], ...] = (("C3", "A3"), ("A3", "C1"), ("A3", "C2"))
ADVERSARIAL_PAIRS: tuple[tuple[str, str], ...] = (("A3", "H1"), ("A3", "H2"))
ENRICHED_PAIRS: tuple[tuple[str, str], ...] = (("C3", "H1"), ("C3", "H2"))
DIMENSIONS: tuple[str, ...] = ("novelty", "feasibility", "significance", "rigor", "clarity")
OVERALL = "overall"


@dataclass(frozen=True)
class StyleGrid:
    """Scores of one configuration in one context; missing cells are NaN, here only.

    ``dimensions`` has shape ideas x 15 variants x 5 dimensions, ``overall`` ideas x 15 variants.
    """

    configuration: str
    context: str
    ideas: tuple[str, ...]
    dimensions: Floats
    overall: Floats

    def scores(self, variant: str) -> Floats:
        """Ideas x dimensions of one variant."""
        return np.asarray(self.dimensions[:, VARIANTS.index(variant)])

    def total(self, variant: str) -> Floats:
        """The overall score of one variant, by idea."""
        return np.asarray(self.overall[:, VARIANTS.index(variant)])


def style_frame(frame: pl.DataFrame, where: str = "scores") -> pl.DataFrame:
    """Checked columns configuration, context, idea, variant, dimension, score.

    Raises:
        InputError: Naming the row and column, also for a variant or dimension that the benchmark does not have.
    """
    frame = checked(frame, ["idea", "variant", "dimension"], "score", ["configuration", "context"], where)
    frame = labels(frame, "variant", where, VARIANTS)
    return labels(frame, "dimension", where, (*DIMENSIONS, OVERALL))


def style_grids(frame: pl.DataFrame) -> Iterator[StyleGrid]:
    """One grid a configuration and context, all over one sorted list of the ideas that have any score."""
    seen = frame.drop_nulls("score")
    ideas = seen["idea"].unique().sort().to_list()
    coded = seen.with_columns(
        pl.col("idea").cast(pl.Enum(ideas)).to_physical().alias("i"),
        pl.col("variant").cast(pl.Enum(VARIANTS)).to_physical().alias("p"),
        pl.col("dimension").cast(pl.Enum([*DIMENSIONS, OVERALL])).to_physical().alias("d"),
    )
    groups = frame.select("configuration", "context").unique(maintain_order=True)
    parts = coded.partition_by("configuration", "context", as_dict=True)
    for configuration, context in groups.iter_rows():
        cube = np.full((len(ideas), len(VARIANTS), len(DIMENSIONS) + 1), np.nan)
        part = parts.get((configuration, context))
        if part is not None:
            cube[part["i"].to_numpy(), part["p"].to_numpy(), part["d"].to_numpy()] = part["score"].to_numpy()
        yield StyleGrid(configuration, context, tuple(ideas), cube[:, :, :-1], cube[:, :, -1])
