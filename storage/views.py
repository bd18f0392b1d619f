"""Which row of a key counts: the views of the store, in SQL.

Tables keep every attempt; a view takes the right one. A success outlives a later failed retry. Here belong these rules
and nothing else; tables are declared in ``records.py``.
"""

from __future__ import annotations

from collections.abc import Collection

from storage.schema import ALL_TABLES, literal
from storage.vocabulary import TRANSIENT

BEST_FIRST: dict[str, str] = {
    "steps": "(outcome IN ('done', 'excluded')) DESC, \"at\" DESC, rowid DESC",
    "calls": "(outcome = 'answered') DESC, \"at\" DESC, rowid DESC",
    "judgements": "(outcome = 'answered') DESC, \"at\" DESC, rowid DESC",
    "families": "\"at\" DESC, rowid DESC",
    "versions": "\"at\" DESC, rowid DESC",
}
"""By table: the order of a key's rows, the one that counts first."""

_TRANSIENT = ", ".join(sorted(literal(outcome.value) for outcome in TRANSIENT))


def settled(table: str, retry: Collection[str] = ()) -> str:
    """The query of the keys whose matter is ended.

    Args:
        table: a table with keys.
        retry: outcomes (for steps: reasons) that end nothing this time; an answer and ``done`` always do.
    """
    again = ", ".join(map(literal, sorted(retry))) or "NULL"
    if table in ("calls", "judgements"):
        if not retry:
            return f"SELECT key FROM {table} WHERE outcome NOT IN ({_TRANSIENT})"
        return (f"SELECT key FROM {table} WHERE outcome NOT IN ({_TRANSIENT}) GROUP BY key "
                f"HAVING bool_or(outcome = 'answered') OR arg_max(outcome, \"at\") NOT IN ({again})")
    if table == "steps":
        if not retry:
            return "SELECT key FROM steps WHERE outcome IN ('done', 'excluded')"
        return (f"SELECT key FROM ({best('steps')}) WHERE outcome = 'done' "
                f"OR (outcome = 'excluded' AND coalesce(reason, '') NOT IN ({again}))")
    return f"SELECT key FROM {table}"


def best(table: str, keys: str | None = None) -> str:
    """The query of the row that counts for each key.

    Args:
        table: a table with keys.
        keys: a relation with a column ``key`` to look no further than; None is all.
    """
    among = f" WHERE key IN (SELECT key FROM {keys})" if keys else ""
    columns = ", ".join(f'"{column.name}"' for column in ALL_TABLES[table].columns)
    return (f"SELECT {columns} FROM {table}{among} "
            f"QUALIFY row_number() OVER (PARTITION BY key ORDER BY {BEST_FIRST[table]}) = 1")


def views() -> dict[str, str]:
    """Name -> query, in the order they are made."""
    made = {f"{table}_best": best(table) for table in BEST_FIRST}
    made["calls_answered"] = "SELECT * FROM calls WHERE outcome = 'answered'"
    made["scores"] = (
        "SELECT key, run_id, protocol, base_url, model, version_hash, repeat, entry.key AS dimension, "
        "entry.value AS value, \"at\" FROM (SELECT *, unnest(map_entries(scores)) AS entry FROM judgements_best "
        "WHERE outcome = 'answered')"
    )
    return made
