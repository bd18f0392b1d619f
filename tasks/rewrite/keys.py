"""The names of versions: what can change a rewrite, and nothing else.

A version's key is known before it is made: a round's key holds its parent's key, not its parent's text. Here belongs
identity; making is ``variants.py``'s matter.
"""

from __future__ import annotations

from typing import Final

from storage.keys import step_key
from storage.records import Family
from storage.vocabulary import CONDITIONS, NULL_ARM, ORIGINAL
from tasks.rewrite.spec import Producer

REWRITE_VERSION: Final = 1
"""Raised by hand when the code of this stage changes which versions come out (the rules' engine has its own)."""
SHARED: Final = frozenset({"null_repeat", "null_recompile"})
"""Conditions in which nobody writes: all producers share them."""
PARENTS: Final[dict[str, str]] = {
    **{condition.name: condition.parent for condition in CONDITIONS}, **dict.fromkeys(NULL_ARM, ORIGINAL),
}


def original_key(family: Family) -> str:
    """The key of a family's original version."""
    return step_key("original", 1, family=family.key)


def rewrite_key(family: Family, condition: str, producer: Producer, *, captions: bool = True) -> str:
    """The key of a version, and of the step that makes it.

    Args:
        family: what is rewritten.
        condition: a condition, or one of the null arm.
        producer: who rewrites; its label is no part of the key.
        captions: whether captions are rewritten.

    Raises:
        KeyError: for an unknown condition.
    """
    parent = PARENTS[condition]
    return step_key(
        "rewrite", REWRITE_VERSION,
        family=family.key, source=family.source_hash, main=family.main_file, condition=condition,
        parent=original_key(family) if parent == ORIGINAL else rewrite_key(family, parent, producer, captions=captions),
        producer=None if condition in SHARED else producer.identity(condition),
        captions=None if condition in SHARED else captions,
    )
