"""Unpacking what a stranger packed: told by its content, and never outside of memory.

An archive becomes a mapping of names to bytes, or a refusal with a typed reason. Nothing is written to disk here, no
link is followed, and sizes are counted before anything is inflated.
"""

from __future__ import annotations

import bz2
import io
import lzma
import re
import stat
import tarfile
import zipfile
import zlib
from dataclasses import dataclass
from typing import Any, Literal

from tasks.latex.pdftext import is_pdf

Kind = Literal["tar", "gzip", "bzip2", "xz", "zip", "pdf", "html", "tex", "empty", "unknown"]
_HTML = re.compile(rb"\A(?:\xef\xbb\xbf)?\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.I | re.S)
_TEX = re.compile(rb"\\(?:documentclass|documentstyle|begin\s*\{document\}|input|bye|section|end)\b")
_SKIPPED = re.compile(r"(?:^|/)(?:__MACOSX|\.git|\.svn)(?:/|$)|(?:^|/)(?:\._[^/]*|\.DS_Store)$")


@dataclass(frozen=True)
class UnpackLimits:
    """Caps on one archive: packed bytes, unpacked bytes, bytes of one file, files."""

    packed_bytes: int = 300 << 20
    total_bytes: int = 600 << 20
    file_bytes: int = 250 << 20
    files: int = 20_000


class ArchiveRefused(Exception):
    """Bytes that are not taken as a paper.

    ``reason``: ``html_page``, ``empty``, ``not_an_archive``, ``damaged``, ``outside_path``, ``link``, ``special_file``,
    ``bad_name``, ``too_big``, ``too_many_files``, ``encrypted``.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True)
class Unpacked:
    """What was in it: a LaTeX project's files, or one PDF."""

    kind: Literal["latex", "pdf"]
    files: dict[str, bytes]


def sniff(data: bytes) -> Kind:
    """What bytes are, by their content; a name's suffix says nothing."""
    if not data.strip(b"\0 \t\r\n"):
        return "empty"
    if data[:2] == b"\x1f\x8b":
        return "gzip"
    if data[:3] == b"BZh":
        return "bzip2"
    if data[:6] == b"\xfd7zXZ\x00":
        return "xz"
    if data[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return "zip"
    if _HTML.match(data[:4096]):
        return "html"
    if data[257:262] == b"ustar" or _is_old_tar(data):
        return "tar"
    if is_pdf(data):
        return "pdf"
    if b"\0" not in data[:4096] and _TEX.search(data):
        return "tex"
    return "unknown"


def _is_old_tar(data: bytes) -> bool:
    """A tar without the ustar mark: its first header's checksum is right."""
    if len(data) < 512:
        return False
    try:
        wanted = int(data[148:156].strip(b" \0") or b"-1", 8)
    except ValueError:
        return False
    return sum(data[:148]) + sum(data[156:512]) + 8 * 32 == wanted


def unpack(data: bytes, *, limits: UnpackLimits | None = None) -> Unpacked:
    """The project or the PDF in a source file: archive, bare gzip of one TeX file, TeX file, or PDF.

    Raises:
        ArchiveRefused: it is none of them, is damaged, or tries to leave its place.
    """
    used = limits or UnpackLimits()
    if len(data) > used.packed_bytes:
        raise ArchiveRefused("too_big", f"the file has {len(data):,} bytes; at most {used.packed_bytes:,} are read")
    kind = sniff(data)
    if kind in ("gzip", "bzip2", "xz"):
        data = _inflated(data, kind, used)
        kind = sniff(data)
        if kind in ("gzip", "bzip2", "xz"):
            raise ArchiveRefused("not_an_archive", "it is compressed twice")
    if kind == "tar":
        return Unpacked("latex", _checked(_tar(data, used)))
    if kind == "zip":
        return Unpacked("latex", _checked(_zip(data, used)))
    if kind == "pdf":
        return Unpacked("pdf", {"main.pdf": data})
    if kind == "tex":
        return Unpacked("latex", {"main.tex": data})
    if kind == "html":
        raise ArchiveRefused(
            "html_page", "it is a web page, not a paper (a server's error page was saved); fetch it again"
        )
    if kind == "empty":
        raise ArchiveRefused("empty", "it is empty")
    raise ArchiveRefused("not_an_archive", "it is no tar, gzip, zip, PDF or TeX file")


def _inflated(data: bytes, kind: Kind, limits: UnpackLimits) -> bytes:
    """Decompressed bytes, never more than the limit allows; several members one after the other are one stream."""
    made = bytearray()
    rest = data
    try:
        while rest:
            engine = _engine(kind)
            made += engine.decompress(rest, limits.total_bytes - len(made) + 1)
            if len(made) > limits.total_bytes:
                raise ArchiveRefused("too_big", f"it inflates to more than {limits.total_bytes:,} bytes")
            if not engine.eof:
                raise ArchiveRefused("damaged", "its compressed data ends too early")
            rest = engine.unused_data.lstrip(b"\0")
            if kind == "gzip" and rest[:2] != b"\x1f\x8b":
                break
    except (zlib.error, OSError, lzma.LZMAError, EOFError, ValueError) as error:
        raise ArchiveRefused("damaged", f"its compressed data is damaged: {error}") from error
    return bytes(made)


def _engine(kind: Kind) -> Any:
    if kind == "gzip":
        return zlib.decompressobj(31)
    return bz2.BZ2Decompressor() if kind == "bzip2" else lzma.LZMADecompressor()


def _tar(data: bytes, limits: UnpackLimits) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    total = 0
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:", encoding="utf-8", errors="surrogateescape") as archive:
            for entry in archive:
                name = _name(entry.name)
                if entry.issym() or entry.islnk():
                    raise ArchiveRefused("link", f"{name} is a link to {entry.linkname!r}")
                if entry.isdir():
                    continue
                if not entry.isreg() or entry.sparse is not None:
                    raise ArchiveRefused("special_file", f"{name} is no regular file")
                total = _count(len(files) + 1, total, entry.size, name, limits)
                content = archive.extractfile(entry)
                if content is not None and not _SKIPPED.search(name):
                    files[name] = content.read()
    except (tarfile.TarError, OverflowError, ValueError, EOFError) as error:
        raise ArchiveRefused("damaged", f"the tar is damaged: {error}") from error
    return files


def _zip(data: bytes, limits: UnpackLimits) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    total = 0
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for entry in archive.infolist():
                name = _name(entry.filename)
                if stat.S_ISLNK(entry.external_attr >> 16):
                    raise ArchiveRefused("link", f"{name} is a link")
                if entry.is_dir():
                    continue
                if entry.flag_bits & 1:
                    raise ArchiveRefused("encrypted", f"{name} needs a password")
                total = _count(len(files) + 1, total, entry.file_size, name, limits)
                with archive.open(entry) as content:
                    read = content.read(entry.file_size + 1)
                if len(read) > entry.file_size:
                    raise ArchiveRefused("too_big", f"{name} is longer than the archive says")
                if not _SKIPPED.search(name):
                    files[name] = read
    except (zipfile.BadZipFile, NotImplementedError, zlib.error, EOFError, OSError, ValueError) as error:
        raise ArchiveRefused("damaged", f"the zip is damaged: {error}") from error
    return files


def _count(files: int, total: int, size: int, name: str, limits: UnpackLimits) -> int:
    if files > limits.files:
        raise ArchiveRefused("too_many_files", f"it holds more than {limits.files:,} files")
    if size > limits.file_bytes or total + size > limits.total_bytes:
        raise ArchiveRefused("too_big", f"with {name} it unpacks to more than is allowed")
    return total + size


def _name(name: str) -> str:
    """An entry's name as a plain relative path.

    Raises:
        ArchiveRefused: it leads elsewhere, or no file can have it.
    """
    path = name.replace("\\", "/")
    if path.startswith("/") or re.match(r"[A-Za-z]:", path) or ".." in path.split("/"):
        raise ArchiveRefused("outside_path", f"the entry {name!r} leads out of the archive's folder")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if any(ord(mark) < 32 or 0xD800 <= ord(mark) < 0xE000 for mark in path) or any(
        len(part.encode()) > 255 for part in parts
    ):
        raise ArchiveRefused("bad_name", f"no file can be named {name[:80]!r}")
    return "/".join(parts)


def _checked(files: dict[str, bytes]) -> dict[str, bytes]:
    if not files:
        raise ArchiveRefused("empty", "the archive holds no file")
    folders = {"/".join(name.split("/")[:depth]) for name in files for depth in range(1, name.count("/") + 1)}
    both = folders & set(files)
    if both or "" in files:
        raise ArchiveRefused("bad_name", f"{sorted(both)[0] if both else 'an entry'!r} is a file and a folder at once")
    return files
