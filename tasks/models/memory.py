"""What was answered before: paid-for answers by the key of their ask, so that nothing is bought twice.

Here belongs recall. Whether a recalled answer still parses, and what it scores, is decided by who asks: parsers change,
raw answers stay.
"""

from __future__ import annotations

from collections.abc import Iterable

from storage.records import Call
from storage.store import Store
from storage.vocabulary import Outcome


def recall(store: Store, keys: Iterable[str]) -> dict[str, list[Call]]:
    """The answered attempts of each ask, the oldest first, in one query.

    Args:
        store: where calls are remembered.
        keys: keys of asks.

    Returns:
        Only the keys that were answered at least once.
    """
    wanted = list(dict.fromkeys(keys))
    if not wanted:
        return {}
    found: dict[str, list[Call]] = {}
    for call in store.load(Call, wanted, view=False):
        if call.outcome is Outcome.answered:
            found.setdefault(call.key, []).append(call)
    for calls in found.values():
        calls.sort(key=lambda call: (call.started_at, call.attempt))
    return found
