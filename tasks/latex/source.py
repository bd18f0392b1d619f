"""A file of a project as characters, and back as the bytes it was: encodings and line ends.

No LaTeX is understood here beyond the inputenc option. ``decode`` never fails: what is neither UTF-8 nor in the
declared encoding is read as latin-1, which every byte sequence is.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tasks.latex.lexis import ENCODINGS

_INPUTENC = re.compile(rb"^[^%\r\n]*?\\(?:usepackage|RequirePackage)\s*\[([\w\-,\s]+)\]\s*\{inputenc\}", re.M)
_INPUTENC_CR = re.compile(rb"\\(?:usepackage|RequirePackage)\s*\[([\w\-,\s]+)\]\s*\{inputenc\}")
_NEWLINE = re.compile(r"\r\n?|\n")


class Source(NamedTuple):
    """Characters of a file and how to write them back.

    ``text.encode(encoding)`` are the file's bytes, exactly. ``newline`` is the line end most of its lines have.
    """

    text: str
    encoding: str
    newline: str

    def encode(self, text: str) -> bytes:
        """Bytes of an edited text in this file's encoding.

        Raises:
            UnicodeEncodeError: when a character does not exist in that encoding.
        """
        return text.encode(self.encoding)


def declared_encoding(main: bytes) -> str | None:
    """The codec that the main file's inputenc option names, or None (no option, utf8, unknown)."""
    found = _INPUTENC.search(main) or (_INPUTENC_CR.search(main) if b"\n" not in main else None)
    if found is None:
        return None
    options = found.group(1).decode("ascii", "replace").replace(" ", "").split(",")
    return next((ENCODINGS[option] for option in options if option in ENCODINGS), None)


def decode(data: bytes, declared: str | None = None) -> Source:
    """Read a file's bytes; the result encodes to the same bytes.

    Args:
        data: the file.
        declared: codec of the project's inputenc option, see ``declared_encoding``.
    """
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        order = ["utf-16-le" if data[:2] == b"\xff\xfe" else "utf-16-be"]
    else:
        order = [declared, "utf-8"] if declared else ["utf-8"]
    for encoding in order:
        try:
            text = data.decode(encoding)
            if text.encode(encoding) == data:
                return Source(text, encoding, _dominant_newline(text))
        except UnicodeError:
            continue
    text = data.decode("latin-1")
    return Source(text, "latin-1", _dominant_newline(text))


def unix_lines(text: str) -> str:
    """The text with every line end as a line feed: TeX reads all three kinds alike."""
    return _NEWLINE.sub("\n", text) if "\r" in text else text


def _dominant_newline(text: str) -> str:
    if "\r" not in text:
        return "\n"
    pairs = text.count("\r\n")
    alone = {"\r\n": pairs, "\r": text.count("\r") - pairs, "\n": text.count("\n") - pairs}
    return max(alone, key=lambda kind: alone[kind])
