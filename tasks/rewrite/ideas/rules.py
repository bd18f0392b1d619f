"""The rule-based producer of variants: pure functions of an idea, a variant and a seed.

Styles add sentences and exchange words; changes of substance edit the fields. Facts, numbers and names of an idea stay
as they are under every style. Words are in ``templates.yaml``, ``words.yaml`` and the tables of ``rewrite.rules``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import blake2b
from importlib import resources
from typing import Final

import yaml

from storage.ideas import STYLE_VARIANT, Idea
from storage.keys import canonical_json, content_hash
from tasks.rewrite.ideas.draft import Draft, Sentence, added
from tasks.rewrite.ideas.templates import additions, replacements, templates_hash
from tasks.rewrite.rules.conditions import rewrite_text
from tasks.rewrite.rules.language import capitalised, mend_articles
from tasks.rewrite.rules.table import tables_hash

IDEA_RULES_VERSION: Final = 1
"""Raised by hand when this code changes what comes out; words have their own hashes."""
WORDS: Final = resources.files("tasks.rewrite.ideas") / "words.yaml"
_TABLES: Final = {"grand": "scope_framing", "overconfident": "evidence_framing", "novelty": "novelty_stance",
                  "verbose": "linguistic_complexity"}
"""Tables of the paper conditions that go in a style's direction."""


_LOST_CAPITAL: Final = re.compile(r"(?<=[a-z]{3}\. )[a-z]")
"""Where an exchange began a sentence."""


class _Dice:
    """Choices fixed by the seed and by what is chosen for."""

    def __init__(self, idea: Idea, style: str, seed: int) -> None:
        self._salt = f"{seed}\x00{style}\x00{idea.title}"

    def roll(self, *what: object) -> int:
        joined = "\x00".join([self._salt, *map(str, what)]).encode("utf-8", "surrogatepass")
        return int.from_bytes(blake2b(joined, digest_size=8).digest(), "big")

    def pick(self, options: Sequence[str], *what: object) -> str:
        return options[self.roll(*what) % len(options)]


def _filled(text: str, idea: Idea) -> str:
    topic = idea.concepts[0] if idea.concepts else idea.title[:1].lower() + idea.title[1:]
    variables = [*idea.variables, "the outcome", "the treatment"]
    said = text.format(topic=topic, domain=idea.domain.lower(), v0=variables[0], v1=variables[1])
    return capitalised(mend_articles(said))


