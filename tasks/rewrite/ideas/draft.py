"""A draft: an idea whose sentences know whether they are its own or were added by a style.

Here belongs the cutting into sentences and the way back, so that changes can be composed: hollowing takes the idea's
own sentences and leaves what persuasion added.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from storage.ideas import PROSE, Idea

_BREAK: Final = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!vs\.)(?<!al\.)\s+(?=[A-Z0-9\"'(])")


class Sentence(NamedTuple):
    """One sentence of a draft."""

    text: str
    is_added: bool = False


@dataclass(frozen=True)
class Draft:
    """An idea on its way to a variant."""

    idea: Idea
    prose: dict[str, tuple[Sentence, ...]]
    variables: tuple[str, ...]

    @classmethod
    def of(cls, idea: Idea) -> Draft:
        """The idea as a draft, all of it its own."""
        prose = {name: tuple(Sentence(part) for part in _BREAK.split(getattr(idea, name).strip()) if part)
                 for name in PROSE}
        return cls(idea, prose, idea.variables)

    def finished(self) -> Idea:
        """The draft as an idea."""
        said = {name: " ".join(sentence.text for sentence in sentences) for name, sentences in self.prose.items()}
        return self.idea.model_copy(update={**said, "variables": self.variables})

    def with_prose(self, name: str, sentences: tuple[Sentence, ...]) -> Draft:
        """The draft with other sentences in one field."""
        return replace(self, prose={**self.prose, name: sentences})

    def reworded(self, reword: Callable[[str], str]) -> Draft:
        """The draft with its own sentences reworded one by one; a rewording may be several sentences."""
        prose = {
            name: tuple(sentence if sentence.is_added else Sentence(reword(sentence.text)) for sentence in sentences)
            for name, sentences in self.prose.items()
        }
        return replace(self, prose=prose)


def added(texts: tuple[str, ...]) -> tuple[Sentence, ...]:
    """Texts as added sentences."""
    return tuple(Sentence(text, is_added=True) for text in texts)
