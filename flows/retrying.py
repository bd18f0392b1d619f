"""Which outcomes and reasons "run what failed" means, for ``evenhand retry`` and for the parameter ``only_failed``.

Names only; that a failure is final until it is named here is the store's rule.
"""

from __future__ import annotations

from collections.abc import Sequence

from storage.vocabulary import Outcome
from tasks.rewrite.ideas.audit import FAILINGS

FINAL_REASONS = ("sets_differ", "does_not_build", "nothing_changed", "parent_excluded", "no_output")
"""Exclusions of versions that are tried again when no reason is named."""
EVERYTHING = (
    *(outcome.value for outcome in Outcome if outcome is not Outcome.answered),
    *FINAL_REASONS,
    *(reason for reason in FAILINGS if reason not in FINAL_REASONS),
)


def reasons(retry: Sequence[str] | None, only_failed: bool) -> list[str] | None:
    """The reasons to try again: those named, all when ``only_failed``, none otherwise."""
    return list(retry) if retry else list(EVERYTHING) if only_failed else None
