"""The same numbers as Prefect artifacts: a table and a verdict in words on the flow run's page, and a progress bar.

Called from inside a flow or task. Keys are lower-case letters, digits and dashes, as Prefect asks. Nothing else of the
report knows Prefect.
"""

from __future__ import annotations

import re
from uuid import UUID

from prefect.artifacts import (
    create_markdown_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)

from storage.results import Results
from tasks.report.headline import cards, lead_sentence
from tasks.report.numbers import NO_VALUE, with_interval
from tasks.report.verdicts import estimate, standing
from tasks.report.words import METRICS, VERDICTS

MOST_ROWS = 60
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+.!|<>~-])")


def artifact_key(*words: str) -> str:
    """A key that Prefect accepts: ``("leaderboard", "GPT-5.5 demo")`` is ``leaderboard-gpt-5-5-demo``."""
    return re.sub(r"[^a-z0-9]+", "-", "-".join(words).lower()).strip("-") or "evenhand"


def leaderboard_rows(results: Results) -> list[dict[str, str]]:
    """The leaderboard as Prefect shows tables: text cells, best judge first."""
    where = standing(results)
    return [
        {
            "judge": each.name,
            "verdict": VERDICTS[where.verdicts[each.name]][0],
            **{metric.label: with_interval(estimate(each, metric.key), metric.digits) for metric in METRICS},
            "cells": f"{each.cells.answered} of {each.cells.wanted}",
        }
        for each in where.order[:MOST_ROWS]
    ]


def verdict_markdown(results: Results, *, page: str | None = None) -> str:
    """The headline as Markdown; names are escaped.

    Args:
        results: what ``aggregate`` made.
        page: where the page lies, for a line at the end.
    """
    where = standing(results)
    lines = [f"# {_plain(results.title)}", "", _plain(lead_sentence(results, where)), "", "| | | |", "|---|---|---|"]
    lines += [
        f"| {_plain(card.kicker)} | **{_plain(card.figure)}** | {_plain(card.text)} |" for card in cards(results, where)
    ]
    return "\n".join([*lines, *(["", f"The full report: `{page}`"] if page else [])]) + "\n"


def publish_artifacts(results: Results, *, page: str | None = None) -> list[UUID]:
    """Puts table and verdict onto the running flow's page.

    Returns:
        The artifacts' ids: table, then Markdown.
    """
    rows = leaderboard_rows(results) or [{"judge": NO_VALUE, "verdict": "no judge was run"}]
    table = create_table_artifact(
        table=rows,
        key=artifact_key("leaderboard", results.suite),
        description=f"Leaderboard of {_plain(results.title)}",
    )
    words = create_markdown_artifact(
        markdown=verdict_markdown(results, page=page),
        key=artifact_key("verdict", results.suite),
        description="Which judge can be trusted, and how sure that is",
    )
    return [table, words]  # type: ignore[list-item]


def start_progress(suite: str, stage: str) -> UUID:
    """A progress bar for one stage of a suite; its id goes to ``show_progress``."""
    return create_progress_artifact(
        progress=0.0, key=artifact_key("progress", suite, stage), description=f"{stage} of {suite}"
    )  # type: ignore[return-value]


def show_progress(bar: UUID, done: int, wanted: int) -> None:
    """Moves a progress bar; a stage without work is done."""
    update_progress_artifact(artifact_id=bar, progress=100.0 if wanted <= 0 else min(100.0, 100.0 * done / wanted))


def _plain(text: str) -> str:
    """Text that Markdown shows as it is."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))
