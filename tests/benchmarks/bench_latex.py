"""LaTeX: segmentation in MB/s, and checking a variant's build against latexmk from nothing, on the corpus' projects.

Prints one table. Ratios are of processor time measured in one run, so that other work on the machine does not change
them; wall times are shown beside them. Needs ../shared/corpus (or EVENHAND_SHARED).
"""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from tasks.ingest.archive import unpack  # noqa: E402
from tasks.latex.compile import Build, build, differences  # noqa: E402
from tasks.latex.pdftext import pdf_text  # noqa: E402
from tasks.latex.project import Project, make_project  # noqa: E402
from tasks.latex.segments import apply, read_prose  # noqa: E402


def corpus() -> dict[str, Project]:
    folder = Path(os.environ.get("EVENHAND_SHARED", ROOT.parent / "shared")) / "corpus"
    return {
        path.name.removesuffix(".tar.gz"): make_project(unpack(path.read_bytes()).files)
        for path in sorted(folder.glob("*.tar.gz"))
    }


def segmentation(projects: dict[str, Project]) -> float:
    """MB of TeX a second of processor time, the best of three rounds."""
    rates = []
    for _ in range(3):
        size, started = 0, time.process_time()
        for project in projects.values():
            size += sum(len(project.files[name]) for name in read_prose(project).files)
        rates.append(size / 1e6 / (time.process_time() - started))
    return max(rates)


def spent_by_children() -> float:
    times = os.times()
    return times.children_user + times.children_system


def measured(project: Project, baseline: Build | None) -> tuple[Build, float, float]:
    processor, wall = spent_by_children(), time.perf_counter()
    made = build(project, baseline=baseline)
    return made, spent_by_children() - processor, time.perf_counter() - wall


def main() -> None:
    projects = corpus()
    print(f"segmentation: {segmentation(projects):.1f} MB/s")
    print(
        f"{'project':24} {'pages':>5} {'passes':>6} {'check s':>8} {'latexmk s':>9} {'ratio':>6} text ms/page  verdicts"
    )
    checks = scratch = 0.0
    variants: list[tuple[Project, Build]] = []
    for name, project in projects.items():
        baseline = build(project)
        if not baseline.ok or baseline.pdf is None:
            print(f"{name:24} does not build: {baseline.reason}")
            continue
        prose = read_prose(project)
        reworded = {s.id: s.text.replace(" the ", " the very ") for s in prose.segments[::3]}
        variant = apply(project, reworded, of=prose.segments)
        variants.append((variant, baseline))
        fast, fast_cpu, _ = measured(variant, baseline)
        slow, slow_cpu, _ = measured(variant, None)
        started = time.process_time()
        pdf_text(baseline.pdf)
        per_page = (time.process_time() - started) / (baseline.pages or 1) * 1000
        same = "same" if differences(baseline, fast) == differences(baseline, slow) == [] else "DIFFERENT"
        checks, scratch = checks + fast_cpu, scratch + slow_cpu
        print(
            f"{name:24} {baseline.pages:5} {fast.passes:6} {fast_cpu:8.2f} {slow_cpu:9.2f} {slow_cpu / fast_cpu:6.2f} "
            f"{per_page:12.1f}  {same}"
        )
    print(f"{'all':24} {'':5} {'':6} {checks:8.2f} {scratch:9.2f} {scratch / checks:6.2f}")
    walls = []
    for fast in (True, False):
        started = time.perf_counter()
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda pair: build(pair[0], baseline=pair[1] if fast else None), variants))  # noqa: B023
        walls.append(time.perf_counter() - started)
    print(f"two at a time, wall: check {walls[0]:.1f} s, latexmk {walls[1]:.1f} s, ratio {walls[1] / walls[0]:.2f}")


if __name__ == "__main__":
    main()
