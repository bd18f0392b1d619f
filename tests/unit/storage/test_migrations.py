"""A blank file and an old one come to the same tables; a newer one is left alone."""

from __future__ import annotations

import hashlib
import struct

import duckdb
import pytest

from storage.database import NEWEST_STORAGE, attach, refuse_newer
from storage.errors import StoreDamaged, StoreError, StoreTooNew
from storage.migrations import MIGRATIONS, Migration, migrate
from storage.store import open_store
from storage.views import views

NEXT = len(MIGRATIONS) + 1


@pytest.fixture
def database(tmp_path):
    connection = attach(tmp_path / "file.duckdb")
    yield connection
    connection.close()


def tables(connection):
    return connection.execute("SELECT table_name, column_name, data_type, is_nullable FROM duckdb_columns() "
                              "WHERE database_name = 'store' AND NOT internal ORDER BY ALL").fetchall()


def test_a_blank_file_gets_tables_views_and_its_history(database):
    migrate(database, "file")
    assert database.execute("SELECT version, name FROM migrations").fetchall() == [
        (migration.version, migration.name) for migration in MIGRATIONS]
    for view in views():
        assert database.execute(f"SELECT count(*) FROM {view}").fetchall() == [(0,)]
    before = tables(database)
    migrate(database, "file")
    assert tables(database) == before


def test_an_old_file_gets_the_steps_it_lacks_once_and_in_order(database):
    migrate(database, "file")
    after = [*MIGRATIONS,
             Migration(NEXT, "calls know", lambda file: file.execute("ALTER TABLE calls ADD COLUMN region VARCHAR")),
             Migration(NEXT + 1, "and have a default", lambda file: file.execute("UPDATE calls SET region = 'eu'"))]
    migrate(database, "file", after)
    migrate(database, "file", after)
    assert database.execute("SELECT version, name FROM migrations ORDER BY version").fetchall() == [
        (migration.version, migration.name) for migration in after]
    assert ("calls", "region") in {row[:2] for row in tables(database)}


def test_a_step_that_fails_leaves_the_file_as_it_was(database):
    migrate(database, "file")
    before = tables(database)

    def half(file):
        file.execute("ALTER TABLE calls ADD COLUMN region VARCHAR")
        file.execute("SELECT nonsense")

    with pytest.raises(duckdb.Error):
        migrate(database, "file", [*MIGRATIONS, Migration(NEXT, "half", half)])
    assert tables(database) == before
    assert database.execute("SELECT max(version) FROM migrations").fetchall() == [(NEXT - 1,)]


def test_the_oldest_file_comes_to_todays_tables(root, tmp_path, database):
    """The fixture is what version 1 made; it is never edited."""
    old = attach(tmp_path / "old.duckdb")
    old.execute((root / "tests/fixtures/store_v1.sql").read_text())
    migrate(old, "old")
    migrate(database, "blank")
    assert tables(old) == tables(database)
    old.close()


def test_a_newer_evenhand_is_named_and_nothing_is_touched(store, place, call):
    store.append(call("a"))
    store.close()
    with duckdb.connect(str(place)) as connection:
        connection.execute("INSERT INTO migrations VALUES (99, 'from the future', now(), '9.9.9', '2.0.1')")
    before = hashlib.sha256(place.read_bytes()).hexdigest()
    with pytest.raises(StoreTooNew, match=rf"version 99.*9\.9\.9.*knows version {NEXT - 1}"):
        open_store(place)
    assert hashlib.sha256(place.read_bytes()).hexdigest() == before


def test_a_newer_duckdb_is_named_and_nothing_is_touched(store, place):
    """B112: the version in the first bytes is higher than this library reads."""
    store.close()
    data = bytearray(place.read_bytes())
    data[12:20] = struct.pack("<Q", NEWEST_STORAGE + 1)
    data[52:60] = b"v9.8.7\0\0"
    place.write_bytes(data)
    named = rf"format is {NEWEST_STORAGE + 1}.*v9\.8\.7.*{duckdb.__version__}.*{NEWEST_STORAGE}"
    with pytest.raises(StoreTooNew, match=named):
        open_store(place)
    assert place.read_bytes() == data


def test_the_newest_format_is_the_librarys(tmp_path):
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{tmp_path / 'new.duckdb'}' AS new (STORAGE_VERSION 'latest')")
        connection.execute("CREATE TABLE new.t AS SELECT 1")
    refuse_newer(tmp_path / "new.duckdb")
    (version,) = struct.unpack("<Q", (tmp_path / "new.duckdb").read_bytes()[12:20])
    assert version == NEWEST_STORAGE


def test_other_files_are_refused_and_left(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("not a store " * 20)
    with pytest.raises(StoreDamaged, match="not a DuckDB file"):
        open_store(text)
    assert text.read_text() == "not a store " * 20
    other = tmp_path / "other.duckdb"
    with duckdb.connect(str(other)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1")
    with pytest.raises(StoreError, match="not an Evenhand store"):
        open_store(other)
    with duckdb.connect(str(other)) as connection:
        assert connection.execute("SELECT * FROM t").fetchall() == [(1,)]


def test_a_damaged_main_file_is_named_and_left(store, place, call):
    store.append(*[call(str(number), answer="x" * 3000) for number in range(200)])
    store.close()
    data = bytearray(place.read_bytes())
    data[5000] ^= 1
    place.write_bytes(data)
    with pytest.raises(StoreDamaged, match="left as it is"):
        open_store(place)
    assert place.read_bytes() == data


def test_a_record_changed_without_a_migration_is_noticed(database):
    migrate(database, "file")
    database.execute("ALTER TABLE calls DROP COLUMN provider_id")
    with pytest.raises(StoreError, match=r"lack calls\.provider_id"):
        migrate(database, "file")
