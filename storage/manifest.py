"""What the store has promised, kept outside the DuckDB file: how many rows each table has, and what went wrong.

DuckDB opens a file with a cut write-ahead log without a word and with fewer rows. So the number of rows of each table
is written down after every checkpoint, and compared at every lease. Here belong these two small files; what is done
about a difference is the lease's matter.
"""

from __future__ import annotations

import logging
import os
from datetime import datetime
from pathlib import Path

import orjson

from storage.records import Record, now

log = logging.getLogger(__name__)

Counts = dict[str, int]
"""Rows by table."""


class Incident(Record):
    """Something that was lost, found or set aside, and when it was noticed."""

    at: datetime
    kind: str
    """``rows_missing``, ``wal_set_aside``, ``journal_damaged``, ``rows_rejected``, ``file_missing``, ``repaired``."""
    detail: str


class Manifest:
    """The counts and incidents of one store, in its journal folder."""

    def __init__(self, folder: Path) -> None:
        self._counts = folder / "manifest.json"
        self._incidents = folder / "incidents.log"
        self._folder = folder

    def read(self) -> Counts:
        """Rows by table as of the last checkpoint; empty when nothing is promised."""
        try:
            return dict(orjson.loads(self._counts.read_bytes())["rows"])
        except FileNotFoundError:
            return {}
        except (ValueError, KeyError, TypeError):
            # Written to a temporary file and renamed, so only another hand can have spoilt it: it promises nothing now.
            self.report("manifest_damaged", f"{self._counts} is unreadable; rows lost before now cannot be noticed")
            self._counts.unlink()
            return {}

    def write(self, counts: Counts) -> None:
        """Promises these counts."""
        hidden = self._counts.with_suffix(f".{os.getpid()}.new")
        hidden.write_bytes(orjson.dumps({"rows": counts}))
        hidden.replace(self._counts)

    def report(self, kind: str, detail: str) -> None:
        """Says aloud and writes down that something went wrong."""
        log.warning("%s", detail)
        with self._incidents.open("ab") as file:
            file.write(Incident(at=now(), kind=kind, detail=detail).model_dump_json().encode() + b"\n")

    def incidents(self) -> list[Incident]:
        """Everything reported so far, oldest first."""
        if not self._incidents.exists():
            return []
        lines = self._incidents.read_bytes().splitlines()
        return [Incident.model_validate_json(line) for line in lines if line.endswith(b"}")]
