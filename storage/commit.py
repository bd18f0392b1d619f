"""Journalled rows into tables, each exactly once.

The transaction that inserts a journal's rows also says, in ``commits``, up to which sequence they are in. Whoever
commits reads that first and leaves out what is in already, so a kill at any moment, a lost write-ahead log, or a
journal folded in by another process neither doubles nor loses a row. Here belongs this one rule; when to commit is
``writer.py``'s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import duckdb
import orjson
import pyarrow as pa

from storage.errors import StoreDamaged
from storage.journal import Entry, dead_journals
from storage.records import now
from storage.schema import ALL_TABLES, NotStorable, PlainRow, literal
from storage.session import Lease, Session

STORED_ONCE: tuple[str, ...] = ("texts", "blobs")
"""Tables of content-addressed things: a hash that is there is not stored again."""

_UNFIT = (duckdb.ConstraintException, duckdb.ConversionException, duckdb.InvalidInputException, pa.ArrowException)


def committed(session: Session, journal: str) -> int:
    """Up to which sequence a journal's rows are in the tables."""
    rows = session.run(f"SELECT coalesce(max(sequence), 0) FROM commits WHERE journal = {literal(journal)}")
    return int(rows[0][0])


def commit_entries(session: Session, journal: str, entries: Sequence[Entry],
                   reject: Callable[[str, list[Entry]], None]) -> None:
    """Inserts a journal's entries, which follow what ``committed`` says, in one transaction.

    Args:
        session: an open store.
        journal: the journal's id.
        entries: in order of sequence; the last one is what ``committed`` says afterwards.
        reject: is given rows that no table takes, after the others are in.

    Raises:
        duckdb.Error: when the store refuses; then nothing was changed.
    """
    if not entries:
        return
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.table, []).append(entry)
    refused: list[Entry] = []
    try:
        _transact(session, journal, entries, groups)
    except _UNFIT:
        for table, rows in groups.items():
            groups[table], bad = _sift(session, table, rows)
            refused += bad
        _transact(session, journal, entries, groups)
    if refused:
        reject(journal, refused)


def _transact(session: Session, journal: str, entries: Sequence[Entry], groups: dict[str, list[Entry]]) -> None:
    session.begin()
    try:
        for table, rows in groups.items():
            if rows:
                _insert(session, table, [entry.row for entry in rows])
        session.run(f"INSERT INTO commits VALUES ({literal(journal)}, {entries[-1].sequence}, {len(entries)}, "
                    f"{literal(now().isoformat())}::TIMESTAMPTZ)")
        session.commit()
    except BaseException:
        session.rollback()
        raise


def _insert(session: Session, name: str, rows: list[PlainRow]) -> None:
    table = ALL_TABLES[name]
    if name in STORED_ONCE:
        by_hash = {row["hash"]: row for row in reversed(rows)}
        wanted = ", ".join(map(literal, by_hash))
        there = {found for (found,) in session.run(f"SELECT hash FROM {name} WHERE hash IN ({wanted})")}
        rows = [row for row in by_hash.values() if row["hash"] not in there]
    if rows:
        session.insert(name, table.batch([table.completed(row) for row in rows]))


def _sift(session: Session, table: str, entries: list[Entry]) -> tuple[list[Entry], list[Entry]]:
    """Parts the rows that the table takes from those it refuses, by halving."""
    session.begin()
    try:
        _insert(session, table, [entry.row for entry in entries])
    except (*_UNFIT, KeyError, NotStorable):
        if len(entries) == 1:
            return [], entries
    else:
        return entries, []
    finally:
        session.rollback()
    middle = len(entries) // 2
    first, second = _sift(session, table, entries[:middle]), _sift(session, table, entries[middle:])
    return first[0] + second[0], first[1] + second[1]


def keep_rejected(lease: Lease, journal: str, entries: list[Entry]) -> StoreDamaged:
    """Writes refused rows to ``rejected.rows`` beside the journals and says so; returns the error for the caller."""
    place = lease.folder / "rejected.rows"
    with place.open("ab") as file:
        for entry in entries:
            file.write(orjson.dumps([journal, *entry]) + b"\n")
    tables = ", ".join(sorted({entry.table for entry in entries}))
    message = f"{len(entries)} rows of {tables} were refused by their table and kept in {place}"
    lease.manifest.report("rows_rejected", message)
    return StoreDamaged(message)


def fold_dead(lease: Lease, session: Session) -> int:
    """Commits what dead processes left in their journals, then removes these. Returns how many rows came in."""
    folded = 0
    for journal in dead_journals(lease.folder):
        contents = journal.read()
        first = committed(session, contents.id)
        fresh = [entry for entry in contents.entries if entry.sequence > first]
        unknown = sorted({entry.table for entry in fresh} - set(ALL_TABLES))
        known = [entry for entry in fresh if entry.table in ALL_TABLES]
        commit_entries(session, contents.id, known, lambda name, rows: _told(keep_rejected(lease, name, rows)))
        folded += len(known)
        if not session.checkpoint():
            continue  # still held only in a log that could be cut: it stays, and its rows are known to be in
        if contents.damaged_lines or unknown:
            aside = journal.set_aside()
            what = (f"lines {contents.damaged_lines} do not have their checksum" if contents.damaged_lines
                    else f"it has rows of unknown tables ({', '.join(unknown)})")
            lease.manifest.report("journal_damaged", f"{aside}: {what}; its other rows were committed")
        else:
            journal.remove()
    return folded


def _told(_error: StoreDamaged) -> None:
    """The rejection was logged and written down; a dead process has no caller to raise it to."""
