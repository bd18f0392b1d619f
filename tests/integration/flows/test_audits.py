"""Audits of a suite: the model's verdicts, people's, and the numbers again on what passed."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
import yaml

from flows.fidelity import audit_versions, certified_keys, fidelity_sections, verdicts_of
from flows.human_audit import (
    FIDELITY,
    draw_sample,
    form_items,
    human_section,
    item_of,
    majority_by_version,
    questions_of,
    read_sheet,
    write_sheet,
)
from flows.sitting import Sitting, sit
from storage.errors import InputError, SuiteError
from storage.results import Certified
from tasks.ingest.family import ingest_family
from tasks.ingest.release import read_release, release_sources
from tasks.report.audit_form import audit_form
from tests.fakes.fake_auditor import FakeAuditor
from tests.fakes.fake_release import make_release

NAMES = [question.name for question in FIDELITY]


@pytest.fixture
def auditor() -> Iterator[FakeAuditor]:
    with FakeAuditor() as model:
        yield model


@pytest.fixture
def sitting(tmp_path: Path, auditor: FakeAuditor) -> Iterator[Sitting]:
    folder = make_release(tmp_path / "release", count=3)
    suite = {
        "name": "audited", "benchmark": "robust_review", "draws": 100,
        "families": {"source": "release", "path": str(folder)},
        "rewrite": {"audit": {"endpoint": "auditor", "model": "m"}},
        "judge": {"endpoints": {"auditor": {"base_url": auditor.base_url, "attempts": 2}}},
    }
    path = tmp_path / "audited.yaml"
    path.write_text(yaml.safe_dump(suite))
    made = sit(str(path), None, str(tmp_path / "store.duckdb"), None)
    for source in release_sources(read_release(folder)):
        ingest_family(made.store, source)
    yield made
    made.store.close()


def fill(path: Path, sheet: Path, rater: str, **changed: str) -> Path:
    """A sheet on which everything is kept but the items named in ``changed`` (item -> question)."""
    with sheet.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row |= dict.fromkeys(NAMES, "kept") | {"rater": rater}
        if row["item"] in changed:
            row[changed[row["item"]]] = "Changed"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_the_model_audits_every_rewrite_once_and_numbers_come_again(sitting: Sitting, auditor: FakeAuditor) -> None:
    made = audit_versions(sitting)
    grid = sitting.grid()
    assert len(made) == 9 and audit_versions(sitting) == [] and len(auditor.requests) == 9
    verdicts = verdicts_of(sitting.suite, sitting.store, grid)
    assert len(verdicts) == 9 and all(all(each.values()) for each in verdicts.values())
    rows = [
        ("judge", v.family.family, v.label, float(place % 4 + (place * 7) % 5))
        for place, v in enumerate(grid.versions)
    ]
    frame = pl.DataFrame(rows, schema=["configuration", "family", "version", "score"], orient="row")
    sections = fidelity_sections(sitting, grid, frame, {"paper00": 0.0, "paper01": 1.0, "paper02": 2.0})
    assert [row["kept"]["value"] for row in sections["fidelity"]["dimensions"]] == [1.0] * 5
    certified = Certified.model_validate(sections["certified"])
    assert (certified.versions, certified.of) == (9, 9)
    assert certified.configurations["judge"]["mad"].value is not None


def test_numbers_on_certified_versions_leave_the_others_out(sitting: Sitting, tmp_path: Path) -> None:
    audit_versions(sitting)
    grid = sitting.grid()
    drawn = draw_sample(grid, 150, 42)
    write_sheet(tmp_path / "audit.csv", drawn, FIDELITY)
    fallen = [v for v in drawn if v.condition == "joint"]
    for rater in "ab":
        bad = {item_of(v): "claims" for v in fallen}
        sitting.store.append(*read_sheet(fill(tmp_path / f"{rater}.csv", tmp_path / "audit.csv", rater, **bad), grid,
                                         FIDELITY))
    rows = [
        ("judge", v.family.family, v.label, 9.0 if v.condition == "joint" else 3.0) for v in grid.versions
    ]
    frame = pl.DataFrame(rows, schema=["configuration", "family", "version", "score"], orient="row")
    certified = Certified.model_validate(fidelity_sections(sitting, grid, frame, {})["certified"])
    assert (certified.versions, certified.of) == (6, 9)
    assert certified.configurations["judge"]["mad"].value == 0.0


def test_a_sample_is_blind_even_and_the_same_again(sitting: Sitting) -> None:
    grid = sitting.grid()
    drawn = draw_sample(grid, 6, 42)
    assert [item_of(v) for v in drawn] == [item_of(v) for v in draw_sample(grid, 6, 42)]
    assert set(Counter((v.condition, v.producer) for v in drawn).values()) == {2}
    assert len(draw_sample(grid, 150, 42)) == 9
    assert [item_of(v) for v in draw_sample(grid, 6, 1)] != [item_of(v) for v in drawn]
    page = audit_form("T <b>", form_items(sitting.store, drawn), FIDELITY)
    for told in ("novelty_stance", "Novelty stance", "GPT-5.5", "Claude", "T <b>"):
        assert told not in page
    assert "<ins>" in page and page.count('<details class="item"') == 6


def test_verdicts_come_back_with_majority_and_agreement(sitting: Sitting, tmp_path: Path) -> None:
    grid = sitting.grid()
    sheet = tmp_path / "audit.csv"
    drawn = draw_sample(grid, 9, 42)
    write_sheet(sheet, drawn, FIDELITY)
    first, second = item_of(drawn[0]), item_of(drawn[1])
    files = [
        fill(tmp_path / "1.csv", sheet, "ann", **{first: "results"}),
        fill(tmp_path / "2.csv", sheet, "bob", **{first: "results", second: "claims"}),
        fill(tmp_path / "3.csv", sheet, "cat"),
    ]
    sitting.store.append(*(step for file in files for step in read_sheet(file, grid, FIDELITY)))
    rows = {row["question"]: row for row in human_section(sitting.store, grid)}
    assert rows["results"]["kept"]["value"] == pytest.approx(8 / 9) and rows["results"]["raters"] == 3
    assert rows["claims"]["kept"]["value"] == 1.0
    assert rows["results"]["pairwise"]["value"] == pytest.approx((9 + 8 + 8) / 27)
    assert rows["methods"]["alpha"]["reason"] == "no_variance"
    people = majority_by_version(sitting.store, grid)
    assert people[drawn[0].version.key]["results"] == "changed"
    assert drawn[0].version.key not in certified_keys({}, people) and len(certified_keys({}, people)) == 8
    # A person who thinks again replaces an earlier verdict.
    again = fill(tmp_path / "4.csv", sheet, "bob")
    sitting.store.append(*read_sheet(again, grid, FIDELITY))
    rows = {row["question"]: row for row in human_section(sitting.store, grid)}
    assert rows["results"]["kept"]["value"] == 1.0 and rows["results"]["raters"] == 3


@pytest.mark.parametrize(
    "old, new, said",
    [
        ("item,claims", "item,claim", "row 1: the column claims is missing"),
        (",kept,", ",mostly,", "row 2: claims is 'mostly'; it must be one of kept, changed"),
    ],
)
def test_wrong_sheets_name_the_row(sitting: Sitting, tmp_path: Path, old: str, new: str, said: str) -> None:
    grid = sitting.grid()
    sheet = tmp_path / "audit.csv"
    write_sheet(sheet, draw_sample(grid, 2, 42), FIDELITY)
    path = fill(tmp_path / "x.csv", sheet, "ann")
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(InputError, match=said):
        read_sheet(path, grid, FIDELITY)
    path.write_text("item,claims,methods,evidence,results,conclusions\nzzz,kept,kept,kept,kept,kept\n")
    with pytest.raises(InputError, match="row 2: no version of this suite is 'zzz'"):
        read_sheet(path, grid, FIDELITY)


def test_a_majority_of_people_outweighs_the_model() -> None:
    kept = dict.fromkeys(NAMES, True)
    people = {"a": {"claims": "changed"}, "b": {"results": "kept"}, "c": {"claims": None}}
    model = {"a": kept, "b": kept | {"results": False}, "c": kept, "d": kept | {"claims": False}}
    assert certified_keys(model, people) == {"b", "c"}


def test_injected_pairs_are_audited_by_verifiers() -> None:
    with pytest.raises(SuiteError, match="verifiers"):
        questions_of("judge_bias")
    assert [question.name for question in questions_of("sci_style")] == ["style", "substance", "quality", "style_only"]
