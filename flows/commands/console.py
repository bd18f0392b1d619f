"""What a person or a program sees of a command: bars, lines, one JSON document; logs go to a file.

No command's logic belongs here.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table

from flows.progress import BOARD, Spent, StageProgress

CONSOLE = Console(stderr=True, highlight=False)
OUT = Console(highlight=False, width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else 160)
"""Standard output; tables written to a file or a pipe are not cut at the width of a terminal that is not there."""
BAR_CELLS = 12
PLAIN_INTERVAL_S = 10.0


def say(line: str) -> None:
    """One line for a person, on standard error: standard output is for results."""
    CONSOLE.print(line, markup=False, soft_wrap=True)


def emit(document: Any) -> None:
    """One JSON document on standard output."""
    typer.echo(json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1, default=str))


def logs_to_file(path: Path) -> None:
    """Every library's log lines go to a file instead of the terminal (Prefect's still reach its API)."""
    handler = logging.FileHandler(path, encoding="utf-8", delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(name)s %(message)s"))
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
    root.addHandler(handler)
    internal = logging.getLogger("prefect._internal")
    for old in list(internal.handlers):
        internal.removeHandler(old)
    internal.addHandler(handler)
    logging.captureWarnings(True)


def duration(seconds: float | None) -> str:
    """``95`` -> ``1:35``; unknown -> ``-``."""
    if seconds is None:
        return "-"
    whole = round(seconds)
    return (
        f"{whole // 3600}:{whole % 3600 // 60:02d}:{whole % 60:02d}"
        if whole >= 3600
        else f"{whole // 60}:{whole % 60:02d}"
    )


def money(usd: float | None) -> str:
    """Dollars with cents, or that a price is unknown."""
    return "price unknown" if usd is None else f"${usd:,.2f}"


def _bar(stage: StageProgress) -> str:
    share = stage.done / stage.total if stage.total else 1.0
    full = int(share * BAR_CELLS)
    return "█" * full + "░" * (BAR_CELLS - full)


def _row(stage: StageProgress, now: float) -> tuple[str, ...]:
    end = stage.ended or now
    elapsed = max(end - stage.started, 1e-3)
    fresh = stage.done - stage.cached
    notes = [f"{stage.cached:,} cached"] if stage.cached else []
    notes += [f"{stage.failed:,} failed"] if stage.failed else []
    eta = "" if stage.ended else f"ETA {duration(stage.eta_s(now))}"
    return (
        stage.name,
        _bar(stage),
        f"{stage.done:,}/{stage.total:,}",
        f"{fresh / elapsed:,.1f}/s",
        duration(elapsed),
        eta,
        ", ".join(notes),
    )


def _spent_line(spent: Spent) -> str:
    return f"{spent.calls:,} calls, {spent.tokens:,} tokens, {money(spent.usd)}, {spent.in_flight} in flight"


def _table() -> Group:
    stages, spent = BOARD.snapshot()
    now = time.monotonic()
    grid = Table.grid(padding=(0, 1))
    for stage in stages:
        grid.add_row(*_row(stage, now))
    return Group(grid, _spent_line(spent)) if spent.calls or spent.in_flight else Group(grid)


class _Live:
    """A renderable that looks at the board each time it is drawn."""

    def __rich__(self) -> Group:
        return _table()


def _plain_lines(stop: threading.Event) -> None:
    while not stop.wait(PLAIN_INTERVAL_S):
        stages, spent = BOARD.snapshot()
        now = time.monotonic()
        running = [stage for stage in stages if stage.ended is None]
        for stage in running:
            name, _, count, rate, _, eta, notes = _row(stage, now)
            say("  ".join(part for part in (name, count, rate, eta, notes) if part))
        if running and spent.calls:
            say(_spent_line(spent))


@contextlib.contextmanager
def progress() -> Iterator[None]:
    """Bars while the body runs: live on a terminal, a line now and then elsewhere."""
    if CONSOLE.is_terminal:
        with Live(_Live(), console=CONSOLE, refresh_per_second=4, transient=False):
            yield
        return
    stop = threading.Event()
    ticker = threading.Thread(target=_plain_lines, args=(stop,), name="progress", daemon=True)
    ticker.start()
    try:
        yield
    finally:
        stop.set()
        ticker.join()
        CONSOLE.print(_table())
        sys.stderr.flush()
