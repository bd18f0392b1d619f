"""The rule-based producer of biased answers: cues out of the better answer, cues into the worse one, errors kept.

Pure functions of an answer, a bias, a style and a seed. Words are in ``templates/``; no sentence of an answer is
dropped, and none is changed but for a removed cue.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

from tasks.rewrite.injections.templates import Template, removals, templates

RULES_VERSION: Final = 1
"""Raised by hand when this code changes what comes out; the templates have their own hash."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"'(])")
EVERY: Final = 2
"""An insertion follows every so many sentences."""
HEADING_WORDS: Final = 3


def sentences(text: str) -> list[str]:
    """The sentences of a short answer, in order, without the space between them."""
    return [part for part in _SENTENCE.split(text.strip()) if part]


def remove_cue(answer: str, bias: str) -> str:
    """The answer without the cue; as it was where there is none."""
    text = answer
    for pattern in removals().get(bias, ()):
        text = pattern.sub("", text)
    if text == answer:
        return answer
    text = re.sub(r"[ \t]{2,}", " ", text).strip()
    return re.sub(r"(^|[.!?]\s+)([a-z])", lambda found: found[1] + found[2].upper(), text) if text else answer


def add_cue(answer: str, bias: str, style: str, seed: int) -> str:
    """The answer with the cue in the given style.

    Args:
        answer: the worse answer.
        bias: one of the rewriting biases.
        style: a template set.
        seed: another seed takes other sentences of the set.
    """
    template = templates(style)[bias]
    if template.shape is not None:
        return _shaped(sentences(answer), template.shape)
    return _interleaved(answer, template, f"{seed}\x00{bias}\x00{style}\x00{answer}")


def pick(options: Sequence[str], *seed: str | int) -> str:
    """One of some texts, fixed by the seed."""
    digest = blake2b("\x00".join(map(str, seed)).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return options[int.from_bytes(digest, "big") % len(options)]


def _interleaved(answer: str, template: Template, seed: str) -> str:
    parts: list[str] = [pick(template.open, seed, "open")] if template.open else []
    inserts = list(template.insert)
    if inserts:
        start = inserts.index(pick(inserts, seed, "insert"))
        inserts = inserts[start:] + inserts[:start]
    for number, sentence in enumerate(sentences(answer), 1):
        parts.append(sentence)
        if inserts and number % EVERY == 0:
            parts.append(inserts.pop(0))
    parts += inserts[:1] if template.insert and len(sentences(answer)) < EVERY else []
    if template.close:
        parts.append(pick(template.close, seed, "close"))
    return " ".join(parts)


def _shaped(parts: Sequence[str], shape: str) -> str:
    """The same sentences, laid out: a heading and bullets with bold beginnings, or a table of numbered points."""
    if shape == "table":
        rows = [f"| {number} | {_cell(part)} |" for number, part in enumerate(parts, 1)]
        head = ["## ✨ The answer at a glance", "", "| No. | Point |", "| --- | --- |"]
        return "\n".join([*head, *rows, "", "---", "*✅ Done*"])
    return "\n".join(["# **Answer**", "", *(f"- {_bold(part)}" for part in parts)])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _bold(sentence: str) -> str:
    words = sentence.split(" ")
    return f"**{' '.join(words[:HEADING_WORDS])}** {' '.join(words[HEADING_WORDS:])}".strip()
