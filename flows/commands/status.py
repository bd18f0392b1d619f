"""``evenhand status``: what of a suite is done, missing and spent; works while a run is going."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Table

from flows.commands.console import OUT, emit, money
from flows.home import default_store
from flows.numbers import cell_counts, judged, spending, total
from flows.sitting import Sitting, sit
from storage.results import CellCounts, Spend
from storage.store import open_store

SuiteName = Annotated[str | None, typer.Argument(metavar="[SUITE]", help="A suite; without one, every suite that ran.")]
SetFields = Annotated[list[str] | None, typer.Option("--set", metavar="a.b=c", help="Override a field of the suite.")]
StoreUrl = Annotated[str | None, typer.Option("--store", help="URL of the store; default: .evenhand/store.duckdb.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]


def _stage(done: int, missing: dict[str, int]) -> dict[str, Any]:
    return {"done": done, "missing": missing}


def _count(reasons: list[str]) -> dict[str, int]:
    return {reason: reasons.count(reason) for reason in sorted(set(reasons))}


def suite_status(sitting: Sitting) -> dict[str, Any]:
    """The status of one suite as a document: stages, configurations, spend."""
    suite, store = sitting.suite, sitting.store
    grid, excluded = sitting.looked_at()
    open_sources = sitting.wanted() - len(grid.families) - len(excluded)
    cells = judged(suite, store, grid).cells
    spends, by_name = spending(store, cells), dict(cells.group_by("configuration"))
    configurations: dict[str, dict[str, Any]] = {}
    counted: list[CellCounts] = []
    for configuration in suite.judge.all_configurations():
        counts = cell_counts(by_name.get((configuration.name,), cells.clear()))
        counted.append(counts)
        spend = spends.get(configuration.name, Spend())
        configurations[configuration.name] = {
            "wanted": counts.wanted,
            "done": counts.answered,
            "missing": counts.missing,
            "spent": {"calls": spend.calls, "tokens": spend.input_tokens + spend.output_tokens, "usd": spend.usd},
        }
    whole = total(list(spends.values()))
    return {
        "suite": suite.name,
        "stages": {
            "ingest": _stage(
                len(grid.families),
                _count([entry.reason for entry in excluded]) | ({"not_run": open_sources} if open_sources > 0 else {}),
            ),
            "rewrite": _stage(len(grid.versions), _count([e.reason for e in (*grid.exclusions, *grid.unmade)])),
            "judge": _stage(sum(counts.answered for counts in counted), _summed(counted)),
        },
        "configurations": configurations,
        "spent": {"calls": whole.calls, "tokens": whole.input_tokens + whole.output_tokens, "usd": whole.usd},
    }


def _summed(counted: list[CellCounts]) -> dict[str, int]:
    summed: dict[str, int] = {}
    for counts in counted:
        for reason, number in counts.missing.items():
            summed[reason] = summed.get(reason, 0) + number
    return summed


def runs_status(store_url: str) -> dict[str, Any]:
    """The latest run of every suite in the store."""
    rows = open_store(store_url).query(
        'SELECT suite, arg_max(event, "at") AS event, arg_max(state, "at") AS state, max("at") AS "at", '
        "count(DISTINCT run_id) AS runs FROM runs GROUP BY suite ORDER BY suite"
    )
    return {"suites": rows.to_dicts()}


def _missing(missing: dict[str, int]) -> str:
    return ", ".join(f"{number:,} {reason}" for reason, number in missing.items()) or "-"


def _show(document: dict[str, Any]) -> None:
    table = Table(box=None, padding=(0, 2))
    for heading in ("", "done", "missing", "spent"):
        table.add_column(heading)
    for stage, entry in document["stages"].items():
        table.add_row(stage, f"{entry['done']:,}", _missing(entry["missing"]), "")
    for name, entry in document["configurations"].items():
        spent = f"{entry['spent']['tokens']:,} tokens, {money(entry['spent']['usd'])}"
        table.add_row(f"  {name}", f"{entry['done']:,}/{entry['wanted']:,}", _missing(entry["missing"]), spent)
    OUT.print(table)


def status(
    suite: SuiteName = None, set_fields: SetFields = None, store: StoreUrl = None, as_json: AsJson = False
) -> None:
    """What is done, what is missing and why, what it cost; works while a run is going."""
    url = store or default_store()
    if suite is None:
        document = runs_status(url)
        if as_json:
            emit(document)
        else:
            for row in document["suites"]:
                OUT.print(f"{row['suite']}: {row['state']} since {row['at']:%Y-%m-%d %H:%M} UTC, {row['runs']} runs")
        return
    sitting = sit(suite, set_fields, url, None)
    document = suite_status(sitting)
    document["companions"] = [suite_status(companion) for companion in sitting.companions()]
    if as_json:
        emit(document)
        return
    for part in (document, *document["companions"]):
        OUT.print(part["suite"])
        _show(part)
