"""The science core: what an extraction says, checked, and written as the record that judges read.

Here belongs the structure: five headings, complete tables, legal statuses. How it is asked for is ``extraction``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from storage.records import Record
from storage.vocabulary import Outcome
from tasks.judge.json_objects import find_objects
from tasks.models.science_core import HEADINGS, STATUSES, UNREADABLE

CORE_VERSION = 1
"""Raised by hand when what is accepted as a core, or how it is written, changes."""
Status = Literal["Reported", "Not reported", "Not located", "Not applicable"]
if get_args(Status) != STATUSES:
    raise RuntimeError("the statuses of the schema and of the checks differ")


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Table(_Part):
    """A table, cell by cell."""

    caption: str
    columns: list[str] = Field(min_length=1)
    rows: list[list[str]] = Field(min_length=1)


class Item(_Part):
    """One piece of reproducibility information."""

    item: str = Field(min_length=1)
    status: Status
    detail: str


class Section(_Part):
    """A part of the record in statements."""

    status: Status
    record: list[str]


class Results(Section):
    """Statements and tables."""

    tables: list[Table]


class Reproducibility(_Part):
    """Items, each with a status of its own."""

    status: Status
    items: list[Item]


class Core(_Part):
    """A whole record."""

    problem_and_setting: Section
    method_and_assumptions: Section
    experiments_and_results: Results
    reproducibility: Reproducibility
    limitations: Section

    def written(self) -> str:
        """The record as text: five headings in order, tables in Markdown."""
        parts: list[str] = []
        for name, heading in HEADINGS.items():
            section = getattr(self, name)
            parts.append(f"## {heading}\n\nStatus: {section.status}\n")
            if isinstance(section, Reproducibility):
                parts += [f"- {each.item}: {each.status}. {each.detail}".rstrip() for each in section.items]
            else:
                parts += [f"- {statement.strip()}" for statement in section.record if statement.strip()]
            if isinstance(section, Results):
                parts += [_table(table) for table in section.tables]
            parts.append("")
        return "\n".join(parts).strip() + "\n"


class Extracted(Record):
    """What was read from one extraction."""

    outcome: Outcome
    reason: str | None = None
    text: str = ""
    """The record as judges read it; empty unless answered."""
    flags: list[str] = Field(default_factory=list)


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def _table(table: Table) -> str:
    rule = "|" + " --- |" * len(table.columns)
    return "\n".join(["", f"Table: {table.caption}", "", _row(table.columns), rule, *map(_row, table.rows)])


def _problems(core: Core) -> Iterator[str]:
    for place, table in enumerate(core.experiments_and_results.tables, 1):
        if any(len(row) != len(table.columns) for row in table.rows):
            yield f"table {place} has rows that are not as long as its heading"
        if any(not cell.strip() for row in table.rows for cell in row):
            yield f"table {place} has empty cells: unreadable ones are marked {UNREADABLE}"
    for name in HEADINGS:
        section = getattr(core, name)
        said = section.items if isinstance(section, Reproducibility) else "".join(section.record).strip()
        if section.status == "Reported" and not said and not getattr(section, "tables", None):
            yield f"{name} is said to be reported and holds nothing"


_FIRST_PERSON = re.compile(r"\b(?:we|our|ours|us)\b", re.I)


def read_core(answer: str) -> Extracted:
    """The record that an extraction gives, or why it gives none.

    Args:
        answer: the visible text of an answered call: one JSON object.
    """
    found = find_objects(answer)
    holders = [value for value, _ in found.objects if HEADINGS.keys() & value.keys()]
    if found.is_cut_off or not holders:
        return Extracted(outcome=Outcome.unparsable, reason="core: no JSON object with the five parts")
    if any(other != holders[0] for other in holders[1:]):
        return Extracted(outcome=Outcome.unparsable, reason="core: two different objects")
    try:
        core = Core.model_validate(dict(holders[0]))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        return Extracted(outcome=Outcome.unparsable, reason=f"core: {place}: {first['msg']}")
    problem = next(_problems(core), None)
    if problem is not None:
        return Extracted(outcome=Outcome.unparsable, reason=f"core: {problem}")
    text = core.written()
    flags = [*found.flags, *(["unreadable_cells"] if UNREADABLE in text else [])]
    if _FIRST_PERSON.search(text):
        flags.append("core_in_first_person")
    return Extracted(outcome=Outcome.answered, text=text, flags=flags)


def core_identity() -> dict[str, Any]:
    """What of the structure enters keys."""
    return {"core": CORE_VERSION, "headings": list(HEADINGS.values()), "statuses": list(STATUSES)}
