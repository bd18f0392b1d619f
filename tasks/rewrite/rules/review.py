"""The rule-based reviewer: what it finds weak in a draft's presentation, counted by kind.

It reads with the same table by which the directed rewrite mends: hedges, passive voice, vague results, contributions
without a signpost. Here belongs the finding; the mending is ``engine.py``'s.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from tasks.rewrite.rules.engine import Dice, fire
from tasks.rewrite.rules.table import load_table


def review(texts: Iterable[str]) -> dict[str, int]:
    """Weak spots of masked texts by kind: ``hedge``, ``passive``, ``vague``, ``unsignposted``."""
    table = replace(load_table("feedback_guided"), rate=1.01)
    dice = Dice(0, "review")
    found = Counter(weakness.kind for text in texts for weakness in fire(table, text, dice))
    return dict(sorted(found.items()))
