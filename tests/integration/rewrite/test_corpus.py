"""Real papers under all ten conditions: every variant is rebuilt with the sets of its original. Prints a table."""

from __future__ import annotations

import csv
import tarfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from storage.vocabulary import CONDITION_NAMES, ORIGINAL
from tasks.latex.compile import build
from tasks.latex.masks import Segment
from tasks.latex.project import Project, load_project
from tasks.latex.segments import segments
from tasks.models.rhetoric import CONDITION_FEATURE, features
from tasks.rewrite.fitting import Fit, Paper, fit
from tasks.rewrite.keys import PARENTS
from tasks.rewrite.producers import reword_by_rules, rewritable
from tasks.rewrite.rules.conditions import SINGLE, rewrite_text

SHARE_THAT_PASSES = 0.95
pytestmark = pytest.mark.corpus


def _rows(shared: Path) -> list[dict[str, str]]:
    with (shared / "corpus" / "MANIFEST.tsv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


@pytest.fixture(scope="module")
def projects(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Project]:
    """Every project of the corpus, by name."""
    found: dict[str, Project] = {}
    for row in _rows(shared):
        folder = tmp_path_factory.mktemp(row["name"])
        with tarfile.open(shared / "corpus" / f"{row['name']}.tar.gz") as archive:
            archive.extractall(folder, filter="data")
        found[row["name"]] = load_project(folder, row["main_tex"])
    return found


@pytest.fixture(scope="module")
def prose(projects: dict[str, Project]) -> dict[str, list[Segment]]:
    """The rewritable segments of every project."""
    return {name: rewritable(segments(project)) for name, project in projects.items()}


@pytest.mark.parametrize("condition", SINGLE)
def test_a_condition_goes_its_way_on_real_papers(prose: dict[str, list[Segment]], condition: str) -> None:
    feature = CONDITION_FEATURE[condition]
    gains: dict[str, float] = {}
    touched: dict[str, float] = {}
    for name, parts in prose.items():
        before = "\n\n".join(part.text for part in parts)
        new = [rewrite_text(part.text, condition, 1) for part in parts]
        gains[name] = features("\n\n".join(new))[feature] - features(before)[feature]
        touched[name] = sum(text != part.text for text, part in zip(new, parts, strict=True)) / len(parts)
    assert min(gains.values()) > 0.2, gains
    assert sum(gains.values()) / len(gains) > 0.8, gains
    assert min(touched.values()) > 0.2 and sum(touched.values()) / len(touched) >= 0.4, touched


def _fits(project: Project) -> Iterator[tuple[str, int, Fit]]:
    """Condition, segments and fit, for all ten conditions, two at a time."""
    baseline = build(project)
    assert baseline.ok, baseline.detail
    made = {ORIGINAL: project}

    def one(condition: str) -> tuple[str, int, Fit]:
        source = made[PARENTS[condition]]
        parts = segments(source)
        wording = reword_by_rules(parts, condition, 1)
        assert not wording.fallbacks
        return condition, len(parts), fit(Paper(source, baseline), parts, wording.texts)

    with ThreadPoolExecutor(2) as pool:
        first = [name for name in CONDITION_NAMES if PARENTS[name] == ORIGINAL]
        for wave in (first, ["joint_r2"], ["joint_r3"]):
            for condition, count, fitted in pool.map(one, wave):
                made[condition] = fitted.project
                yield condition, count, fitted


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_variants_of_real_papers_build_like_their_originals(
    shared: Path, projects: dict[str, Project], capsys: pytest.CaptureFixture[str]
) -> None:
    lines: list[str] = []
    passed = total = 0
    for row in _rows(shared):
        if row["compiles"] != "yes":
            continue
        for condition, count, fitted in _fits(projects[row["name"]]):
            total += 1
            passed += not fitted.faults
            lines.append(f"{row['name']:24s} {condition:24s} {len(fitted.texts):4d}/{count:4d} changed, "
                         f"{len(fitted.reverted)} reverted, {fitted.build.pages} pages, {fitted.build.seconds:5.1f} s "
                         f"{'; '.join(fitted.faults) or 'ok'}")
    with capsys.disabled():
        print("\n" + "\n".join(lines) + f"\n{passed} of {total} variants pass")
    assert total >= 100
    assert passed >= SHARE_THAT_PASSES * total
