"""What is remembered of a night, suite by suite: a step of the ledger each, so that Prefect's database may be lost.

Records and look-ups only; what a night does is ``nightly.py``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import Field

from storage.keys import step_key
from storage.records import Record, Step
from storage.store import Store
from tasks.metrics.drift import Drift

STEP = "night"


class SuiteNight(Record):
    """How one suite went in one night."""

    suite: str
    date: str
    """``2026-11-30``, of the moment the night was due, in UTC."""
    started: datetime
    run_id: str
    state: str
    """``complete``, ``complete_with_gaps`` or ``failed``."""
    summary: str
    results: str | None = None
    """Blob with every number."""
    page: str | None = None
    """The suite's report, relative to the index."""
    metrics: dict[str, dict[str, float | None]] = Field(default_factory=dict)
    """Configuration -> metric -> value, for the trends."""
    canary: dict[str, dict[str, float]] = Field(default_factory=dict)
    """Configuration -> item -> score tonight."""
    models: dict[str, list[str]] = Field(default_factory=dict)
    """Configuration -> names that the endpoint gave the model tonight."""
    reference: str | None = None
    """Date of the good night it was compared with."""
    drift: list[dict[str, Any]] = Field(default_factory=list)
    is_good: bool = True
    """Whether later nights are compared with this one: it did not fail, and no judge moved, or that was accepted."""
    calls: int = 0
    tokens: int = 0
    usd: float | None = 0.0
    """None: a price is unknown."""

    @property
    def alarms(self) -> list[str]:
        """One line for each judge that moved: its name, the effect, whether its model's name is unchanged."""
        return [alarm_line(Drift(**entry), self.models.get(entry["configuration"], [])) for entry in self.drift
                if entry["is_alarm"]]


def alarm_line(found: Drift, models: Sequence[str]) -> str:
    """``m1/standard moved by +1.00 points [0.80, 1.20] ...``."""
    interval = "" if found.low is None or found.high is None else f" [{found.low:+.2f}, {found.high:+.2f}]"
    named = f"; model name: {', '.join(models)}" if models else ""
    chance = "" if found.p_holm is None else f", p = {found.p_holm:.2g} after Holm"
    moved = f"{found.configuration} moved by {found.effect or 0.0:+.2f} points{interval}"
    return f"{moved} on {found.n} items{chance}{named}"


def remember(store: Store, night: SuiteNight) -> None:
    """Append a night to the ledger."""
    key = step_key(STEP, 1, suite=night.suite, run=night.run_id)
    store.append(Step(key=key, step=STEP, outcome="done", output=night.model_dump(mode="json"), run_id=night.run_id))
    store.flush()


def nights_of(store: Store, suites: Sequence[str] | None = None) -> list[SuiteNight]:
    """The nights so far, oldest first.

    Args:
        store: the ledger.
        suites: only of these; None is all.
    """
    rows = store.query("SELECT CAST(output AS VARCHAR) AS output FROM steps WHERE step = ? ORDER BY \"at\"", [STEP])
    found = [SuiteNight.model_validate(json.loads(text)) for text in rows["output"]]
    return [night for night in found if suites is None or night.suite in suites]


def last_good(nights: Sequence[SuiteNight]) -> SuiteNight | None:
    """The latest of one suite's nights that others are compared with."""
    return next((night for night in reversed(nights) if night.is_good and night.canary), None)


def is_superseded(due: datetime, suites: Sequence[str], nights: Sequence[SuiteNight]) -> bool:
    """Whether a night is not needed any more: nights that began after it was due have done all of its suites.

    A night that failed has done nothing, so Retry of it works.
    """
    done = {night.suite for night in nights if night.started > due and night.state != "failed"}
    return done.issuperset(suites)
