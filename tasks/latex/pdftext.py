"""PDF to the text that judges read, with gates for PDFs whose text cannot be trusted.

The plain path reads text as the PDF's writer ordered it, which in TeX's output is the order of reading, columns
included; where that order jumps, blocks are sorted by columns. ``markdown`` asks pymupdf4llm, for PDFs that others
made. Hidden text is looked for in ``pdfhidden.py``. PyMuPDF is not thread-safe: one lock guards it.
"""

from __future__ import annotations

import contextlib
import io
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from storage.lazy import LazyModule
from tasks.latex.pdfhidden import Hidden, hidden_text

if TYPE_CHECKING:
    import pymupdf
    import pymupdf4llm
else:
    pymupdf = LazyModule("pymupdf")
    pymupdf4llm = LazyModule("pymupdf4llm")

_LOCK = threading.Lock()
_FLAGS = 2
"""``pymupdf.TEXT_PRESERVE_WHITESPACE``."""
_LIGATURES: dict[int, str | None] = {
    0xFB00: "ff",
    0xFB01: "fi",
    0xFB02: "fl",
    0xFB03: "ffi",
    0xFB04: "ffl",
    0xFB05: "st",
    0xFB06: "st",
}
_CONTROL: dict[int, str | None] = {
    code: None for code in (*range(0, 9), 11, 12, 13, *range(14, 32), 0x7F, 0xAD, 0x200B, 0xFEFF)
}
_HYPHENATED = re.compile(r"((?:[^\W\d_]+-)*[^\W\d_]+)-\n([^\W\d_]+)(\S*)[ ]?")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
WORDS_PER_PAGE = 20
GARBAGE_SHARE = 0.003
UNREADABLE_SHARE = 0.05
MAX_PAGES = 2_000
Block = tuple[float, float, float, float, str]


@dataclass(frozen=True)
class PdfText:
    """The text of a PDF.

    Attributes:
        text: pages one after the other, blocks separated by empty lines.
        pages: how many there are.
        flags: ``not_a_pdf``, ``encrypted``, ``too_many_pages``, ``no_text_layer``, ``garbage_glyphs`` (some
            characters are
            unreadable), ``unreadable`` (too many are), ``hidden_text``, ``reading_order`` (it jumped and was sorted).
        hidden: what a reader does not see, for people to look at.
        garbage_share: unreadable characters among all.
        title: what the file says its title is, else the largest line of the first page.
    """

    text: str
    pages: int
    flags: tuple[str, ...] = ()
    hidden: tuple[Hidden, ...] = ()
    garbage_share: float = 0.0
    title: str | None = None

    @property
    def words(self) -> int:
        """Words of the text."""
        return len(self.text.split())

    @property
    def usable(self) -> bool:
        """Whether this text may be judged."""
        return not {"not_a_pdf", "encrypted", "too_many_pages", "no_text_layer", "unreadable"}.intersection(self.flags)


def is_pdf(data: bytes) -> bool:
    """Whether bytes begin as a PDF does (some bytes of junk before the mark are common)."""
    head = data[:1024]
    return b"%PDF-" in head and not re.match(rb"\s*<(?:!doctype|html|head|\?xml)", head, re.I)


def pdf_text(pdf: bytes, *, layout: Literal["plain", "markdown"] = "plain") -> PdfText:
    """Read a PDF.

    Args:
        pdf: the file. Anything else (an HTML page that was saved as a PDF) gives ``not_a_pdf``, never a text.
        layout: ``plain``, or ``markdown`` through pymupdf4llm (slower; columns and tables of foreign PDFs).
    """
    if not is_pdf(pdf):
        return PdfText("", 0, ("not_a_pdf",))
    with _LOCK:
        pymupdf.TOOLS.mupdf_display_errors(False)
        pymupdf.TOOLS.mupdf_display_warnings(False)
        try:
            document = pymupdf.open(stream=pdf, filetype="pdf")
        except (pymupdf.FileDataError, pymupdf.EmptyFileError, RuntimeError):
            return PdfText("", 0, ("not_a_pdf",))
        with document:
            if document.needs_pass:
                return PdfText("", 0, ("encrypted",))
            if document.page_count > MAX_PAGES:
                return PdfText("", document.page_count, ("too_many_pages",))
            return _read(document, layout)


