"""``evenhand plan``: what a run would take, from what is there now; makes no call."""
from __future__ import annotations
def plan() -> None:
    """What a run would take."""
