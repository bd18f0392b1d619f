"""The packaged tables: one YAML file a condition, read once into rules and openers.

A table has ``rate`` (the share of matches that fire), ``rules`` (one a line, see ``notation.py``), ``verbs``
(``use -> employ``: every form where it is surely a verb), ``adverbs`` (``show -> clearly``: put before the verb), and
``openers`` (what is set before a whole sentence). Here belongs reading them; the words themselves are in ``tables/``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Any, Final

import yaml

from storage.keys import canonical_json, content_hash
from tasks.rewrite.rules.inflect import Forms, forms
from tasks.rewrite.rules.notation import BadRule, Rule, Words, read_rule

FOLDER: Final = resources.files("tasks.rewrite.rules") / "tables"


@dataclass(frozen=True, slots=True)
class Opener:
    """What may be set before a sentence that begins in some way."""

    start: re.Pattern[str] | None
    """How the sentence begins; None for any safe beginning."""
    with_number: bool
    rate: float
    """The share of such sentences that may be opened."""
    say: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """One table, ready to be applied."""

    name: str
    rate: float
    index: Mapping[str, tuple[Rule, ...]]
    """By first word, small and capitalised; in the order of the file."""
    openers: tuple[Opener, ...]


def _lines(block: str | None) -> Iterator[str]:
    for line in (block or "").splitlines():
        if line.strip() and not line.lstrip().startswith("# "):
            yield " ".join(line.split())


@lru_cache(maxsize=1)
def named_words() -> Words:
    """The named lists of words that every table may use."""
    loaded: dict[str, str] = yaml.safe_load((FOLDER / "words.yaml").read_text("utf-8"))
    return {name: tuple(word.replace("_", " ") for word in words.split()) for name, words in loaded.items()}


def _form_lines(verb: str, look: str, wanted: str, render: Any) -> Iterator[str]:
    source = forms(verb)
    if "b" in wanted:
        yield f"<<@subject {source.base}{look} -> {render('base')}"
    if "s" in wanted:
        yield f"<@determiner {source.third}{look} -> {render('third')}"
    if "p" in wanted:
        yield f"<@determiner {source.participle}{look} -> {render('participle')}"
        if source.past != source.participle:
            yield f"<@determiner {source.past}{look} -> {render('past')}"
    if "g" in wanted:
        yield f"<@determiner {source.gerund}{look} -> {render('gerund')}"


def _verb_lines(line: str) -> Iterator[str]:
    """``use:bsp !up -> employ / utilize`` as one rule for each form (b base, s third person, p past, g gerund)."""
    left, _, right = line.partition(" -> ")
    head, *looks = left.split()
    verb, _, wanted = head.partition(":")
    look = f" {' '.join(looks)}" if looks else ""
    others = [forms(part.strip()) for part in right.split(" / ")]

    def render(form: str) -> str:
        return " / ".join(getattr(other, form) for other in others)

    yield from _form_lines(verb, look, wanted or "bspg", render)


def _adverb_lines(line: str) -> Iterator[str]:
    """``show|confirm -> clearly / plainly``: before a finite form, and between a form of "be" and the participle."""
    left, _, right = line.partition(" -> ")
    head, *looks = left.split()
    look = f" {' '.join(looks)}" if looks else ""
    adverbs = [part.strip() for part in right.split(" / ")]
    for verb in head.split("|"):
        form: Forms = forms(verb)
        said = " / ".join(f"{adverb} {{1}}" for adverb in adverbs)
        yield f"<<@actor {form.base}{look} -> {said}"
        yield f"<@determiner <@adverb {form.third}{look} -> {said}"
        yield f"<<@actor|@be {form.participle}{look} -> {said}"
        if form.past != form.participle:
            yield f"<<@actor {form.past}{look} -> {said}"


def _openers(entries: list[dict[str, Any]], words: Words, rate: float) -> Iterator[Opener]:
    for entry in entries:
        start = entry.get("start")
        pattern = None if start is None else read_rule(f"{start} -> x", words, number=0).pattern
        yield Opener(pattern, bool(entry.get("number", False)), float(entry.get("rate", rate)), tuple(entry["say"]))


def _rules(loaded: dict[str, Any], words: Words) -> Iterator[Rule]:
    blocks = loaded.get("rules") or ""
    kinds = blocks if isinstance(blocks, dict) else {"": blocks}
    number = 0
    for kind, block in kinds.items():
        for line in _lines(block):
            number += 1
            yield read_rule(line, words, number=number, kind=kind)
    for section, expand in (("adverbs", _adverb_lines), ("verbs", _verb_lines)):
        for line in _lines(loaded.get(section)):
            number += 1
            for formed in expand(line):
                yield read_rule(formed, words, number=number, kind=section)


@cache
def load_table(name: str) -> Table:
    """Read a packaged table.

    Raises:
        BadRule: when a line is not in the notation; the message names the table.
        FileNotFoundError: when no table has that name.
    """
    loaded: dict[str, Any] = yaml.safe_load((FOLDER / f"{name}.yaml").read_text("utf-8"))
    words = named_words()
    index: dict[str, list[Rule]] = {}
    try:
        for rule in _rules(loaded, words):
            for first in dict.fromkeys(rule.firsts):
                index.setdefault(first, []).append(rule)
                index.setdefault(first.capitalize(), []).append(rule)
        openers = tuple(_openers(loaded.get("openers") or [], words, float(loaded.get("opener_rate", 0.0))))
    except BadRule as error:
        raise BadRule(f"table {name}: {error}") from error
    return Table(name, float(loaded["rate"]), {first: tuple(rules) for first, rules in index.items()}, openers)


@lru_cache(maxsize=1)
def known_openers() -> re.Pattern[str]:
    """Matches a sentence that already begins with an opener of any table."""
    said = {text for entry in FOLDER.iterdir() if entry.name.endswith(".yaml") and entry.name != "words.yaml"
            for opener in load_table(entry.name.removesuffix(".yaml")).openers for text in opener.say}
    return re.compile("|".join(re.escape(text) for text in sorted(said, key=len, reverse=True)))


@lru_cache(maxsize=1)
def tables_hash() -> str:
    """The content of every table, as one hash for the keys of rewrites."""
    files = sorted((entry for entry in FOLDER.iterdir() if entry.name.endswith(".yaml")), key=lambda entry: entry.name)
    return content_hash(canonical_json({entry.name: content_hash(entry.read_bytes()) for entry in files}))
