"""Verb forms: what the tables need to write one verb once.

Here belongs regular inflection and the irregular verbs that the tables use. It is no general morphology.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Forms(NamedTuple):
    """The forms of a verb."""

    base: str
    third: str
    past: str
    participle: str
    gerund: str


_IRREGULAR: Final[dict[str, tuple[str, str]]] = {
    "be": ("was", "been"), "become": ("became", "become"), "begin": ("began", "begun"), "build": ("built", "built"),
    "choose": ("chose", "chosen"), "draw": ("drew", "drawn"), "find": ("found", "found"), "get": ("got",
    "obtained"), "give": ("gave", "given"), "go": ("went", "gone"), "hold": ("held", "held"), "keep": ("kept",
    "kept"), "lead": ("led", "led"), "let": ("let", "let"), "make": ("made", "made"), "put": ("put", "put"), "run":
    ("ran", "run"), "see": ("saw", "seen"), "set": ("set", "set"), "shed": ("shed", "shed"), "show": ("showed",
    "shown"), "take": ("took", "taken"), "think": ("thought", "thought"), "undertake": ("undertook", "undertaken"),
    "write": ("wrote", "written"), "bring": ("brought", "brought"), "underlie": ("underlay", "underlain"), "arise":
    ("arose", "arisen"), "uphold": ("upheld", "upheld"),
}
_DOUBLING: Final = frozenset(
    {"get", "let", "put", "run", "set", "stop", "plan", "occur", "refer", "transfer", "begin", "permit"}
)
_VOWELS: Final = "aeiou"


def _third(verb: str) -> str:
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return verb + "es"
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return verb[:-1] + "ies"
    return verb + "s"


def _past(verb: str) -> str:
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return verb[:-1] + "ied"
    return verb + (verb[-1] if verb in _DOUBLING else "") + "ed"


def _gerund(verb: str) -> str:
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")):
        return verb[:-1] + "ing"
    return verb + (verb[-1] if verb in _DOUBLING else "") + "ing"


def _inflected(verb: str) -> Forms:
    past, participle = _IRREGULAR.get(verb, (_past(verb), _past(verb)))
    return Forms(verb, _third(verb), past, participle, _gerund(verb))


def forms(phrase: str) -> Forms:
    """The forms of a verb or verb phrase; an adverb in -ly before the verb stays as it is.

    Args:
        phrase: the base form, e.g. ``"show"``, ``"give rise to"``, ``"clearly show"``.
    """
    words = phrase.split(" ")
    head = 1 if words[0].endswith("ly") and len(words) > 1 else 0
    before, after = words[:head], words[head + 1:]
    return Forms(*(" ".join([*before, form, *after]) for form in _inflected(words[head])))
