"""How fast the rule-based producer is: prose a second for every condition, on the demo papers, against reading alone.

Run it with the checkout's Python; it prints a table with absolute figures and, measured in the same run, each
condition's time as a multiple of what the guard needs to check a result.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from tasks.latex.guard import problems
from tasks.latex.masks import Segment
from tasks.latex.project import load_project
from tasks.latex.segments import segments
from tasks.rewrite.producers import rewritable
from tasks.rewrite.rules.conditions import RULE_CONDITIONS, rewrite_text

PAPERS = Path(__file__).resolve().parents[2] / "deployments" / "suites" / "papers"
ROUNDS = 3


def _best(work: Callable[[], object]) -> float:
    times = []
    for _ in range(ROUNDS):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def _parts() -> list[Segment]:
    folders = sorted(path for path in PAPERS.iterdir() if path.is_dir())
    return [part for path in folders for part in rewritable(segments(load_project(path)))]


def main() -> None:
    """Measure and print."""
    parts = _parts()
    size = sum(len(part.text.encode()) for part in parts)
    guard = _best(lambda: [problems(part, part.text + ".") for part in parts])
    print(f"{len(parts)} segments, {size / 1e3:.0f} kB; the guard alone: {size / guard / 1e6:.1f} MB/s")
    print(f"{'condition':24s} {'MB/s':>6s} {'x guard':>8s} {'touched':>8s}")
    for condition in RULE_CONDITIONS:
        for part in parts[:5]:
            rewrite_text(part.text, condition, 1)
        seconds = _best(lambda name=condition: [rewrite_text(part.text, name, 1) for part in parts])
        touched = sum(rewrite_text(part.text, condition, 1) != part.text for part in parts) / len(parts)
        print(f"{condition:24s} {size / seconds / 1e6:6.2f} {seconds / guard:8.2f} {touched:8.0%}")


if __name__ == "__main__":
    main()
