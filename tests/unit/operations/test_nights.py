"""Nights: what is compared with what, what is skipped, what is kept, and how it is shown."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from flows.nights import SuiteNight, is_superseded, last_good, nights_of, remember
from storage.store import open_store
from tasks.report.nights import NightRow, prune, trends, write_index, write_night

START = datetime(2026, 11, 1, 1, 30, tzinfo=UTC)


def _night(day: int, **fields: Any) -> SuiteNight:
    moment = START + timedelta(days=day)
    given = {"suite": "demo", "state": "complete", "summary": "all there", "canary": {"m1": {"a": 5.0}}} | fields
    return SuiteNight(date=f"{moment:%Y-%m-%d}", started=moment, run_id=f"run-{day}-{given['suite']}", **given)


def _row(night: SuiteNight) -> NightRow:
    return NightRow(**night.model_dump(exclude={"canary", "drift", "results"}), alarms=night.alarms, drift=night.drift)


def test_a_night_with_an_alarm_is_no_reference_until_it_is_accepted(tmp_path: Path) -> None:
    store = open_store(tmp_path / "store.duckdb")
    alarm = {"configuration": "m1/standard", "n": 16, "effect": 1.0, "low": 0.8, "high": 1.2, "p": 1e-4, "p_holm": 1e-4,
             "is_alarm": True, "reason": None}
    for night in (_night(0), _night(1, drift=[alarm], is_good=False, models={"m1/standard": ["m1-2026"]}),
                  _night(2, suite="other")):
        remember(store, night)
    known = nights_of(store, ["demo"])
    assert [night.date for night in known] == ["2026-11-01", "2026-11-02"]
    good = last_good(known)
    assert good is not None and good.date == "2026-11-01"
    (line,) = known[1].alarms
    assert "m1/standard moved by +1.00 points [+0.80, +1.20] on 16 items" in line and "m1-2026" in line
    store.close()


def test_late_nights_are_skipped_once_a_later_one_has_begun() -> None:
    done = [_night(4)]
    late = [is_superseded(START + timedelta(days=day), ["demo"], done) for day in range(6)]
    assert late == [True] * 4 + [False] * 2
    assert not is_superseded(START, ["demo", "other"], done), "the other suite is still to be done"
    assert not is_superseded(START, ["demo"], [_night(4, state="failed")]), "a night that failed has done nothing"


def test_pages_show_alarms_escape_names_and_keep_only_the_latest(tmp_path: Path) -> None:
    (tmp_path / "2026-01-01").mkdir()
    (tmp_path / "2026-01-01" / "mine.txt").write_text("not ours")
    nights = [_row(_night(day, summary="<b>fine</b>", metrics={"m1": {"mad": 0.1 * day}})) for day in range(5)]
    for night in nights:
        write_night(tmp_path / night.date, night.date, [night])
    assert prune(tmp_path, keep=3) == ["2026-11-01", "2026-11-02"]
    index = write_index(tmp_path, nights).read_text()
    assert (tmp_path / "2026-01-01" / "mine.txt").exists()
    assert "&lt;b&gt;fine" in index and "<b>fine" not in index
    assert 'href="2026-11-05/index.html"' in index and 'href="2026-11-01/index.html"' not in index
    (trend,) = trends(nights)
    assert trend.latest == 0.4 and len(trend.points.split()) == 5
