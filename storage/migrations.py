"""How a file comes to the tables of this version: numbered, named, recorded.

A blank file is made straight from the records and marked as having every migration. An older file gets those it lacks,
one transaction each. A newer one is refused before anything is touched. Whoever changes a record adds a migration here;
a test compares a migrated file with a blank one. Views are not migrated but made anew whenever their text changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

import duckdb

from storage.database import Connection
from storage.errors import StoreError, StoreTooNew
from storage.records import now
from storage.schema import ALL_TABLES, ddl
from storage.views import views

BOOKKEEPING = """
CREATE TABLE migrations (version BIGINT NOT NULL, name VARCHAR NOT NULL, "at" TIMESTAMPTZ NOT NULL,
    evenhand VARCHAR NOT NULL, duckdb VARCHAR NOT NULL);
CREATE TABLE commits (journal VARCHAR NOT NULL, sequence BIGINT NOT NULL, rows BIGINT NOT NULL,
    "at" TIMESTAMPTZ NOT NULL);
CREATE TABLE marks (name VARCHAR NOT NULL, value VARCHAR NOT NULL);
CREATE TABLE set_aside (table_name VARCHAR NOT NULL, reason VARCHAR NOT NULL, row_json VARCHAR NOT NULL,
    "at" TIMESTAMPTZ NOT NULL);
COMMENT ON TABLE migrations IS 'Which migrations this file has had, by which program.';
COMMENT ON TABLE commits IS 'Up to which row each journal is in the tables: written in the transaction of the rows.';
COMMENT ON TABLE marks IS 'Facts about the file itself, such as the fingerprint of its views.';
COMMENT ON TABLE set_aside IS 'Rows that verify --repair took out of the tables, as JSON, and why.';
"""
COUNTED: tuple[str, ...] = (*ALL_TABLES, "commits", "set_aside")
"""The tables whose row counts the manifest promises."""


class Migration(NamedTuple):
    """One step from a version of the tables to the next."""

    version: int
    name: str
    apply: Callable[[Connection], None]


def _first(_connection: Connection) -> None:
    raise StoreError("a file without tables is made from the records, not migrated")


_WORKS = """
CREATE TABLE works ("at" TIMESTAMPTZ NOT NULL, key VARCHAR NOT NULL, place BIGINT NOT NULL,
    title VARCHAR NOT NULL, abstract VARCHAR NOT NULL, year BIGINT, authors VARCHAR[] NOT NULL, doi VARCHAR NOT NULL,
    venue VARCHAR NOT NULL, provider VARCHAR NOT NULL, provider_id VARCHAR NOT NULL, query VARCHAR NOT NULL,
    provider_rank BIGINT NOT NULL, score DOUBLE NOT NULL CHECK (NOT isnan(score)),
    fetched_at TIMESTAMPTZ NOT NULL, flags VARCHAR[] NOT NULL);
"""


def _works(connection: Connection) -> None:
    connection.execute(_WORKS)


MIGRATIONS: tuple[Migration, ...] = (
    Migration(1, "first tables", _first),
    Migration(2, "works of the literature", _works),
)


def our_version() -> str:
    """The version of this Evenhand."""
    try:
        return version("evenhand")
    except PackageNotFoundError:
        return "unpackaged"


def _record(connection: Connection, migration: Migration) -> None:
    connection.execute("INSERT INTO migrations VALUES (?, ?, ?, ?, ?)",
                       [migration.version, migration.name, now(), our_version(), duckdb.__version__])


def _make_views(connection: Connection) -> None:
    made = views()
    fingerprint = hashlib.sha256(repr(made).encode()).hexdigest()
    if connection.execute("SELECT value FROM marks WHERE name = 'views'").fetchall() == [(fingerprint,)]:
        return
    connection.execute("BEGIN")
    for name, query in made.items():
        connection.execute(f"CREATE OR REPLACE VIEW {name} AS {query}")
    connection.execute("DELETE FROM marks WHERE name = 'views'")
    connection.execute("INSERT INTO marks VALUES ('views', ?)", [fingerprint])
    connection.execute("COMMIT")


def _check_columns(connection: Connection, where: str) -> None:
    rows = connection.execute("SELECT table_name, column_name FROM duckdb_columns() "
                              "WHERE database_name = current_database()").fetchall()
    present = set(rows)
    wanted = {(table.name, column.name) for table in ALL_TABLES.values() for column in table.columns}
    if missing := sorted(wanted - present):
        names = ", ".join(f"{table}.{column}" for table, column in missing)
        raise StoreError(f"{where}: its tables lack {names}: the records were changed without a migration")


def migrate(connection: Connection, where: str, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Brings the current database of the connection to the tables of this version.

    Args:
        connection: on the store's database, with nobody else on it.
        where: the file's name, for messages.
        migrations: all that there are, oldest first.

    Raises:
        StoreTooNew: when the file has had a migration that is not among them. Nothing is changed then.
        StoreError: when its tables are not what its recorded version says.
    """
    names = {name for (name,) in connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE database_name = current_database()").fetchall()}
    if not names:
        connection.execute("BEGIN")
        connection.execute(BOOKKEEPING)
        connection.execute(ddl())
        for migration in migrations:
            _record(connection, migration)
        connection.execute("COMMIT")
    elif "migrations" not in names:
        raise StoreError(f"{where}: this DuckDB file is not an Evenhand store: name another file with --store")
    had, writer = connection.execute("SELECT max(version), arg_max(evenhand, version) FROM migrations").fetchall()[0]
    newest = migrations[-1].version
    if had > newest:
        raise StoreTooNew(f"{where}: its tables are version {had}, written by Evenhand {writer}; this Evenhand "
                          f"({our_version()}) knows version {newest}: install the newer one, or name another store")
    for migration in migrations:
        if migration.version > had:
            connection.execute("BEGIN")
            try:
                migration.apply(connection)
                _record(connection, migration)
                connection.execute("COMMIT")
            except duckdb.Error:
                connection.execute("ROLLBACK")
                raise
    _check_columns(connection, where)
    _make_views(connection)
