"""Heavy libraries, loaded when something of them is first used: looking into a store must not wait for a PDF library.

For third-party modules only; our own are imported plainly, so that the import rules can be checked.
"""

from __future__ import annotations

import importlib
from typing import Any


class LazyModule:
    """Stands for a module until an attribute of it is asked for; safe between threads, as imports are."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self._name), attribute)
