"""Titles and abstracts as plain text: JATS, HTML and entities out, white space collapsed; and forms to compare by.

Here belongs what is done to single strings. Comparing works is ``dedupe.py``.
"""

from __future__ import annotations

import html
import re
import unicodedata
from typing import Final

_HEADING: Final = re.compile(
    r"<(?:jats:)?(?:title|label)\b[^>]*>\s*(?:abstract|summary|graphical abstract)?\s*[:.]?\s*"
    r"</(?:jats:)?(?:title|label)>",
    re.IGNORECASE,
)
_INVISIBLE: Final = re.compile(
    r"<(script|style|annotation|annotation-xml|mml:annotation)\b.*?</\1\s*>|<!--.*?-->", re.IGNORECASE | re.DOTALL
)
_INLINE: Final = re.compile(
    r"</?(?:jats:)?(?:i|b|em|strong|u|sub|sup|sc|italic|bold|monospace|inline-formula|tex-math|mml:\w+|math|mi|mo|mn|mrow"
    r"|mspace|msub|msup|span|a|xref|ext-link)\b[^>]*/?>", re.IGNORECASE,
)
_TAG: Final = re.compile(r"</?[A-Za-z][\w:-]*(?:\s[^<>]*)?/?>")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""Half of a surrogate pair cannot be stored, and control characters say nothing."""
_LEAD: Final = re.compile(r"^(?i:abstract|summary)\s*[:.—–-]\s*|^(?:ABSTRACT|SUMMARY|Abstract)\s+(?=[A-Z])")
_MARKS: Final = {
    "‘": "'", "’": "'", "‚": "'", "‛": "'", "′": "'", "`": "'", "“": '"', "”": '"', "„": '"', "″": '"', "«": '"',
    "»": '"', "‐": "-", "‑": "-", "‒": "-", "–": "-", "—": " - ", "―": " - ", "−": "-", "\u00ad": "", "\u200b": "",
    "\u2060": "", "\ufeff": "",
}
_FOLD: Final = str.maketrans(_MARKS)
_OPERATORS: Final = re.compile(r"[\"()\[\]{}|,:;*?~+!^&=<>/\\#%$@_.]|\s-+\s|(?<!\w)-|-(?!\w)")
_OPERATOR_WORDS: Final = re.compile(r"\b(?:AND|OR|NOT|NEAR)\b")
QUERY_WORDS: Final = 40
"""Longer queries match nothing better and are cut."""


def clean(text: str | None) -> str:
    """Markup out of a title or abstract. None gives the empty text.

    Args:
        text: plain text, HTML, or JATS as Crossref delivers it, perhaps escaped twice.
    """
    if not text:
        return ""
    for _ in range(2 if "<" in text or "&" in text else 0):
        text = _INVISIBLE.sub(" ", text)
        text = _HEADING.sub(" ", text)
        text = _INLINE.sub("", text)
        text = _TAG.sub(" ", text)
        unescaped = html.unescape(text)
        if unescaped == text:
            break
        text = unescaped
    text = " ".join(_CONTROL.sub(" ", text).split())
    return _LEAD.sub("", text).strip()


def folded(text: str) -> str:
    """A text without typographic variety: quotation marks, dashes, ligatures and accents in their plainest form."""
    if text.isascii():
        return text
    plain = unicodedata.normalize("NFKD", text.translate(_FOLD))
    return "".join(mark for mark in plain if not unicodedata.combining(mark))


def title_key(title: str) -> str:
    """What two titles must share to be the same: letters and digits, folded, in small letters, one space between."""
    return " ".join(re.findall(r"[^\W_]+", folded(clean(title)).replace("'", "").casefold()))


def doi_key(doi: str | None) -> str:
    """A DOI in its bare form, in small letters; empty for what is none. An arXiv version counts as the work."""
    if not doi:
        return ""
    bare = re.sub(r"^\s*(?:https?://)?(?:dx\.)?(?:doi\.org/|doi:)?\s*", "", doi.strip(), flags=re.IGNORECASE).lower()
    bare = bare.rstrip(".,;) ")
    if not re.match(r"10\.\d{4,9}/\S+$", bare):
        return ""
    return re.sub(r"(?<=^10\.48550/)(arxiv\..*?)v\d+$", r"\1", bare)


def query_text(text: str, words: int = QUERY_WORDS) -> str:
    """A text as a search query: folded, without anything that a service could read as an operator, cut to some words.

    Not encoded in any way: that is the client's work, and done twice it searches for percent signs.
    """
    plain = _OPERATORS.sub(" ", folded(clean(text)))
    plain = _OPERATOR_WORDS.sub(lambda found: found[0].lower(), plain)
    return " ".join(plain.split()[:words])
