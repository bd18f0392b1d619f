"""The form on which people compare versions with their originals: one self-contained page that makes a CSV.

Records in, HTML out. It sends nothing anywhere: verdicts stay in the browser until they are saved as a file.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources
from typing import NamedTuple

from markupsafe import Markup

from tasks.report.changes import Run
from tasks.report.environment import environment, stylesheet
from tasks.report.version_page import Part

STYLES = ("tokens.css", "versions.css", "audit.css")


class Question(NamedTuple):
    """One thing that is asked about every comparison."""

    name: str
    text: str
    options: tuple[str, ...]


class Item(NamedTuple):
    """One comparison."""

    id: str
    title: str
    parts: list[Part]


def audit_form(title: str, items: Sequence[Item], questions: Sequence[Question]) -> str:
    """The form as one page.

    Args:
        title: what is audited.
        items: the comparisons in the order they are shown; who wrote what is not on the page.
        questions: asked about each.
    """
    script = resources.files("tasks.report").joinpath("templates", "js", "audit.js").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    return (
        environment()
        .get_template("audit.html.j2")
        .render(
            title=title, items=items, questions=questions, style=Markup(stylesheet(STYLES)),  # noqa: S704 - our files
            script=Markup(script), script_hash=digest, before=before, after=after,  # noqa: S704
        )
    )


def before(runs: Sequence[Run]) -> list[Run]:
    """The original's side of a passage."""
    return [run for run in runs if run.kind != "new"]


def after(runs: Sequence[Run]) -> list[Run]:
    """The version's side of a passage."""
    return [run for run in runs if run.kind != "gone"]
