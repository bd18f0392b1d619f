"""Is what is stored what was stored? Re-hashing everything, and setting aside what is not.

``verify`` only looks. ``repair`` moves damaged rows into the table ``set_aside`` and damaged blobs into the folder
``damaged``, together with the rows that were made from them, so that the next run makes them again. Nothing is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal

import orjson
import pyarrow as pa

from storage.errors import StoreDamaged
from storage.keys import ALGORITHM, content_hash
from storage.records import Call, Record, TableRecord, now
from storage.schema import ALL_TABLES, MOMENT, literal
from storage.session import Session
from storage.store import Store

Derive = Mapping[str, Callable[[TableRecord], str | None]]
"""By table: the key that a row's other fields imply; None where they do not."""

_CHUNK = 500
_HASH = f"{ALGORITHM}:[0-9a-f]{{64}}"
_TEXT_FIELDS = {"families": ("text_hash", "abstract_hash", "protected_hash"), "versions": ("text_hash",)}
_BLOB_FIELDS = {"families": ("source_hash", "pdf_hash"), "versions": ("source_hash", "pdf_hash")}


class Damage(Record):
    """One thing that is not as it was stored."""

    kind: Literal["text_changed", "text_missing", "blob_changed", "blob_missing", "key_changed", "incident"]
    table: str | None
    key: str | None
    """The hash or key of what is damaged."""
    detail: str


def verify(store: Store, derive: Derive | None = None) -> list[Damage]:
    """Re-hashes every text and blob, checks that what rows refer to is there, and derives keys where it can.

    Args:
        store: an open store.
        derive: by table (``calls``), how a key follows from a row; the stage that makes the keys knows.

    Returns:
        What is damaged, and the incidents noticed earlier (lost rows, set-aside logs), which need no repair.

    Raises:
        StoreDamaged: when the file itself cannot be read.
    """
    found = [*_texts(store), *_text_references(store), *_blobs(store), *_keys(store, derive or {})]
    found += [Damage(kind="incident", table=None, key=None, detail=f"{incident.at:%Y-%m-%d %H:%M:%S} {incident.detail}")
              for incident in store.lease.manifest.incidents()]
    return found


def repair(store: Store, damages: Sequence[Damage]) -> int:
    """Sets damaged things aside, with the rows made from them, so that their steps are made again.

    Args:
        store: an open store.
        damages: what ``verify`` found.

    Returns:
        How many rows were set aside.
    """
    hashes: dict[str, list[str]] = {"text": [], "blob": []}
    for damage in damages:
        kind = damage.kind.partition("_")[0]
        if kind in hashes and damage.key:
            hashes[kind].append(damage.key)
    keys = [damage.key for damage in damages if damage.kind == "key_changed" and damage.key]
    for name in hashes["blob"]:
        store.blobs.set_aside(name)
    with store.session() as session:
        session.begin()
        try:
            moved = _repair_rows(session, hashes, keys)
            session.commit()
        except BaseException:
            session.rollback()
            raise
        session.checkpoint()
    store.forget()
    if moved:
        store.lease.manifest.report("repaired", f"{store.url}: {moved} rows were set aside, to be made again")
    return moved


def _texts(store: Store) -> Iterator[Damage]:
    for rows in _chunks(store, "SELECT hash FROM texts"):
        frame = pa.table({"hash": pa.array(rows, pa.string())})
        texts = store.query("SELECT hash, text FROM texts WHERE hash IN (SELECT hash FROM wanted)",
                            frames={"wanted": frame})
        for name, text in texts.iter_rows():
            if content_hash(text) != name:
                yield Damage(kind="text_changed", table="texts", key=name,
                             detail=f"the text {name} is not what its name says")


def _text_references(store: Store) -> Iterator[Damage]:
    for table, fields in _TEXT_FIELDS.items():
        for field in fields:
            absent = store.query(f"SELECT DISTINCT {field} FROM {table}_best WHERE {field} IS NOT NULL "
                                 f"AND {field} NOT IN (SELECT hash FROM texts)")
            for (name,) in absent.iter_rows():
                yield Damage(kind="text_missing", table=table, key=name,
                             detail=f"the text {name} ({table}.{field}) is gone")
    prompts = store.query(
        f"SELECT DISTINCT hash FROM (SELECT unnest(regexp_extract_all(messages, '{_HASH}')) AS hash FROM calls) "
        "WHERE hash NOT IN (SELECT hash FROM texts) AND hash NOT IN (SELECT hash FROM blobs) ORDER BY hash")
    for (name,) in prompts.iter_rows():
        yield Damage(kind="text_missing", table="calls", key=name,
                     detail=f"the prompt {name} is gone: the answers to it are good, and the next run stores it again")


