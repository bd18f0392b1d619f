"""What of a paper's protected content is in extracted text: numbers, citations, formulas. Wording plays no part.

Phantoms take a paper's latent quality from here. It is no measure of a real paper's merit: it only has to differ
between papers and stay put when prose is reworded.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_OWN_LINE = re.compile(r"(?m)^[ \t]*\d{1,4}[ \t]*$")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?![\w]|\.\d)")
_CITED = re.compile(r"\[(\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*)\]")
_YEAR = re.compile(r"(?<!\d)(?:19[5-9]\d|20[0-4]\d)[a-z]?(?!\d)")
_EQUATION = re.compile(r"(?m)\((\d{1,3}|[A-Z]\.\d{1,2})\)[ \t]*$")
_INTERVAL = re.compile(r"(?:±|\+/-|∓)\s*\d*\.?\d+")
_SYMBOL = re.compile(r"[∀-⋿Α-ωℓ→↦⟨⟩√]")


class Evidence(NamedTuple):
    """Protected content of one text."""

    items: NDArray[np.uint64]
    """A 64-bit hash of each distinct number of two or more digits, ascending."""
    decimals: int
    citations: int
    equations: int
    intervals: int
    symbols: int


def evidence(text: str) -> Evidence:
    """Find the protected content of a text.

    Lines that hold a lone integer (page and line numbers) are left out: they move when the prose changes length.
    """
    body = _OWN_LINE.sub("", text)
    numbers = {number.replace(",", "") for number in _NUMBER.findall(body)}
    kept = {number for number in numbers if "." in number or len(number) > 2}
    cited = {number for group in _CITED.findall(body) for number in re.findall(r"\d+", group)}
    items = np.fromiter(
        (int.from_bytes(blake2b(number.encode(), digest_size=8).digest(), "big") for number in kept),
        dtype=np.uint64, count=len(kept),
    )
    return Evidence(
        items=np.sort(items),
        decimals=sum("." in number for number in kept),
        citations=len(cited) + len(set(_YEAR.findall(body))),
        equations=len(set(_EQUATION.findall(body))),
        intervals=len(set(_INTERVAL.findall(body))),
        symbols=len(set(_SYMBOL.findall(body))),
    )


_CENTRES = {"decimals": (3.6, 1.1), "citations": (2.9, 0.8), "equations": (1.2, 1.0), "intervals": (1.3, 1.6),
            "symbols": (1.9, 1.0)}
"""Mean and SD of log(1 + count) over short and full papers, roughly.

Fixed: a paper's index must not depend on its company."""


def index(found: Evidence) -> float:
    """The evidence index: the mean of the standardised log counts, about 0 with SD 1 over papers.

    Averaged over five kinds of content, so that one lost item hardly moves it.
    """
    parts = [(np.log1p(getattr(found, name)) - centre) / spread for name, (centre, spread) in _CENTRES.items()]
    return float(np.clip(np.mean(parts) * INDEX_GAIN, -3.0, 3.0))


INDEX_GAIN = 1.3
"""Kinds of content go together in papers, so their mean has an SD of about 1 / 1.3."""


def fingerprint(found: Evidence, seed: int) -> float:
    """A standard normal score that a seed gives to a set of items: its own taste in papers.

    The normalised mean of one uniform number an item: losing one of n items moves it by about 1 / sqrt(n). Zero items
    score 0.
    """
    if not len(found.items):
        return 0.0
    mixed = found.items ^ np.uint64(seed % 2**64)
    with np.errstate(over="ignore"):
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    uniform = (mixed ^ (mixed >> np.uint64(31))).astype(np.float64) / 2.0**64
    return float(np.sqrt(12.0 / len(uniform)) * np.sum(uniform - 0.5))
