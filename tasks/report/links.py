"""The addresses of places on the page: one rule for Python, and the same in the page's script."""

from __future__ import annotations

from hashlib import sha256
from urllib.parse import quote


def versions_link(family: str | None = None) -> str:
    """The page that leads to what every wording changed, or a family's place on it; relative to the report."""
    place = "" if family is None else "#f-" + sha256(family.encode()).hexdigest()[:12]
    return f"versions/index.html{place}"


def judge_link(name: str) -> str:
    """The deep link to a judge's own part of the page."""
    return "#judge=" + quote(name, safe="")
