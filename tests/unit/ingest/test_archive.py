"""Archives of strangers: told by content, hostile ones refused by name."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import tarfile
import zipfile
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.ingest.archive import ArchiveRefused, UnpackLimits, sniff, unpack

TEX = b"\\documentclass{article}\\begin{document}Hi.\\end{document}"


def tar(*entries: tuple[str, bytes], change: Callable[[tarfile.TarInfo], None] = lambda entry: None) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in entries:
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            change(entry)
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def packed(*entries: tuple[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return buffer.getvalue()


@pytest.mark.parametrize("pack", [lambda data: data, gzip.compress, bz2.compress, lzma.compress])
def test_tars_of_every_compression(pack: Callable[[bytes], bytes]) -> None:
    assert unpack(pack(tar(("a/main.tex", TEX), ("x.pdf", b"%PDF-1.4")))).files == {
        "a/main.tex": TEX,
        "x.pdf": b"%PDF-1.4",
    }


def test_b01_bare_gzip_of_one_tex_file() -> None:
    made = unpack(gzip.compress(TEX))
    assert (made.kind, made.files) == ("latex", {"main.tex": TEX})


def test_b03_pdf_plain_or_gzipped() -> None:
    assert unpack(b"%PDF-1.5 ...").kind == unpack(gzip.compress(b"%PDF-1.5 ...")).kind == "pdf"


def test_zip_with_a_mac_folder_and_windows_paths() -> None:
    made = unpack(packed(("paper\\main.tex", TEX), ("__MACOSX/x", b"1"), ("paper/._main.tex", b"2")))
    assert made.files == {"paper/main.tex": TEX}


@pytest.mark.parametrize(
    "page", [b"<!DOCTYPE html><title>Rate exceeded</title>", b"\n <html><body>no</body></html>", b"<!-- x --><HTML>"]
)
@pytest.mark.parametrize("pack", [lambda data: data, gzip.compress])
def test_b02_a_web_page_is_no_paper(page: bytes, pack: Callable[[bytes], bytes]) -> None:
    with pytest.raises(ArchiveRefused) as refused:
        unpack(pack(page))
    assert refused.value.reason == "html_page"


def links(kind: bytes, target: str) -> Callable[[tarfile.TarInfo], None]:
    def change(entry: tarfile.TarInfo) -> None:
        entry.type, entry.linkname, entry.size = kind, target, 0

    return change


def zip_link() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        entry = zipfile.ZipInfo("a.tex")
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(entry, "/etc/passwd")
    return buffer.getvalue()


HOSTILE = [
    ("outside_path", tar(("../evil.tex", TEX))),
    ("outside_path", tar(("a/../../evil.tex", TEX))),
    ("outside_path", tar(("/etc/cron.d/evil", TEX))),
    ("outside_path", packed(("..\\evil.tex", TEX))),
    ("outside_path", packed(("C:\\evil.tex", TEX))),
    ("link", tar(("a.tex", b""), change=links(tarfile.SYMTYPE, "/etc/passwd"))),
    ("link", tar(("a.tex", b""), change=links(tarfile.LNKTYPE, "../x"))),
    ("link", zip_link()),
    ("special_file", tar(("a", b""), change=links(tarfile.CHRTYPE, ""))),
    ("special_file", tar(("a", b""), change=links(tarfile.FIFOTYPE, ""))),
    ("bad_name", tar(("a", TEX), ("a/b", TEX))),
    ("bad_name", tar(("a\nb.tex", TEX))),
    ("empty", tar()),
    ("empty", b""),
    ("empty", packed()),
    ("damaged", tar(("main.tex", TEX * 100))[:700]),
    ("damaged", gzip.compress(tar(("main.tex", TEX * 100)))[:-20]),
    ("damaged", packed(("main.tex", TEX * 100))[:60]),
    ("not_an_archive", b"\x00\x01\x02hello"),
    ("not_an_archive", b"just some words"),
    ("not_an_archive", gzip.compress(gzip.compress(TEX))),
]


@pytest.mark.parametrize("reason, data", HOSTILE)
def test_hostile_and_damaged_archives_are_refused(reason: str, data: bytes) -> None:
    with pytest.raises(ArchiveRefused) as refused:
        unpack(data)
    assert refused.value.reason == reason
    assert refused.value.detail


LIMITS = UnpackLimits(packed_bytes=1 << 20, total_bytes=1 << 20, file_bytes=1 << 19, files=10)


@pytest.mark.parametrize(
    "reason, data",
    [
        ("too_big", gzip.compress(b"\0" * (8 << 20))),
        ("too_big", bz2.compress(b"\0" * (8 << 20))),
        ("too_big", packed(("a.tex", b"\0" * (8 << 20)))),
        ("too_big", tar(("a.tex", b"x" * (600 << 10)))),
        ("too_big", b"\\documentclass" + b" " * (2 << 20)),
        ("too_many_files", tar(*((f"{number}.tex", b"") for number in range(11)))),
        ("too_many_files", packed(*((f"{number}.tex", b"") for number in range(11)))),
    ],
)
def test_bombs(reason: str, data: bytes) -> None:
    with pytest.raises(ArchiveRefused) as refused:
        unpack(data, limits=LIMITS)
    assert refused.value.reason == reason


def test_a_tar_whose_first_file_is_a_pdf_is_a_tar() -> None:
    assert sniff(tar(("fig.pdf", b"%PDF-1.5 ..."), ("main.tex", TEX))) == "tar"


@given(st.binary(max_size=600) | st.binary(max_size=300).map(gzip.compress))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_taken_or_refused(data: bytes) -> None:
    try:
        made = unpack(data)
    except ArchiveRefused as refused:
        assert refused.reason
    else:
        assert made.files
