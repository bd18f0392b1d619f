"""The templates: one environment for every page, in which everything is escaped and an unknown name is an error."""

from __future__ import annotations

from functools import cache
from importlib import resources

import jinja2

from tasks.report import numbers, words


@cache
def environment() -> jinja2.Environment:
    """The environment of the pages that draw nothing."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("tasks.report", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    made.filters |= {
        "number": numbers.number, "count": numbers.count, "plain": words.plain, "condition": words.condition_title,
        "money": numbers.money, "duration": numbers.duration,
    }
    return made


@cache
def stylesheet(names: tuple[str, ...]) -> str:
    """Style sheets, one after the other."""
    place = resources.files("tasks.report").joinpath("templates", "css")
    return "\n" + "\n".join(place.joinpath(name).read_text(encoding="utf-8") for name in names)
