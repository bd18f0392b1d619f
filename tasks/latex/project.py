"""A LaTeX project: its files as bytes, its main file, and its canonical archive.

What the files include of each other is in ``graph.py``, what their prose is in ``segments.py``. Untrusted archives are
unpacked by the ingest stage; here only folders and our own canonical archives are read.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from storage.errors import InputError
from tasks.latex.mainfile import choose_main
from tasks.latex.source import Source, declared_encoding, decode

_IGNORED = frozenset({".git", ".svn", "__pycache__", "__MACOSX", ".DS_Store", ".hg"})


@dataclass(frozen=True)
class Project:
    """A LaTeX project.

    Attributes:
        files: path from the project's root, with ``/`` -> bytes.
        main: the main file, a key of ``files``.
        ambiguous: other files that could have been the main one, best first; empty when there was no doubt.
    """

    files: Mapping[str, bytes]
    main: str
    ambiguous: tuple[str, ...] = field(default=())

    @property
    def encoding(self) -> str | None:
        """Codec of the main file's inputenc option, None when it declares none."""
        return declared_encoding(self.files[self.main])

    def source(self, name: str) -> Source:
        """A file as characters.

        Raises:
            KeyError: when the project has no such file.
        """
        return decode(self.files[name], self.encoding)

    def with_files(self, changed: Mapping[str, bytes]) -> Project:
        """The project with some files replaced."""
        return Project({**self.files, **changed}, self.main, self.ambiguous) if changed else self


def make_project(files: Mapping[str, bytes], main: str | None = None, *, name: str = "project") -> Project:
    """A project from its files; the main file is found unless it is given.

    Raises:
        InputError: no file can be the main one, or the given one is missing.
    """
    if main is not None:
        if main not in files:
            raise InputError(f"{name}: there is no file {main}; name one of its TeX files as the main file")
        return Project(dict(files), main)
    chosen, others = choose_main(files, name)
    return Project(dict(files), chosen, others)


def load_project(source: Path | str | bytes, main: str | None = None) -> Project:
    """A project from a folder, or from the bytes of a canonical archive (``to_tar``).

    Raises:
        InputError: the folder is missing or holds no main file.
    """
    if isinstance(source, bytes):
        return make_project(_from_tar(source), main)
    folder = Path(source)
    if not folder.is_dir():
        raise InputError(f"{folder}: there is no such folder")
    files: dict[str, bytes] = {}
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if not _IGNORED.intersection(inside.parts) and path.is_file() and not path.is_symlink():
            files[inside.as_posix()] = path.read_bytes()
    return make_project(files, main, name=folder.name)


def to_tar(project: Project) -> bytes:
    """The canonical archive: equal files give equal bytes (sorted names, no times, no owners, not compressed)."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(project.files):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = len(project.files[name]), 0o644, 0
            archive.addfile(entry, io.BytesIO(project.files[name]))
    return buffer.getvalue()


def _from_tar(data: bytes) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
        for entry in archive:
            content = archive.extractfile(entry) if entry.isfile() else None
            if content is not None:
                files[entry.name] = content.read()
    return files
