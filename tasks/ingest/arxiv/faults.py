"""Why something could not be fetched, by type: what passes, and what another try would not change."""

from __future__ import annotations


class NotFetched(Exception):
    """Nothing could be fetched this time; a later run tries again.

    ``reason``: one of ``sources.NOT_FETCHED``; ``closed`` means that the host refused others just now, so it was not
    asked.
    """

    def __init__(self, reason: str, detail: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(detail)
        self.reason, self.detail, self.retry_after_s = reason, detail, retry_after_s


class NotThere(Exception):
    """There is nothing to fetch: final. ``reason``: ``not_found``, ``withdrawn``, ``refused``, ``too_big``."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason, self.detail = reason, detail
