"""The prompts of the variants and of their audit: one Markdown file each, whose content enters the keys.

``vary.md`` says what every variant must keep, one file a single variant says what changes, ``audit.md`` is the
auditor's. Here belongs reading them.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Final

from storage.ideas import STYLE_VARIANT
from storage.keys import canonical_json, content_hash

FOLDER: Final = resources.files("tasks.rewrite.ideas.prompts")


@cache
def idea_prompt(name: str) -> str:
    """The text of a prompt.

    Raises:
        FileNotFoundError: when there is none of that name.
    """
    return (FOLDER / f"{name}.md").read_text("utf-8").strip() + "\n"


@cache
def variant_prompts_hash(variant: str) -> str:
    """The content of every prompt that a variant uses, as one hash."""
    names = ["vary", *(STYLE_VARIANT[part].style for part in STYLE_VARIANT[variant].parts)]
    return content_hash(canonical_json([content_hash(idea_prompt(name)) for name in names]))
