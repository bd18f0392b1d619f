"""The words of injections as data: two sets of templates per bias, and what is removed from the better answer.

Here belongs reading and checking the YAML files in ``templates/``. Their content enters the keys.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import Final, Literal

import yaml
from pydantic import model_validator

from storage.keys import canonical_json, content_hash
from storage.records import Record
from storage.vocabulary import BIAS_NAMES, TEMPLATE_SETS

FOLDER: Final = resources.files("tasks.rewrite.injections") / "templates"


class Template(Record):
    """How one bias is injected by rules, in one style."""

    open: tuple[str, ...] = ()
    insert: tuple[str, ...] = ()
    close: tuple[str, ...] = ()
    shape: Literal["bullets", "table"] | None = None
    """For beauty: how the answer is laid out."""
    prefix: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    """At the end of the prompt; ``{rejected}`` is the letter of the worse answer."""
    between: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _fills_something(self) -> Template:
        if not any((self.open, self.insert, self.close, self.shape, self.prefix, self.after, self.between)):
            raise ValueError("a template needs at least one of open, insert, close, shape, prefix, after, between")
        return self

    @property
    def hash(self) -> str:
        """Identity of the template: its words."""
        return content_hash(canonical_json(self.model_dump(mode="json")))


@cache
def templates(style: str) -> dict[str, Template]:
    """The templates of a style by bias (position needs none).

    Raises:
        ValueError: for an unknown style, or a file that lacks a bias.
    """
    if style not in TEMPLATE_SETS:
        raise ValueError(f"unknown template set {style!r}; known are {', '.join(TEMPLATE_SETS)}")
    read = yaml.safe_load((FOLDER / f"{style}.yaml").read_text("utf-8"))
    found = {bias: Template.model_validate(fields) for bias, fields in read.items()}
    if set(found) != set(BIAS_NAMES) - {"position"}:
        raise ValueError(f"{style}.yaml has not exactly one template for each bias")
    return found


@cache
def removals() -> dict[str, tuple[re.Pattern[str], ...]]:
    """What is taken out of the better answer, by bias."""
    read = yaml.safe_load((FOLDER / "remove.yaml").read_text("utf-8"))
    return {bias: tuple(re.compile(pattern) for pattern in patterns) for bias, patterns in read.items()}


@cache
def removals_hash() -> str:
    """Identity of the removals."""
    return content_hash((FOLDER / "remove.yaml").read_text("utf-8"))
