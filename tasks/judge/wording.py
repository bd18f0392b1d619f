"""Prompts as files: Markdown with three parts, found by name, identified by content.

Here belongs reading them. A prompt is sent as it is written: there are no placeholders, so the file's hash is the
prompt's.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

from storage.errors import InputError
from storage.keys import content_hash
from storage.records import Record

PARTS = ("System", "Before", "After")
_HEADING = re.compile(r"(?m)^# (System|Before|After)[ \t]*$")


class Prompt(Record):
    """What is said to a judge around the paper."""

    system: str
    """The system message: role, form, anchors."""
    before: str
    """The user's words before the paper."""
    after: str
    """The user's words after the paper."""
    hash: str
    """Content hash of the whole file."""


def parse_prompt(text: str, where: str) -> Prompt:
    """A prompt from the text of its file.

    Args:
        text: Markdown with the headings ``# System``, ``# Before`` and ``# After``, once each, in that order.
        where: the file's name, for messages.

    Raises:
        InputError: when a part is missing, doubled, misplaced or empty.
    """
    pieces = _HEADING.split(text.replace("\r\n", "\n"))
    names, bodies = tuple(pieces[1::2]), [body.strip() for body in pieces[2::2]]
    if names != PARTS or pieces[0].strip() or not all(bodies):
        raise InputError(f"prompt {where}: needs the headings # System, # Before and # After, in that order and filled")
    return Prompt(system=bodies[0], before=bodies[1], after=bodies[2], hash=content_hash(text))


class Script(Record):
    """The words of a reviewer of several steps, by the name of each part."""

    parts: dict[str, str]
    hash: str
    """Content hash of the whole file."""

    def __getitem__(self, name: str) -> str:
        return self.parts[name]

    def filled(self, part: str, **values: object) -> str:
        """A part with its ``{name}`` marks replaced; other braces stay as they are."""
        text = self.parts[part]
        for name, value in values.items():
            text = text.replace("{" + name + "}", str(value))
        return text


_PART = re.compile(r"(?m)^# (\S.*?)[ \t]*$")


@cache
def shipped_script(package: str, name: str) -> Script:
    """The words in ``PACKAGE/prompts/NAME.md``: Markdown whose top headings name the parts."""
    text = (resources.files(package) / "prompts" / f"{name}.md").read_text(encoding="utf-8")
    pieces = _PART.split(text.replace("\r\n", "\n"))
    parts = dict(zip(pieces[1::2], (body.strip() for body in pieces[2::2]), strict=True))
    if not parts or not all(parts.values()):
        raise InputError(f"prompt {name}.md: needs headings like # System, each with a text")
    return Script(parts=parts, hash=content_hash(text))


@cache
def shipped_prompt(name: str, package: str = "tasks.judge") -> Prompt:
    """One of the prompts in ``prompts`` of a package of the judge stage."""
    file = resources.files(package) / "prompts" / f"{name}.md"
    return parse_prompt(file.read_text(encoding="utf-8"), f"{name}.md")
