"""Nightly: every suite anew, the canary asked again, what moved since the last good night, pages, word to somebody.

The order of a night belongs here. What is remembered of one is ``nights.py``, what is asked again ``canary.py``, how it
looks ``tasks.report.nights``.
"""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prefect import flow, runtime
from prefect.artifacts import create_markdown_artifact
from prefect.logging import get_run_logger
from prefect.states import Completed, Failed, State
from pydantic import Field

from flows.benchmark import benchmark
from flows.canary import canary
from flows.home import default_store, home
from flows.nights import SuiteNight, is_superseded, last_good, nights_of, remember
from flows.notify import tell
from flows.publish import stored_results
from flows.sitting import unfinished_runs
from flows.suites import Suite, load_suite
from storage.errors import UserError
from storage.records import Record, new_id, now
from storage.results import Results
from storage.store import Store, open_store
from tasks.metrics.drift import drift
from tasks.models.budget import spent
from tasks.report.artifacts import artifact_key
from tasks.report.nights import NightRow, prune, write_index, write_night

TREND_METRICS = ("mad", "icc_a1", "discriminability", "bsr", "sbi")


class NightPolicy(Record):
    """What a night may spend, what it asks again, what it keeps."""

    usd: float | None = Field(default=None, ge=0)
    """Dollars of one night over all suites; None for no limit beside the suites' own."""
    tokens: int | None = Field(default=None, ge=0)
    """Tokens of one night over all suites."""
    canary_families: int = Field(default=4, ge=0)
    """Families the canary is taken from on the first night; 0 for no canary."""
    canary_repeats: int = Field(default=1, ge=1)
    """How often each canary version is asked about in a night."""
    level: float = Field(default=0.005, gt=0, lt=1)
    """Chance of any false drift alarm of a suite in one night, over all its judges."""
    keep_nights: int = Field(default=60, ge=1)
    """Dated pages that are kept; the ledger keeps every night."""


class _Night(Record):
    """What the suites of one night share."""

    run_id: str
    date: str
    started: datetime
    out: str
    policy: NightPolicy
    only_failed: bool
    accept_drift: bool

    @property
    def folder(self) -> Path:
        """Of this night's pages."""
        return Path(self.out) / self.date


@flow(name="nightly", flow_run_name="nightly")
def nightly(
    suites: list[str],
    store_url: str | None = None,
    out: str | None = None,
    only_failed: bool = False,
    accept_drift: bool = False,
    force: bool = False,
    notify: str | None = None,
    policy: NightPolicy | None = None,
) -> State[Any]:
    """Run every suite, ask the canary again, compare with the last good night, publish, tell.

    Args:
        suites: names of shipped suites, or paths of suite files.
        store_url: where everything is remembered; by default .evenhand/store.duckdb.
        out: the folder of the pages; by default .evenhand/nights.
        only_failed: try everything again that failed for good, too.
        accept_drift: judges that moved are accepted: later nights are compared with this one.
        force: run although a later night has done the work already.
        notify: name of a webhook block that is called when a suite failed, has gaps, or a judge moved.
        policy: budget of the night, the canary, the level of alarms, what is kept.
    """
    store = open_store(store_url or default_store())
    due = _due()
    names = [_name(suite) for suite in suites]
    if not force and is_superseded(due, names, nights_of(store, names)):
        return Completed(name="Skipped", message=f"the night due {due:%Y-%m-%d %H:%M} UTC was done by a later one")
    night = _Night(
        run_id=new_id(),
        date=f"{due:%Y-%m-%d}",
        started=now(),
        out=str(Path(out).resolve() if out else home() / "nights"),
        policy=policy or NightPolicy(),
        only_failed=only_failed,
        accept_drift=accept_drift,
    )
    done = [_one_suite(night, store, suite, name) for suite, name in zip(suites, names, strict=True)]
    _publish(night, store, done)
    return _ended(done, notify)


def _due() -> datetime:
    """When this run was due, in UTC."""
    due = runtime.flow_run.scheduled_start_time or now()
    return datetime.fromtimestamp(due.timestamp(), tz=UTC)


def _name(suite: str) -> str:
    """The suite's name; of a suite that cannot be read, what it was called by."""
    try:
        return load_suite(suite).name
    except UserError:
        return Path(suite).stem


def _budget(night: _Night, store: Store, suite: Suite) -> list[str]:
    """The suite's budget, cut to what is left of the night's: as fields to set."""
    usd, tokens = spent(store, [night.run_id])
    before_usd, before_tokens = spent(store, unfinished_runs(store, suite.name))
    fields: list[str] = []
    if night.policy.usd is not None:
        left = max(night.policy.usd - usd, 0.0) + before_usd
        fields.append(f"budget.usd={left if suite.budget.usd is None else min(left, suite.budget.usd)!r}")
    if night.policy.tokens is not None:
        room = max(night.policy.tokens - tokens, 0) + before_tokens
        fields.append(f"budget.tokens={room if suite.budget.tokens is None else min(room, suite.budget.tokens)}")
    return fields


