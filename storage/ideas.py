"""Research ideas: what an item of SciStyleBench is, how it reads as one text, and the benchmark's fifteen variants.

Here belong the record and the names that ingest, rewrite, retrieve, judge and the flows share. How a variant is made is
the rewrite stage's matter.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from pydantic import Field, model_validator

from storage.records import Record

DOMAINS: tuple[str, ...] = (
    "Computer Science", "Biology", "Mathematics", "Astronomy/Space", "Economics", "Medicine",
)
PROSE: tuple[str, ...] = ("research_question", "problem", "mechanism", "contribution", "evaluation", "limitations")
"""The fields that hold sentences, in the order of the text."""
NEEDED: tuple[str, ...] = ("title", "research_question", "problem", "mechanism", "contribution")
_LABELS: dict[str, str] = {
    "title": "Title", "research_question": "Research question", "problem": "Problem", "mechanism": "Mechanism",
    "variables": "Variables", "contribution": "Contribution", "evaluation": "Evaluation", "limitations": "Limitations",
}


class SourcePaper(Record):
    """The paper that an idea was taken from: never part of the literature that is shown with it."""

    title: str = ""
    doi: str = ""
    year: int | None = None
    authors: tuple[str, ...] = ()


class Idea(Record):
    """A research idea in its parts."""

    title: str = Field(min_length=1)
    domain: str = Field(min_length=1)
    research_question: str = Field(min_length=1)
    problem: str = Field(min_length=1)
    """Why the question is open."""
    mechanism: str = Field(min_length=1)
    """How the idea is supposed to work."""
    variables: tuple[str, ...] = ()
    contribution: str = Field(min_length=1)
    """What would be verifiable."""
    evaluation: str = ""
    limitations: str = ""
    concepts: tuple[str, ...] = ()
    """Key concepts for the search of literature; no part of the text that is judged."""
    source: SourcePaper = SourcePaper()

    @model_validator(mode="after")
    def _filled(self) -> Idea:
        for name in NEEDED:
            if not str(getattr(self, name)).strip():
                raise ValueError(f"{name} is empty")
        return self

    @property
    def text(self) -> str:
        """The idea as judges read it: a labelled paragraph a part; empty parts are left out."""
        lines: list[str] = []
        for name, label in _LABELS.items():
            value = getattr(self, name)
            said = "; ".join(value) if isinstance(value, tuple) else " ".join(value.split())
            if said:
                lines.append(f"{label}: {said}")
        return "\n\n".join(lines)


def parts_of(text: str) -> dict[str, str]:
    """The labelled paragraphs of an idea's text by field name; what no label begins is left out."""
    found: dict[str, str] = {}
    for paragraph in text.split("\n\n"):
        label, colon, said = paragraph.strip().partition(": ")
        name = next((name for name, known in _LABELS.items() if known == label), None)
        if colon and name is not None:
            found[name] = said
    return found


Substance = Literal["kept", "removed", "weakened", "added"]


class StyleVariant(NamedTuple):
    """One of the fifteen variants."""

    name: str
    style: str
    """A plain name: what an auditor is to recognise."""
    title: str
    parts: tuple[str, ...]
    """The single variants it is composed of, in order; itself where it is single."""
    substance: Substance


def _single(name: str, style: str, title: str, substance: Substance = "kept") -> StyleVariant:
    return StyleVariant(name, style, title, (name,), substance)


STYLE_VARIANTS: tuple[StyleVariant, ...] = (
    _single("A1", "identity", "Identity"),
    _single("A2", "paraphrase", "Paraphrase only"),
    _single("A3", "plain", "Plain core"),
    _single("B1", "verbose", "Verbose"),
    _single("B2", "grand", "Grand narrative"),
    _single("B3", "overconfident", "Overconfident"),
    _single("B4", "novelty", "Novelty emphasis"),
    _single("B5", "application", "Application framing"),
    _single("C1", "hollow", "Hollow", "removed"),
    _single("C2", "flawed", "Flawed", "weakened"),
    _single("C3", "enriched", "Enriched", "added"),
    StyleVariant("H1", "deceptive_hollow", "Deceptive hollow", ("B2", "B4", "C1"), "removed"),
    StyleVariant("H2", "confident_flaw", "Confident flaw", ("B3", "C2"), "weakened"),
    StyleVariant("H3", "verbose_enriched", "Verbose enriched", ("B1", "C3"), "added"),
    StyleVariant("H4", "ultimate_hype", "Ultimate hype", ("B2", "B4", "B5"), "kept"),
)
STYLE_VARIANT: dict[str, StyleVariant] = {variant.name: variant for variant in STYLE_VARIANTS}
VARIANT_NAMES: tuple[str, ...] = tuple(STYLE_VARIANT)
IDENTITY = "A1"
