"""The ten conditions and the null paraphrase, composed of the packaged tables.

The six single conditions are one table each. The joint rewrite applies all six in order; its rounds are the same with
other dice on the previous round's text. Here belongs which tables make up which condition; what a table says is in
``tables/``.
"""

from __future__ import annotations

from typing import Final

from tasks.rewrite.rules.engine import Dice, apply_table
from tasks.rewrite.rules.table import load_table

SINGLE: Final[tuple[str, ...]] = (
    "novelty_stance", "scope_framing", "evidence_framing", "contribution_salience", "technical_register",
    "linguistic_complexity",
)
_STAGES: Final[dict[str, tuple[str, ...]]] = {
    **{name: (name,) for name in SINGLE},
    "joint": SINGLE, "joint_r2": SINGLE, "joint_r3": SINGLE,
    "feedback_guided": ("feedback_guided",),
    "null_paraphrase": ("null_paraphrase",),
}
RULE_CONDITIONS: Final = tuple(_STAGES)
EAGERNESS: Final = 2.2
"""How readily a table among several opens sentences, against its even share of them."""
LONGEST: Final = 1.75
"""How much longer than what it is made from a text may become, in characters."""


class UnknownCondition(ValueError):
    """No table makes this condition."""


def rewrite_text(text: str, condition: str, seed: int) -> str:
    """Rewrite one masked text under one condition.

    Args:
        text: prose in which every protected span is a mask ``⟦n⟧``; for ``joint_r2`` and ``joint_r3`` that of the
            previous round.
        condition: a condition's name, or ``null_paraphrase``.
        seed: of the producer: another seed prefers other alternatives and fires in other places.

    Returns:
        The rewritten text, at most ``LONGEST`` times as long; the text itself where no rule applies.

    Raises:
        UnknownCondition: when no table makes that condition.
    """
    if condition not in _STAGES:
        raise UnknownCondition(f"the rule-based producer knows no condition called {condition!r}")
    room = LONGEST * len(text)
    stages = _STAGES[condition]
    for place, stage in enumerate(stages):
        # Each of the tables that follow is to find sentences that nothing was set before.
        share = None if len(stages) == 1 else EAGERNESS / (len(stages) - place)
        longer = apply_table(load_table(stage), text, Dice(seed, f"{condition}/{stage}"), share=share)
        if len(longer) <= room:
            text = longer
    return text
