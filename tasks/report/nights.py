"""The pages of nightly runs: one a night, and an index over all nights with trends; self-contained HTML.

Only pages belong here; a suite's own report is ``page.py``'s, what moved is computed before.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, select_autoescape
from pydantic import Field

from storage.records import Record

MARK = "night.json"
"""What tells a folder of ours from anybody else's."""
_DATED = re.compile(r"\d{4}-\d{2}-\d{2}")
_WIDTH, _HEIGHT = 160.0, 28.0


class NightRow(Record):
    """One suite's night, as the pages show it."""

    suite: str
    date: str
    started: datetime
    run_id: str
    state: str
    summary: str
    page: str | None = None
    metrics: dict[str, dict[str, float | None]] = Field(default_factory=dict)
    models: dict[str, list[str]] = Field(default_factory=dict)
    reference: str | None = None
    drift: list[dict[str, Any]] = Field(default_factory=list)
    alarms: list[str] = Field(default_factory=list)
    is_good: bool = True
    calls: int = 0
    tokens: int = 0
    usd: float | None = 0.0


class Trend(Record):
    """One metric of one judge over the nights."""

    configuration: str
    metric: str
    values: tuple[float | None, ...]

    @property
    def points(self) -> str:
        """The polyline's points; a night without the number leaves no point."""
        known = [value for value in self.values if value is not None]
        low, high = min(known, default=0.0), max(known, default=0.0)
        span = (high - low) or 1.0
        step = _WIDTH / max(len(self.values) - 1, 1)
        places = [
            f"{place * step:.1f},{_HEIGHT - (value - low) / span * (_HEIGHT - 4) - 2:.1f}"
            for place, value in enumerate(self.values)
            if value is not None
        ]
        return " ".join(places)

    @property
    def latest(self) -> float | None:
        """Tonight's value."""
        return self.values[-1] if self.values else None


def trends(nights: Sequence[NightRow]) -> list[Trend]:
    """The trends of one suite's nights (oldest first): every judge and metric of the latest of them."""
    if not nights:
        return []
    return [
        Trend(
            configuration=name,
            metric=metric,
            values=tuple(night.metrics.get(name, {}).get(metric) for night in nights),
        )
        for name, metrics in nights[-1].metrics.items()
        for metric in metrics
    ]


def _template(name: str) -> Any:
    found = Environment(loader=PackageLoader("tasks.report"), autoescape=select_autoescape(default=True))
    return found.get_template(name)


def write_night(folder: Path, date: str, rows: Sequence[NightRow]) -> Path:
    """The page of one night.

    Args:
        folder: of the night; made when it is not there.
        date: as people call the night.
        rows: its suites.

    Returns:
        The page's path.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARK).write_text(json.dumps([row.model_dump(mode="json") for row in rows], indent=1), encoding="utf-8")
    page = folder / "index.html"
    page.write_text(_template("night.html.j2").render(date=date, rows=rows), encoding="utf-8")
    return page


def write_index(folder: Path, nights: Sequence[NightRow]) -> Path:
    """The index over all nights, the latest first, with trends by suite.

    Args:
        folder: where the dated folders lie; a night whose page was pruned keeps its line without a link.
        nights: every night of every suite, oldest first.

    Returns:
        The index's path.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names = dict.fromkeys(night.suite for night in nights)
    by_suite = {name: [night for night in nights if night.suite == name] for name in names}
    there = {path.parent.name for path in folder.glob(f"*/{MARK}")}
    page = folder / "index.html"
    text = _template("nights.html.j2").render(
        by_suite=by_suite, there=there, trends={name: trends(rows) for name, rows in by_suite.items()},
        width=_WIDTH, height=_HEIGHT,
    )
    page.write_text(text, encoding="utf-8")
    return page


def prune(folder: Path, keep: int) -> list[str]:
    """Remove all but the latest dated folders of ours.

    Args:
        folder: where they lie; folders without our mark are left alone.
        keep: how many stay.

    Returns:
        The dates whose pages were removed.
    """
    dated = sorted(path for path in folder.glob("*") if _DATED.fullmatch(path.name) and (path / MARK).is_file())
    old = dated[:-keep] if keep < len(dated) else []
    for path in old:
        shutil.rmtree(path)
    return [path.name for path in old]
