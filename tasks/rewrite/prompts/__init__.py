"""The prompts of the language-model producer: one Markdown file each, whose content enters the keys.

``rewrite.md`` says what every rewrite must keep, one file a condition says in which sense the prose changes, and
``batch.md``, ``retry.md``, ``repair.md`` and ``review.md`` frame the rest. Here belongs reading them.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Final

from storage.keys import canonical_json, content_hash

FRAMES: Final = ("rewrite", "batch", "retry", "repair")
_FILE_OF: Final = {"joint_r2": "joint", "joint_r3": "joint"}
FOLDER: Final = resources.files("tasks.rewrite.prompts")


@cache
def prompt(name: str) -> str:
    """The text of a prompt; of a condition's prompt by the condition's name.

    Raises:
        FileNotFoundError: when there is none of that name.
    """
    return (FOLDER / f"{_FILE_OF.get(name, name)}.md").read_text("utf-8").strip() + "\n"


@cache
def prompts_hash(condition: str) -> str:
    """The content of every prompt that a rewrite under a condition uses, as one hash."""
    frames = [*FRAMES, *(["review"] if condition == "feedback_guided" else [])]
    hashes = {name: content_hash(prompt(name)) for name in frames} | {"instruction": content_hash(prompt(condition))}
    return content_hash(canonical_json(hashes))