def _blobs(store: Store) -> Iterator[Damage]:
    names = store.query("SELECT DISTINCT hash FROM blobs ORDER BY hash")["hash"].to_list()
    for name in names:
        try:
            store.blobs.get(name)
        except StoreDamaged as error:
            kind: Literal["blob_changed", "blob_missing"] = "blob_changed" if store.blobs.has(name) else "blob_missing"
            yield Damage(kind=kind, table="blobs", key=name, detail=str(error))


def _keys(store: Store, derive: Derive) -> Iterator[Damage]:
    for name, key_of in derive.items():
        record = ALL_TABLES[name].record
        identity = "attempt_id" if record is Call else "key"
        for keys in _chunks(store, f"SELECT DISTINCT key FROM {name}"):
            for row in store.load(record, keys, view=False):
                key, derived = getattr(row, "key"), key_of(row)  # noqa: B009 - of tables with keys only
                if derived is not None and derived != key:
                    yield Damage(kind="key_changed", table=name, key=getattr(row, identity),
                                 detail=f"a row of {name} has the key {key}, its fields say {derived}")


def _chunks(store: Store, sql: str) -> Iterator[list[str]]:
    names = [name for (name,) in store.query(sql).iter_rows()]
    for start in range(0, len(names), _CHUNK):
        yield names[start:start + _CHUNK]


def _repair_rows(session: Session, hashes: Mapping[str, list[str]], keys: list[str]) -> int:
    moved = _move(session, "texts", f"hash IN {_list(hashes['text'])}", "its text was damaged")
    moved += _move(session, "blobs", f"hash IN {_list(hashes['blob'])}", "its blob was damaged")
    remake: set[str] = set()
    for kind, fields_by_table in (("text", _TEXT_FIELDS), ("blob", _BLOB_FIELDS)):
        for table, fields in fields_by_table.items():
            where = " OR ".join(f"{field} IN {_list(hashes[kind])}" for field in fields)
            remake |= {key for (key,) in session.run(f"SELECT key FROM {table} WHERE {where}")}
            moved += _move(session, table, where, f"a {kind} of it was damaged")
    moved += _move(session, "steps", f"key IN {_list(remake)}", "what it made was damaged")
    for name in {*hashes["text"], *hashes["blob"]}:
        moved += _move(session, "steps", f"contains(output, {literal(name)})", "what it made was damaged")
    moved += _move(session, "judgements", f"list_has_any(attempt_ids, {_array(keys)}) OR key IN {_list(keys)}",
                   "its key, or a call of it, was damaged")
    moved += _move(session, "calls", f"attempt_id IN {_list(keys)}", "its key is not what its fields say")
    for table in ("steps", "families", "versions"):
        moved += _move(session, table, f"key IN {_list(keys)}", "its key is not what its fields say")
    return moved


def _move(session: Session, table: str, where: str, reason: str) -> int:
    names = [column.name for column in ALL_TABLES[table].columns]
    rows = session.run(f"SELECT {', '.join(map(_quoted, names))} FROM {table} WHERE {where}")
    if not rows:
        return 0
    session.insert("set_aside", pa.table({
        "table_name": [table] * len(rows), "reason": [reason] * len(rows),
        "row_json": [orjson.dumps(dict(zip(names, row, strict=True))).decode() for row in rows],
        "at": pa.array([now()] * len(rows), MOMENT),
    }))
    session.run(f"DELETE FROM {table} WHERE {where}")
    return len(rows)


def _quoted(name: str) -> str:
    return f'"{name}"'


def _list(values: Iterable[str]) -> str:
    return "(" + (", ".join(map(literal, sorted(values))) or "NULL") + ")"


def _array(values: Iterable[str]) -> str:
    return "[" + ", ".join(map(literal, sorted(values))) + "]::VARCHAR[]"
