"""The addresses of places on the page: one rule for Python, and the same in the page's script."""

from __future__ import annotations

from urllib.parse import quote


def judge_link(name: str) -> str:
    """The deep link to a judge's own part of the page."""
    return "#judge=" + quote(name, safe="")
