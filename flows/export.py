"""What is stored of a suite, taken out: plain tables, or the papers and reviews of a RobustReview release.

Queries and records only; how files are written belongs to ``tasks.report``.
"""

from __future__ import annotations

import itertools
from typing import Any

import polars as pl

from flows.grid import NOBODY, Grid, LabelledVersion, cells_by_label
from flows.numbers import judged
from flows.sitting import Sitting
from flows.suites import Suite
from storage.keys import step_key
from storage.records import Family, HumanScore, Judgement
from storage.store import Store
from storage.vocabulary import ORIGINAL
from tasks.report.release import ReleasePaper, ReleaseReview, ReleaseRewrite

_REVIEW_FIELDS = ("overall_assessment", "soundness", "presentation", "contribution", "confidence")


def frames_of(sitting: Sitting) -> dict[str, pl.DataFrame]:
    """The suite as tables: families, versions, exclusions, human_scores, cells (with reasons), scores (by dimension).

    Columns that hold an item's name are the same everywhere: family, condition, producer, configuration.
    """
    grid, excluded = sitting.looked_at()
    cells = judged(sitting.suite, sitting.store, grid).cells
    scores = sitting.store.query(
        "SELECT key, dimension, value AS score FROM scores WHERE key IN (SELECT key FROM wanted_keys)",
        frames={"wanted_keys": cells.select(pl.col("key").unique())},
    )
    named = cells.select("configuration", "family", "version", "repeat", "key")
    return {
        "families": pl.DataFrame([_family_row(family) for family in grid.families], infer_schema_length=None),
        "versions": pl.DataFrame([_version_row(version) for version in grid.versions], infer_schema_length=None),
        "exclusions": pl.DataFrame(
            [entry.model_dump() for entry in (*excluded, *grid.exclusions, *grid.unmade)],
            schema=dict.fromkeys(("family", "condition", "producer", "reason", "detail"), pl.String),
        ),
        "human_scores": _human_frame(sitting.store, grid),
        "cells": cells.drop("overall"),
        "scores": named.join(scores, on="key", how="inner").drop("key").sort("configuration", "family", "version"),
    }


def _family_row(family: Family) -> dict[str, Any]:
    kept = family.model_dump(include={"family", "benchmark", "source_kind", "title", "pages", "words", "key"})
    return {**kept, "flags": " ".join(family.flags), "text_hash": family.text_hash, "pdf_hash": family.pdf_hash}


def _version_row(version: LabelledVersion) -> dict[str, Any]:
    kept = version.version.model_dump(
        include={"pages", "words", "segments", "segments_changed", "segments_fallback", "text_hash", "pdf_hash", "key"}
    )
    named = {"family": version.family.family, "condition": version.condition, "producer": version.producer}
    return {**named, "version": version.label, **kept}


def _human_frame(store: Store, grid: Grid) -> pl.DataFrame:
    wanted = {family.family for family in grid.families}
    latest = {(row.family, row.dimension): row for row in store.load(HumanScore) if row.family in wanted}
    columns = {"family": pl.String, "dimension": pl.String, "score": pl.Float64, "source": pl.String}
    rows = [(row.family, row.dimension, row.score, row.source) for _, row in sorted(latest.items())]
    return pl.DataFrame(rows, schema=columns, orient="row")


def release_papers(sitting: Sitting, grid: Grid) -> list[ReleasePaper]:
    """The suite's papers and their versions that have a PDF, as a release holds them."""
    human = {
        row.family: row.score for row in sitting.store.load(HumanScore) if row.dimension == "overall"
    }
    rewrites: dict[str, list[ReleaseRewrite]] = {}
    for version in grid.versions:
        if version.condition != ORIGINAL and version.version.pdf_hash is not None:
            made = ReleaseRewrite(
                condition=version.condition, producer=version.producer, pdf_hash=version.version.pdf_hash
            )
            rewrites.setdefault(version.family.family, []).append(made)
    return [
        _paper(sitting.suite, family, rewrites.get(family.family, []), human.get(family.family))
        for family in grid.families
        if family.pdf_hash is not None
    ]


def _paper(suite: Suite, family: Family, rewrites: list[ReleaseRewrite], human: float | None) -> ReleasePaper:
    about = family.facts.get("release") or family.facts.get("openreview") or {}
    arxiv = family.facts.get("arxiv") or {}
    paper = arxiv.get("paper")
    reviews = [{name: _number(review.get(name)) for name in _REVIEW_FIELDS} for review in about.get("reviews", ())]
    return ReleasePaper(
        paper_id=family.family,
        original_pdf_hash=family.pdf_hash or "",
        rewrites=rewrites,
        arxiv_id=about.get("arxiv_id") or (f"{paper}v{arxiv['version']}" if paper else None),
        arxiv_source_url=about.get("arxiv_source_url") or (f"https://arxiv.org/abs/{paper}" if paper else None),
        openreview_id=about.get("openreview_id"),
        score_stratum=about.get("score_stratum") or _stratum(suite, human),
        reviews=reviews,
        average_overall_assessment=human,
    )


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _stratum(suite: Suite, score: float | None) -> str | None:
    """The half-open stratum that a score lies in; the last one is closed."""
    if suite.families.sample is None or score is None:
        return None
    edges = suite.families.sample.strata
    for low, high in itertools.pairwise(edges):
        if low <= score < high or score == high == edges[-1]:
            return f"[{low:g},{high:g}{']' if high == edges[-1] else ')'}"
    return None


def release_reviews(sitting: Sitting, grid: Grid, papers: list[ReleasePaper]) -> list[ReleaseReview]:
    """Every answered judgement of a PDF that the release has."""
    suite, found = sitting.suite, []
    there = {(paper.paper_id, ORIGINAL, NOBODY) for paper in papers}
    there |= {(paper.paper_id, each.condition, each.producer) for paper in papers for each in paper.rewrites}
    for configuration in suite.judge.all_configurations():
        endpoint = suite.judge.endpoints[configuration.endpoint]
        print_ = step_key(
            "configuration", 1, base_url=endpoint.identity, api=endpoint.api, model=configuration.model,
            protocol=configuration.way().identity(configuration.scoring), parameters=configuration.parameters,
            scoring=configuration.scoring,
        )
        cells = cells_by_label(configuration, endpoint, grid, suite.judge.repeats)
        answered = {
            row.key: row for row in sitting.store.load(Judgement, [cell.key for _, cell in cells])
            if row.outcome == "answered" and "overall" in row.scores
        }
        for version, cell in cells:
            named = (version.family.family, version.condition, version.producer)
            if cell.key not in answered or named not in there:
                continue
            found.append(
                ReleaseReview(
                    paper_id=named[0], condition=named[1], producer="" if named[1] == ORIGINAL else named[2],
                    provider=configuration.endpoint, model=configuration.model, prompt_template=configuration.protocol,
                    model_rating=answered[cell.key].scores["overall"], configuration_fingerprint=print_,
                )
            )
    return found


def unexported(grid: Grid, papers: list[ReleasePaper]) -> list[str]:
    """Families and versions that a release cannot hold because they have no PDF, in words."""
    there = {paper.paper_id for paper in papers}
    names = [family.family for family in grid.families if family.family not in there]
    return names + [
        f"{version.family.family} {version.label}"
        for version in grid.versions
        if version.family.family in there and version.version.pdf_hash is None
    ]
