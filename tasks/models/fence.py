"""The fence around quoted material in a prompt: what lies inside is data, and nothing inside can close it.

The fence's tag is made from the content it encloses, so a text that contained its own closing line would have to
contain its own hash. Equal content has an equal fence, so prompts stay the same from run to run.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from storage.keys import content_hash

TAG_DIGITS = 24


class Fence(NamedTuple):
    """The two lines that enclose one text."""

    opening: str
    closing: str


def fence(content: str | None = None, *, hash_of_content: str | None = None, label: str = "PAPER") -> Fence:
    """The fence of a text.

    Args:
        content: the text to be enclosed, or
        hash_of_content: its content hash, where that is already known.
        label: what kind of material it is, in capitals.

    Raises:
        ValueError: when neither is given.
    """
    name = hash_of_content if hash_of_content is not None else content_hash(content) if content is not None else None
    if name is None:
        raise ValueError("a fence needs the text or its hash")
    tag = name.rsplit(":", 1)[-1][:TAG_DIGITS]
    return Fence(f"-----BEGIN {label} {tag}-----\n", f"\n-----END {label} {tag}-----\n")


_OPENING = re.compile(rf"-----BEGIN ([A-Z ]+?) ([0-9a-f]{{{TAG_DIGITS}}})-----[ \t]*\n")


def unfenced(prompt: str, label: str = "PAPER") -> str | None:
    """The text inside the first whole fence of that label in a prompt, or None when there is none."""
    for found in _OPENING.finditer(prompt):
        if found.group(1) != label:
            continue
        end = prompt.find(f"-----END {label} {found.group(2)}-----", found.end())
        if end >= 0:
            inside = prompt[found.end():end]
            return inside[:-1] if inside.endswith("\n") else inside
    return None