def _read(document: Any, layout: str) -> PdfText:
    flags: set[str] = set()
    hidden: list[Hidden] = []
    made: list[str] = []
    title: str | None = None
    for number, page in enumerate(document):
        content = page.get_text("dict", flags=_FLAGS)
        blocks = _blocks(content)
        title = title or _title(document, content)
        if _jumps(blocks, float(content["width"])):
            flags.add("reading_order")
            blocks = _by_columns(blocks, float(content["width"]))
        made.append("\n\n".join(block[4] for block in blocks))
        hidden += hidden_text(page, content, number + 1)
    text = "\n\n".join(page for page in made if page)
    if layout == "markdown":
        text = _markdown(document)
    garbage = sum(count for mark, count in Counter(text).items() if _is_garbage(mark))
    printed = sum(not mark.isspace() for mark in text)
    share = garbage / printed if printed else 0.0
    text = joined_words(text.translate(_CONTROL | _LIGATURES)).strip()
    if hidden:
        flags.add("hidden_text")
    if len(text.split()) < WORDS_PER_PAGE * max(min(document.page_count, 3), 1) and len(text.split()) < 60:
        flags.add("no_text_layer")
    if share >= GARBAGE_SHARE:
        flags.add("garbage_glyphs")
    if share >= UNREADABLE_SHARE:
        flags.add("unreadable")
    return PdfText(text, document.page_count, tuple(sorted(flags)), tuple(hidden), share, title)


def _title(document: Any, content: dict[str, Any]) -> str | None:
    stated = " ".join(str((document.metadata or {}).get("title") or "").split())
    if len(stated.split()) >= 3 and not re.search(r"\.(?:tex|docx?|pdf|dvi)$", stated, re.I):
        return stated
    lines = [
        (max(span["size"] for span in line["spans"]), " ".join(span["text"] for span in line["spans"]))
        for block in content["blocks"]
        for line in block.get("lines", ())
        if line["spans"] and line["dir"][0] > 0.9
    ]
    largest = max((size for size, text in lines if len(text.split()) >= 2), default=0.0)
    found = " ".join(
        " ".join(text for size, text in lines if size > largest - 0.2).translate(_CONTROL | _LIGATURES).split()
    )
    return found[:300] or None


def _is_garbage(mark: str) -> bool:
    """A character that stands for a glyph nobody could name; pieces of large brackets (U+F8E5..) are not."""
    code = ord(mark)
    return code == 0xFFFD or (0xE000 <= code < 0xF8E5) or (code < 32 and mark not in "\t\n\r\f" and code > 8)


def _blocks(content: dict[str, Any]) -> list[Block]:
    found: list[Block] = []
    for block in content["blocks"]:
        lines = ["".join(span["text"] for span in line["spans"]).rstrip() for line in block.get("lines", ())]
        text = "\n".join(line for line in lines if line.strip())
        if text:
            found.append((*block["bbox"], text))
    return found


def _jumps(blocks: Sequence[Block], width: float) -> bool:
    """Whether blocks run backwards within a column so often that their order is not that of reading."""
    steps = back = 0
    last: dict[str, Block] = {}
    for block in blocks:
        if len(block[4]) <= 60:
            continue
        column = "left" if block[2] <= width * 0.55 else "right" if block[0] >= width * 0.45 else "wide"
        if column in last:
            steps += 1
            back += block[3] < last[column][1] - 5
        last[column] = block
    return steps >= 3 and back / steps > 0.3


def _by_columns(blocks: Sequence[Block], width: float) -> list[Block]:
    """Blocks sorted as read: bands between full-width blocks, in each the left column before the right one."""
    middle = width / 2
    wide = [block for block in blocks if block[0] < middle - 0.1 * width and block[2] > middle + 0.1 * width]
    cuts = sorted(block[1] for block in wide)

    def place(block: Block) -> tuple[int, int, float, float]:
        band = sum(cut <= block[1] for cut in cuts)
        is_wide = block in wide
        return (band, 0 if is_wide else 1 if block[0] < middle else 2, block[1], block[0])

    return sorted(blocks, key=place)


def _markdown(document: Any) -> str:
    said = io.StringIO()
    pymupdf.set_messages(stream=said)
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        made = pymupdf4llm.to_markdown(document, show_progress=False)
    return made if isinstance(made, str) else "\n\n".join(str(chunk.get("text", "")) for chunk in made)


def joined_words(text: str) -> str:
    """Text without hyphens at line ends: the two halves are joined unless the text elsewhere writes them with a hyphen.

    The line then ends after the joined word.
    """
    known = Counter(word.lower() for word in _WORD.findall(_HYPHENATED.sub(" ", text)))

    def join(found: re.Match[str]) -> str:
        first, second = found[1], found[2]
        together, hyphenated = (first + second).lower(), f"{first}-{second}".lower()
        keep = second[0].isupper() or "-" in first or known[hyphenated] > known[together]
        return (f"{first}-{second}" if keep else first + second) + found[3] + "\n"

    return _HYPHENATED.sub(join, text)


def normalised(text: str) -> str:
    """The form in which texts are compared: NFKC, no line-end hyphens, one space between words, lower case."""
    return " ".join(unicodedata.normalize("NFKC", joined_words(text)).lower().split())
