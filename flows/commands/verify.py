"""``evenhand verify``: does the store still hold what was put into it?"""

from __future__ import annotations

from typing import Annotated

import typer

from flows.commands.console import emit, say
from flows.home import default_store
from storage.store import open_store
from storage.verify import repair, verify

Store = Annotated[str | None, typer.Option("--store", help="URL of the store; default: .evenhand/store.duckdb.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Repair = Annotated[bool, typer.Option("--repair", help="Set what is damaged aside; the next run makes it again.")]


def verify_command(store: Store = None, mend: Repair = False, as_json: AsJson = False) -> None:
    """Re-hash texts, blobs and keys; say what is damaged."""
    opened = open_store(store or default_store())
    found = verify(opened)
    damaged = [damage for damage in found if damage.kind != "incident"]
    aside = repair(opened, damaged) if mend and damaged else 0
    if as_json:
        emit({"damage": [damage.model_dump() for damage in found], "rows_set_aside": aside})
    else:
        for damage in found:
            say(" ".join(part for part in (damage.kind, damage.table, damage.key, damage.detail) if part))
        if not damaged:
            say(f"{opened.url}: everything stored is what was stored")
        elif mend:
            say(f"{len(damaged)} damaged, {aside} rows set aside: the next run makes them again")
        else:
            say(f"{len(damaged)} damaged: `evenhand verify --repair` sets them aside, to be made again")
    if damaged and not mend:
        raise typer.Exit(1)