def _one_suite(night: _Night, store: Store, suite: str, name: str) -> SuiteNight:
    """One suite's night; whatever goes wrong with it is its own state, and the next suite goes on."""
    common: dict[str, Any] = {"suite": name, "date": night.date, "started": night.started, "run_id": night.run_id}
    earlier = nights_of(store, [name])
    try:
        fields = _budget(night, store, load_suite(suite))
    except UserError as error:
        return _remembered(store, SuiteNight(state="failed", summary=str(error), is_good=False, **common))
    ended = benchmark(
        suite=suite,
        set_fields=fields or None,
        store_url=store.url,
        out=str(night.folder / name),
        run_id=night.run_id,
        only_failed=night.only_failed,
        return_state=True,
    )
    data = ended.result(raise_on_failure=False)
    results = stored_results(store, data["results"]) if isinstance(data, dict) and data.get("results") else None
    if results is None or not ended.is_completed():
        common |= {"state": "failed", "is_good": False}
    else:
        common |= {"state": results.state}
    if results is not None:
        common |= _numbers(results) | {"results": data["results"], "page": f"{night.date}/{name}/index.html"}
    problem = data.get("problem") if isinstance(data, dict) else None
    made = SuiteNight(summary="; ".join(part for part in (ended.message or name, problem) if part), **common)
    if night.policy.canary_families and common["state"] != "failed":
        made = _compared(night, store, suite, made, earlier)
    return _remembered(store, made)


def _remembered(store: Store, night: SuiteNight) -> SuiteNight:
    remember(store, night)
    for line in night.alarms:
        get_run_logger().warning("drift suite=%s %s", night.suite, line)
    return night


def _numbers(results: Results) -> dict[str, Any]:
    metrics = {
        entry.name: {name: entry.metrics[name].value for name in TREND_METRICS if name in entry.metrics}
        for entry in results.configurations
    }
    spend = results.spend
    return {
        "metrics": metrics,
        "calls": spend.calls,
        "tokens": spend.input_tokens + spend.output_tokens,
        "usd": spend.usd,
    }


def _compared(night: _Night, store: Store, suite: str, made: SuiteNight, earlier: list[SuiteNight]) -> SuiteNight:
    """The night with its canary, compared with the last good one."""
    asked = canary(
        suite=suite,
        store_url=store.url,
        run_id=night.run_id,
        night=len(earlier),
        families=night.policy.canary_families,
        repeats=night.policy.canary_repeats,
        return_state=True,
    )
    data = asked.result(raise_on_failure=False)
    if not isinstance(data, dict):
        told = f"{made.summary}; the canary failed: {asked.message}"
        return made.model_copy(update={"summary": told, "state": "failed", "is_good": False})
    reference = last_good(earlier)
    found = drift(reference.canary, data["scores"], level=night.policy.level) if reference else []
    moved = any(entry.is_alarm for entry in found)
    return made.model_copy(
        update={
            "canary": data["scores"],
            "models": data["models"],
            "reference": reference.date if reference else None,
            "drift": [asdict(entry) for entry in found],
            "is_good": night.accept_drift or not moved,
        }
    )


def _publish(night: _Night, store: Store, done: list[SuiteNight]) -> None:
    rows = [NightRow(**each.model_dump(exclude={"canary", "drift", "results"}), alarms=each.alarms,
                     drift=each.drift) for each in done]
    page = write_night(night.folder, night.date, rows)
    every = [NightRow(**each.model_dump(exclude={"canary", "drift", "results"}), alarms=each.alarms,
                      drift=each.drift) for each in nights_of(store)]
    prune(Path(night.out), night.policy.keep_nights)
    index = write_index(Path(night.out), every)
    lines = [f"| {each.suite} | {each.state} | {each.summary} | {'<br>'.join(each.alarms) or '-'} |" for each in done]
    create_markdown_artifact(
        markdown="\n".join(
            ["| suite | state | | judges that moved |", "|---|---|---|---|", *lines, "",
             f"Tonight: `{page.as_uri()}`", "", f"All nights: `{index.as_uri()}`"]
        ),
        key=artifact_key("night"),
        description=f"The night of {night.date}",
    )


def _ended(done: list[SuiteNight], notify: str | None) -> State[Any]:
    """The night's state: Failed when a suite failed, "Completed with gaps" when cells are missing; alarms are named."""
    failed = [night.suite for night in done if night.state == "failed"]
    gaps = [night.suite for night in done if night.state == "complete_with_gaps"]
    alarms = [f"{night.suite}: {line}" for night in done for line in night.alarms]
    parts = [f"failed: {', '.join(failed)}"] if failed else []
    parts += [f"cells missing: {', '.join(gaps)}"] if gaps else []
    parts += [f"DRIFT {line}" for line in alarms]
    message = "; ".join(parts) or f"{len(done)} suites complete, no judge moved"
    if notify and parts:
        tell(notify, {"text": f"evenhand nightly: {message}", "failed": failed, "gaps": gaps, "drift": alarms})
    if failed:
        return Failed(message=message)
    return Completed(message=message, name="Completed with gaps" if gaps else None)