@cache
def _words(name: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    lists: dict[str, dict[str, str]] = yaml.safe_load(WORDS.read_text("utf-8"))
    return tuple((re.compile(pattern), said) for pattern, said in lists[name].items())


def _exchanged(text: str, name: str) -> str:
    for pattern, said in _words(name):
        text = pattern.sub(said, text)
    text = _LOST_CAPITAL.sub(lambda found: found[0].upper(), text)
    return capitalised(mend_articles(re.sub(r" {2,}", " ", text).strip()))


def _styled(draft: Draft, style: str, seed: int) -> Draft:
    """A style: words of its table in the idea's own sentences, and its own sentences around them."""
    dice, said = _Dice(draft.idea, style, seed), additions(style)
    table = _TABLES.get(style)
    if table is not None:
        draft = draft.reworded(lambda text: rewrite_text(text, table, seed))
    if style == "overconfident":
        draft = draft.reworded(lambda text: _exchanged(text, "confident"))
    place = dice.roll("first")
    for name, sentences in draft.prose.items():
        if not sentences:
            continue
        made: list[Sentence] = []
        if name in said.open:
            made += added((_filled(dice.pick(said.open[name], name, "open"), draft.idea),))
        for number, sentence in enumerate(sentences, 1):
            made.append(sentence)
            if said.after and name != "limitations" and number % said.every == 0 and not sentence.is_added:
                made += added((_filled(said.after[place % len(said.after)], draft.idea),))
                place += 1
        if name in said.close:
            made += added((_filled(dice.pick(said.close[name], name, "close"), draft.idea),))
        draft = draft.with_prose(name, tuple(made))
    return draft


def _paraphrased(draft: Draft, seed: int) -> Draft:
    return draft.reworded(lambda text: _exchanged(rewrite_text(text, "null_paraphrase", seed), "paraphrase"))


def _plain(draft: Draft, seed: int) -> Draft:  # noqa: ARG001 - all makers are called alike
    return draft.reworded(lambda text: _exchanged(text, "plain"))


def _hollow(draft: Draft, seed: int) -> Draft:
    """The idea's own sentences go where substance stands; what a style added stays."""
    dice = _Dice(draft.idea, "hollow", seed)
    for name, texts in replacements("hollow").items():
        if name == "variables":
            draft = Draft(draft.idea, draft.prose, texts)
            continue
        kept = [sentence for sentence in draft.prose[name] if sentence.is_added]
        first = dice.roll(name) % len(texts)
        said = [Sentence(_filled(text, draft.idea)) for text in (*texts[first:], *texts[:first])]
        # Openings stay before, closings behind what replaces the substance.
        draft = draft.with_prose(name, tuple([*kept[:1], *said, *kept[1:]]))
    return draft


_RIGOUR: Final = re.compile(
    r"\b(?:compar\w+|control\w*|placebo|random\w*|blind\w*|register\w*|interval|baseline|held[- ]out|covariate"
    r"|test that)\b",
    re.IGNORECASE,
)


def _flawed(draft: Draft, seed: int) -> Draft:
    """A logical weakness comes in, what would guard against it goes, and nobody admits it."""
    dice = _Dice(draft.idea, "flawed", seed)
    for name, texts in replacements("flawed").items():
        sentences = draft.prose[name]
        if name == "evaluation":
            sentences = tuple(one for one in sentences if one.is_added or not _RIGOUR.search(one.text))
        first = dice.roll(name) % len(texts)
        chosen = texts if name == "evaluation" else (texts[first],)
        said = tuple(Sentence(_filled(text, draft.idea)) for text in chosen)
        draft = draft.with_prose(name, (*sentences, *said))
    return draft.with_prose("limitations", tuple(one for one in draft.prose["limitations"] if one.is_added))


def _enriched(draft: Draft, seed: int) -> Draft:  # noqa: ARG001 - all makers are called alike
    """Predictions that can fail, controls and a plan of analysis are added."""
    for name, texts in replacements("enriched").items():
        said = tuple(Sentence(_filled(text, draft.idea)) for text in texts)
        draft = draft.with_prose(name, (*draft.prose[name], *said))
    return draft


def _identity(draft: Draft, seed: int) -> Draft:  # noqa: ARG001 - all makers are called alike
    return draft


def _style(name: str) -> Callable[[Draft, int], Draft]:
    return lambda draft, seed: _styled(draft, name, seed)


_MAKERS: Final[dict[str, Callable[[Draft, int], Draft]]] = {
    "A1": _identity, "A2": _paraphrased, "A3": _plain,
    "B1": _style("verbose"), "B2": _style("grand"), "B3": _style("overconfident"), "B4": _style("novelty"),
    "B5": _style("application"), "C1": _hollow, "C2": _flawed, "C3": _enriched,
}


def vary_by_rules(idea: Idea, variant: str, seed: int) -> Idea:
    """One variant of an idea; a hybrid is composed of its parts in their order.

    Args:
        idea: the idea as ingested.
        variant: a name of ``STYLE_VARIANTS``.
        seed: another seed says it with other sentences.

    Raises:
        KeyError: for an unknown variant.
    """
    draft = Draft.of(idea)
    for part in STYLE_VARIANT[variant].parts:
        draft = _MAKERS[part](draft, seed)
    return draft.finished()


@cache
def rules_hash() -> str:
    """Identity of every word the rules use."""
    words = content_hash(WORDS.read_bytes())
    return content_hash(canonical_json({"templates": templates_hash(), "words": words, "tables": tables_hash()}))
