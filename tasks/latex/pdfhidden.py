"""Text in a PDF that a program reads and a person does not see.

White or invisible, tiny, outside of the page, under an image. Only pages that give a cause are looked at closely, so
the usual page costs one list of boxes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from storage.lazy import LazyModule

if TYPE_CHECKING:
    import pymupdf
else:
    pymupdf = LazyModule("pymupdf")


TINY_POINTS = 1.7
_NEAR_WHITE = 0xF4
_MIN_LETTERS = 12
_FILLED_OR_STROKED = 16 | 32


class Hidden(NamedTuple):
    """A stretch of hidden text: its page (from 1), why it is not seen, and the text."""

    page: int
    why: str
    text: str


def hidden_text(page: Any, content: dict[str, Any], number: int) -> list[Hidden]:
    """What of a page cannot be seen.

    Args:
        page: the PyMuPDF page.
        content: its text as ``page.get_text("dict")`` gives it.
        number: the page's number for the report.
    """
    spans = [span for block in content["blocks"] for line in block.get("lines", ()) for span in line["spans"]]
    covers = _covers(page)
    found: dict[str, list[str]] = {}
    for span in spans:
        why = _why(page, span, covers)
        if why:
            found.setdefault(why, []).append(span["text"].strip())
    found["off_page"] = [text for text in _outside(page) if text]
    made = (Hidden(number, why, " ".join(texts)[:500]) for why, texts in found.items())
    return [hidden for hidden in made if sum(mark.isalpha() for mark in hidden.text) >= _MIN_LETTERS]


def _why(page: Any, span: dict[str, Any], covers: list[Any]) -> str | None:
    if not span["text"].strip():
        return None
    if span.get("alpha", 255) < 12 or not span.get("char_flags", _FILLED_OR_STROKED) & _FILLED_OR_STROKED:
        return "invisible"
    if span["size"] < TINY_POINTS and len(span["text"].split()) >= 4:
        return "tiny"
    color = span["color"]
    if min(color >> 16 & 255, color >> 8 & 255, color & 255) >= _NEAR_WHITE and _is_blank(page, span["bbox"]):
        return "white"
    if any(_holds_middle(cover, span["bbox"]) for cover in covers):
        return "under_image"
    return None


def _is_blank(page: Any, box: tuple[float, ...]) -> bool:
    """Whether the page shows nothing but white there (white letters on a dark field are seen)."""
    clip = pymupdf.Rect(box) & page.rect
    if clip.is_empty:
        return False
    shown = page.get_pixmap(clip=clip, dpi=50, colorspace=pymupdf.csGRAY)
    return bool(min(shown.samples, default=255) >= _NEAR_WHITE)


def _covers(page: Any) -> list[Any]:
    """Images that are painted over text: boxes of text that an image, painted later, covers wholly."""
    painted = page.get_bboxlog()
    images = [(place, box) for place, (kind, box) in enumerate(painted) if kind == "fill-image"]
    if not images:
        return []
    images = images[:200]
    covered = [
        box
        for place, (kind, box) in enumerate(painted)
        if kind in ("fill-text", "stroke-text")
        and any(place < later and _inside(box, image) for later, image in images)
    ]
    return covered[:500]


def _inside(box: tuple[float, ...], cover: tuple[float, ...]) -> bool:
    return box[0] >= cover[0] - 1 and box[1] >= cover[1] - 1 and box[2] <= cover[2] + 1 and box[3] <= cover[3] + 1


def _holds_middle(cover: tuple[float, ...], box: tuple[float, ...]) -> bool:
    """Whether a box lies around another's middle (a line's box is a little taller than its letters)."""
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return cover[0] <= x <= cover[2] and cover[1] <= y <= cover[3]


def _outside(page: Any) -> list[str]:
    """Text painted beyond the page's edges."""
    rect = page.rect
    beyond = [
        box
        for kind, box in page.get_bboxlog()
        if kind.endswith("text") and (box[2] <= rect.x0 or box[0] >= rect.x1 or box[3] <= rect.y0 or box[1] >= rect.y1)
    ]
    if not beyond:
        return []
    blocks = page.get_text("blocks", clip=pymupdf.INFINITE_RECT(), flags=pymupdf.TEXT_PRESERVE_WHITESPACE)
    return [
        block[4].strip()
        for block in blocks
        if block[2] <= rect.x0 or block[0] >= rect.x1 or block[3] <= rect.y0 or block[1] >= rect.y1
    ]
