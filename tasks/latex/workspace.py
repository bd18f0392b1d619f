"""The folder of one build: a project's files written out, and what a build left read back.

Fresh for every build and removed after it. Running TeX in it is ``compile.py``'s matter.
"""

from __future__ import annotations

import posixpath
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from storage.errors import InputError
from tasks.latex.log import decode_log
from tasks.latex.project import Project

_STALE = (
    ".aux",
    ".log",
    ".out",
    ".toc",
    ".fls",
    ".fdb_latexmk",
    ".synctex.gz",
    ".blg",
    ".lof",
    ".lot",
    ".pdf",
    ".bcf",
    ".run.xml",
)
_NEVER_CARRIED = (
    ".log",
    ".pdf",
    ".fls",
    ".fdb_latexmk",
    ".blg",
    ".synctex.gz",
    ".dvi",
    ".ps",
    ".xdv",
    ".pk",
    ".mf",
    ".tfm",
)
CARRY_LIMIT = 30 << 20
_SAFE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+ @=-]*\Z")


@dataclass(frozen=True)
class Workspace:
    """Where a build runs.

    Attributes:
        root: the project's root.
        folder: the main file's folder, in which TeX runs.
        home: an empty folder outside of the project.
        main: the main file's name in ``folder``.
        job: ``main`` without its suffix.
    """

    root: Path
    folder: Path
    home: Path
    main: str
    project: Project

    @property
    def job(self) -> str:
        """The name that TeX gives to what it writes."""
        return posixpath.splitext(self.main)[0]

    def text(self, suffix: str) -> str:
        """A file that the build wrote, by suffix, as text; "" when there is none."""
        path = self.folder / (self.job + suffix)
        return decode_log(path.read_bytes()) if path.is_file() else ""

    def data(self, suffix: str) -> bytes | None:
        """A file that the build wrote, by suffix; None when there is none or it is empty."""
        path = self.folder / (self.job + suffix)
        return (path.read_bytes() or None) if path.is_file() else None

    def opened(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The files under the root that TeX read (from the ``.fls``): the project's, and those that it had written."""
        ours: set[str] = set()
        written: set[str] = set()
        for line in self.text(".fls").splitlines():
            if not line.startswith("INPUT "):
                continue
            name = self._inside(line[6:])
            if name is not None:
                (ours if name in self.project.files else written).add(name)
        return tuple(sorted(ours)), tuple(sorted(written))

    def _inside(self, path: str) -> str | None:
        full = self.folder / path
        try:
            return (
                posixpath.normpath(full.relative_to(self.root).as_posix())
                if not Path(path).is_absolute() or (full.is_relative_to(self.root))
                else None
            )
        except ValueError:
            return None

    def carry(self) -> dict[str, bytes]:
        """What a later build of a variant may start from: files that TeX wrote and reads again."""
        shipped_bbl = posixpath.splitext(self.project.main)[0] + ".bbl"
        names = [*self.opened()[1], shipped_bbl]
        found: dict[str, bytes] = {}
        total = 0
        for name in dict.fromkeys(names):
            path = self.root / name
            if name.endswith(_NEVER_CARRIED) or not path.is_file() or path.is_symlink():
                continue
            data = path.read_bytes()
            total += len(data)
            if total > CARRY_LIMIT:
                return {}
            if self.project.files.get(name) != data:
                found[name] = data
        return found


@contextmanager
def workspace(project: Project, extra: Mapping[str, bytes] | None = None) -> Iterator[Workspace]:
    """A fresh folder with the project's files, and ``extra`` ones over them.

    What an author's own build of the main file left (``.aux``, ``.log``, ``.pdf`` ...) is not written; a ``.bbl`` is.

    Raises:
        InputError: a file's name leads out of the folder, or the main file's name is not one that TeX can be given.
    """
    main = posixpath.basename(project.main)
    if not _SAFE_NAME.match(main):
        raise InputError(f"{project.main}: rename the main file; its name has characters that TeX's programs misread")
    stem = posixpath.splitext(project.main)[0]
    stale = {stem + suffix for suffix in _STALE}
    with tempfile.TemporaryDirectory(prefix="evenhand-build-", ignore_cleanup_errors=True) as made:
        # kpathsea compares paths as text: a temporary folder behind a symbolic link would look like another place.
        top = Path(made).resolve()
        root, home = top / "build", top / "home"
        root.mkdir()
        home.mkdir()
        for name, data in {**project.files, **(extra or {})}.items():
            if name in stale and name not in (extra or {}):
                continue
            path = root / name
            if name.startswith("/") or ".." in name.split("/"):
                raise InputError(f"{name}: a project's file cannot lie outside of its folder")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        yield Workspace(root, root / posixpath.dirname(project.main), home, main, project)
