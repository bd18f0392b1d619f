"""What an answer says about a pair: the verdict, as a pure function of the answer's text.

Rules, in order:
1. Thoughts are no verdict: everything up to the last ``</think>`` is left aside. An answer that opens ``<think>`` and
   never closes it has not come to a verdict: ``unclosed_thought``.
2. A verdict is a word between double square brackets: ``[[A]]``, ``[[B]]``. Letters count as they are written:
   ``[[a]]``, ``[A]`` and a bare ``A`` are none.
3. Exactly one verdict: the same one twice is one (``repeated_verdict``), two different ones are ``two_verdicts``.
4. ``[[C]]``, ``[[tie]]`` and the like are verdicts too, and not among those asked for: ``no_choice``.

What is not one of the two verdicts is unparsable; nothing is ever filled in.
"""

from __future__ import annotations

import re

from storage.vocabulary import Outcome
from tasks.judge.parse import Parsed

VERDICT_PARSER = "verdict/1"
"""Name and version of the rules above: raised by hand when they change, so that kept answers are read again."""
FIRST, SECOND, TIE = 1.0, 0.0, 0.5
"""The ``overall`` score of a judgement about a pair: how much of the preference goes to the answer shown first."""
_VERDICT = re.compile(r"\[\[([^\[\]\n]{1,20})\]\]")


def parse_verdict(answer: str) -> Parsed:
    """The verdict of an answer.

    Args:
        answer: the answer's text, JSON or prose.

    Returns:
        ``answered`` with ``overall`` 1 for A and 0 for B, or ``unparsable`` with its reason.
    """
    thoughts, closed, said = answer.rpartition("</think>")
    if "<think>" in (said if closed else answer):
        return Parsed(outcome=Outcome.unparsable, reason="unclosed_thought")
    flags = ["thoughts"] if closed and thoughts.strip() else []
    found = _VERDICT.findall(said)
    different = set(found)
    if not found:
        return Parsed(outcome=Outcome.unparsable, reason="no_verdict", flags=flags)
    if len(different) > 1:
        return Parsed(outcome=Outcome.unparsable, reason="two_verdicts", flags=flags)
    (verdict,) = different
    if verdict not in ("A", "B"):
        return Parsed(outcome=Outcome.unparsable, reason="no_choice", flags=flags)
    if len(found) > 1:
        flags.append("repeated_verdict")
    score = FIRST if verdict == "A" else SECOND
    return Parsed(outcome=Outcome.answered, scores={"overall": score}, flags=flags)
