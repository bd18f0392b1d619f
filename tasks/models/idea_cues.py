"""What can be seen in the text of a research idea: how much it is styled, and how much there is to it; from 0 to 1.

Here belong the measurements and their lexicons; they know no rewriter. Idea phantoms react to these numbers, and tests
measure with them whether a variant went in its direction.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

STYLES: Final = ("verbose", "grand", "overconfident", "novelty", "application")
_STYLE_WORDS: Final[dict[str, str]] = {
    "verbose": r"it is worth (?:noting|pausing)|in order to avoid any|as (?:was )?already mentioned"
               r"|by way of introduction"
               r"|having said this|borne in mind|as a matter of completeness|at somewhat greater length|needless to say"
               r"|that is to say|in so many words|it should be (?:noted|emphasi[sz]ed)|in light of the foregoing"
               r"|insofar as"
               r"|with regard to the question of|the considerations set out here|for the sake of clarity",
    "grand": r"decisive hour|before and an after|far beyond|vision that|nothing less than|a generation will|cornerstone"
             r"|humanity|whole edifice|for decades to come|reach(?:es)? as deeply|new era|history of|transform the way"
             r"|future of (?:science|society|the field)|great(?:est)? (?:science|challenge)",
    "overconfident": r"no doubt|beyond question|guaranteed|cannot fail|already certain|certain(?:ly)?\b|undoubtedly"
                     r"|no serious objection|without exception|settle the matter|success is assured|is certain to"
                     r"|inevitabl\w+|indisputabl\w+",
    "novelty": r"nobody has ever|uncharted|overlooked|for the first time|fundamentally new|no precedent"
               r"|first work of its"
               r"|completely new|pioneering|unprecedented|groundbreaking|no existing approach|never (?:been )?attempted"
               r"|paradigm[- ]shift\w*|revolutionary",
    "application": r"practitioners|companies|public agencies|industry|customers|end users|deploy\w*|existing products"
                   r"|commercial"
                   r"|hospitals|local governments|in the field|stakeholders|market-ready|policy makers",
}
_ENOUGH: Final = {"verbose": 6, "grand": 4, "overconfident": 5, "novelty": 6, "application": 6}
"""So many matches are the whole style."""
_HOLLOW: Final = (
    r"relevant aspects|overall quality|suitable (?:manner|settings)|complementary components|well-balanced"
    r"|coherent whole"
    r"|in many respects|valuable perspective|benefits will become visible|deserve further attention|various factors"
    r"|holistic(?:ally)?|appropriate(?:ly)? (?:methods|handled)"
)
_FLAWED: Final = (
    r"no comparison group|same data on which|no other explanation|proof of the principle|assumed from the start"
    r"|only the cases in which|once seen to change together|shows that it always|without (?:any )?control"
)
_RIGOROUS: Final = (
    r"preregister\w+|power calculation|negative control|placebo|ablation|confidence intervals?|multiple comparisons"
    r"|replication|held-out|competing explanation|second prediction|can fail on its own|analysis plan|named in advance"
)
_PATTERNS: Final = {name: re.compile(words, re.IGNORECASE) for name, words in
                    {**_STYLE_WORDS, "hollow": _HOLLOW, "flawed": _FLAWED, "rigorous": _RIGOROUS}.items()}
_SPECIFIC: Final = re.compile(r"\d+(?:[.,]\d+)?%?")


class Cues(NamedTuple):
    """What one text shows."""

    style: dict[str, float]
    """``STYLES`` -> 0 to 1."""
    hollow: float
    flawed: float
    rigorous: float
    specifics: int
    """Numbers in the text."""
    words: int

    @property
    def deviation(self) -> float:
        """How far the wording is from neutral, 0 to 1: the strongest style, and half of the others."""
        doses = sorted(self.style.values(), reverse=True)
        return min(1.0, doses[0] + 0.5 * sum(doses[1:]))


def _share(text: str, name: str, enough: int) -> float:
    found = 0
    for _ in _PATTERNS[name].finditer(text):
        found += 1
        if found == enough:
            return 1.0
    return found / enough


@lru_cache(maxsize=16384)
def idea_cues(text: str) -> Cues:
    """The cues of a text. The dictionary is shared: do not change it."""
    return Cues(
        style={name: _share(text, name, _ENOUGH[name]) for name in STYLES},
        hollow=_share(text, "hollow", 5), flawed=_share(text, "flawed", 4), rigorous=_share(text, "rigorous", 10),
        specifics=len(_SPECIFIC.findall(text)), words=len(text.split()),
    )
