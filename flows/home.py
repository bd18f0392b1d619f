"""Where a run keeps its things on this machine: the store, Prefect's database, logs.

Only paths and their defaults. ``EVENHAND_HOME`` moves all of it; the default is ``.evenhand`` in the working directory.
"""

from __future__ import annotations

import os
from pathlib import Path


def home() -> Path:
    """The folder for everything that outlives a run; made when it is missing."""
    place = Path(os.environ.get("EVENHAND_HOME", ".evenhand")).expanduser().resolve()
    place.mkdir(parents=True, exist_ok=True)
    return place


def default_store() -> str:
    """The store's URL when ``--store`` is not given: ``EVENHAND_STORE``, else a file in ``home()``."""
    return os.environ.get("EVENHAND_STORE") or str(home() / "store.duckdb")


def log_folder() -> Path:
    """The folder for logs of runs and of the managed Prefect server."""
    place = home() / "logs"
    place.mkdir(exist_ok=True)
    return place
