"""The papers in a folder: LaTeX folders, TeX files, archives, PDFs - one family each, named after its entry.

Finds and reads; what a paper becomes is ``family.py``'s matter. A paper that cannot be read is not an error of the
run: it is a ``Material`` with the reason, so that it can be excluded by name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from storage.errors import InputError
from storage.keys import content_hash
from storage.records import Step
from storage.store import Store
from tasks.ingest.archive import ArchiveRefused, sniff, unpack
from tasks.latex.project import Project, load_project, make_project, to_tar

_SUFFIX = re.compile(r"\.(?:tar\.gz|tar\.bz2|tar\.xz|tgz|tar|zip|gz|pdf|tex|ltx)$", re.I)
_NOT_PAPERS = (
    ".md",
    ".csv",
    ".tsv",
    ".json",
    ".jsonl",
    ".yaml",
    ".yml",
    ".txt",
    ".bib",
    ".bst",
    ".cls",
    ".sty",
    ".png",
    ".jpg",
    ".log",
    ".aux",
    ".py",
    ".toml",
    ".lock",
    ".sha256",
    ".html",
    ".parquet",
)
_PLAIN_FILES = frozenset({"license", "licence", "readme", "makefile", "copying", "notice"})


NOT_FETCHED = frozenset(
    {
        "rate_limited", "blocked", "server_error", "timed_out", "no_connection", "html_page_instead", "empty_answer",
        "broken_answer", "closed",
    }
)
"""Why a source could not be fetched this time; the next run tries again."""


@dataclass(frozen=True)
class ImportedVersion:
    """A rewrite that came with a paper, as a PDF."""

    condition: str
    producer: str
    path: Path
    content: str
    """Hash of the PDF."""


@dataclass(frozen=True)
class Material:
    """What a source holds.

    Attributes:
        kind: ``latex``, ``pdf``, or ``unusable``.
        content: hash of the canonical archive, of the PDF, or of the raw bytes.
        project: of LaTeX.
        pdf: the bytes.
        reason: why it is unusable; a typed word.
        detail: the same in a sentence.
        title: what the source's catalogue says; the paper's own title comes first.
        facts: what else is known of it, for the family's ``facts``.
        versions: rewrites that came with it.
    """

    kind: Literal["latex", "pdf", "unusable"]
    content: str
    project: Project | None = field(default=None, repr=False)
    archive: bytes = field(default=b"", repr=False)
    pdf: bytes = field(default=b"", repr=False)
    reason: str = ""
    detail: str = ""
    title: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    versions: tuple[ImportedVersion, ...] = ()


class Source(Protocol):
    """Where one family comes from: a file, a paper on a server, a paper of a release."""

    @property
    def name(self) -> str:
        """The family's name."""

    def look(self, store: Store) -> Material | Step | None:
        """What is here of it already, or the step that says why it is not; None: it was never asked for."""

    def read(self, store: Store, *, run_id: str | None = None, retry: Collection[str] = ()) -> Material | Step:
        """The same, got where it is not here; a step (appended) where it could not be."""


@dataclass(frozen=True)
class PaperSource:
    """One entry of a folder of papers."""

    name: str
    path: Path

    def look(self, store: Store) -> Material:  # noqa: ARG002 - a file needs no store
        """The paper."""
        return read_source(self)

    def read(
        self, store: Store, *, run_id: str | None = None, retry: Collection[str] = ()  # noqa: ARG002
    ) -> Material:
        """The paper."""
        return read_source(self)


def find_sources(path: Path) -> list[PaperSource]:
    """The papers of a folder, sorted by name; a file is a folder with one paper.

    Raises:
        InputError: the folder is missing or empty, or two entries have one name.
    """
    if not path.exists():
        raise InputError(f"{path}: there is no such folder; set families.path to a folder with papers")
    if path.is_file():
        return [PaperSource(_family_name(path), path)]
    found = [PaperSource(_family_name(entry), entry) for entry in sorted(path.iterdir()) if _may_be_paper(entry)]
    if not found:
        raise InputError(f"{path}: it holds no paper (a LaTeX folder, an archive, a .tex or a .pdf)")
    by_name: dict[str, PaperSource] = {}
    for source in found:
        other = by_name.setdefault(source.name, source)
        if other is not source:
            raise InputError(
                f"{path}: {other.path.name} and {source.path.name} would both be the family {source.name}; "
                "rename one of them"
            )
    return found


def _family_name(path: Path) -> str:
    return path.name if path.is_dir() else _SUFFIX.sub("", path.name) or path.name


def _may_be_paper(entry: Path) -> bool:
    if entry.name.startswith((".", "__")) or entry.name.lower() in _PLAIN_FILES:
        return False
    if entry.is_dir():
        return any(_holds_paper(inside) for inside in sorted(entry.rglob("*")))
    return entry.is_file() and not entry.name.lower().endswith(_NOT_PAPERS)


def _holds_paper(path: Path) -> bool:
    """Whether a file in a folder makes the folder a paper: TeX or PDF, by name or by content."""
    if not path.is_file():
        return False
    if path.name.lower().endswith((".tex", ".ltx", ".pdf")):
        return True
    with path.open("rb") as file:
        return sniff(file.read(8192)) in ("tex", "pdf")


def read_source(source: PaperSource) -> Material:
    """Read one paper; never raises for what is in it."""
    if source.path.is_dir():
        return _from_folder(source)
    data = source.path.read_bytes()
    return read_bytes(data, source.name)


def read_bytes(data: bytes, name: str) -> Material:
    """The same for a paper that was fetched: an archive, a PDF, a TeX file, or none of them."""
    try:
        unpacked = unpack(data)
    except ArchiveRefused as refused:
        return Material("unusable", content_hash(data), reason=refused.reason, detail=f"{name}: {refused.detail}")
    if unpacked.kind == "pdf":
        pdf = unpacked.files["main.pdf"]
        return Material("pdf", content_hash(pdf), pdf=pdf)
    return _latex(unpacked.files, name)


def _from_folder(source: PaperSource) -> Material:
    try:
        project = load_project(source.path)
    except InputError as problem:
        return _without_main(_folder_files(source.path), source.name, problem)
    return _packed(project)


def _folder_files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def _latex(files: Mapping[str, bytes], name: str) -> Material:
    try:
        return _packed(make_project(files, name=name))
    except InputError as problem:
        return _without_main(files, name, problem)


def _packed(project: Project) -> Material:
    archive = to_tar(project)
    return Material("latex", content_hash(archive), project, archive)


def _without_main(files: Mapping[str, bytes], name: str, problem: InputError) -> Material:
    """No document among the files: a single PDF is the paper, anything else is unusable."""
    pdfs = [file for file, data in files.items() if sniff(data) == "pdf"]
    if len(pdfs) == 1 and not any(file.lower().endswith((".tex", ".ltx")) for file in files):
        return Material("pdf", content_hash(files[pdfs[0]]), pdf=files[pdfs[0]])
    listing = "\n".join(f"{file} {content_hash(data)}" for file, data in sorted(files.items()))
    text = str(problem)
    return Material(
        "unusable",
        content_hash(listing),
        reason="no_main_file",
        detail=text if text.startswith(name) else f"{name}: {text}",
    )
