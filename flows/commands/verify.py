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
Repair = Annotated[
    bool, typer.Option("--repair", help="Set what is damaged aside, so that the next run makes it again.")
]


def verify_command(store: Store = None, mend: Repair = False, as_json: AsJson = False) -> None:
    """Re-hash texts, blobs and keys; say what is damaged."""
