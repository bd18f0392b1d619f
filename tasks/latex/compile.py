"""Building a project: does it build, what does it define and refer to, and what is the PDF.

The verdict comes from exit codes, the log and the sets of the auxiliary files, never from "there is a PDF". An
original is built by latexmk (or Tectonic) from nothing; a variant starts from its original's auxiliary files and runs
the engine alone, until another pass would change nothing. Programs run in ``sandbox.py``, folders are
``workspace.py``'s.
"""

from __future__ import annotations

import os
import posixpath
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from tasks.latex import sandbox
from tasks.latex.engines import INSTALL_HINT, Wanted, tex_available, wanted
from tasks.latex.graph import parts
from tasks.latex.log import (
    Fault,
    asked_for_shell,
    bibliography_refused,
    first_fault,
    page_count,
)
from tasks.latex.project import Project
from tasks.latex.sandbox import Limits, Ran
from tasks.latex.sets import GRAPHICS, Sets, read_sets, set_differences, settled_form, uses_pages
from tasks.latex.workspace import Workspace, workspace

__all__ = ["Build", "Limits", "build", "differences", "tex_available"]

MAX_PASSES = 5
_SEATS = threading.BoundedSemaphore(max(os.cpu_count() or 1, 1))
"""Builds of this process at one time: more than one a core only makes each of them slower."""
LOG_TAIL = 6_000
_SAFE_FLAGS = ("-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "-file-line-error", "-recorder")
_PDF_ENGINES = ("pdflatex", "xelatex", "lualatex")
_MODES = {"pdflatex": "-pdf", "xelatex": "-pdfxe", "lualatex": "-pdflua", "latex": "-pdfps"}


@dataclass(frozen=True)
class Build:
    """What came of building a project.

    Attributes:
        ok: the document builds.
        reason: None when it does; else ``missing_package``, ``missing_file``, ``outside_project``, ``undefined_macro``,
            ``needs_shell_escape``, ``missing_tool``, ``timed_out``, ``too_big``, ``too_many_processes``,
            ``tex_capacity``, ``no_output``, ``bibliography_failed``, ``tex_error``.
        detail: one line for a person, with file and line where the log gives them.
        pdf: the document.
        sets: what it defines and refers to.
        pages: of the document.
        seconds: wall time of all that was run.
        log_tail: the end of the log.
        flags: ``not_settled`` (references change with every pass), ``bibliography_not_rendered``,
            ``bibliography_errors``, ``asked_for_shell``.
        carry: files that a variant's build starts from.
        inputs: files of the project that TeX opened.
        engine: what it was built with.
        passes: engine runs of a variant; 0 where latexmk counted them.
        missing: the file that was not found.
    """

    ok: bool
    reason: str | None = None
    detail: str | None = None
    pdf: bytes | None = field(default=None, repr=False)
    sets: Sets = field(default_factory=Sets, repr=False)
    pages: int | None = None
    seconds: float = 0.0
    log_tail: str = field(default="", repr=False)
    flags: tuple[str, ...] = ()
    carry: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    inputs: tuple[str, ...] = field(default=(), repr=False)
    engine: str = ""
    passes: int = 0
    missing: str | None = None


def build(project: Project, *, baseline: Build | None = None, limits: Limits | None = None) -> Build:
    """Build a project in a fresh folder.

    Args:
        project: what to build.
        baseline: the build of the original that ``project`` is a variant of; it makes the build several times faster
            and
            gives the same verdict. None: from nothing.
        limits: of time, memory and output.

    Raises:
        EnvironmentProblem: this machine has no TeX.
        InputError: a file's name cannot be used.
    """
    install = tex_available()
    known = baseline is not None and baseline.ok and baseline.engine in _PDF_ENGINES and bool(baseline.carry)
    # A variant's preamble is its original's, and so is what it needs.
    want = Wanted(baseline.engine, None) if known and baseline else wanted(project, install)
    if want.problem:
        return Build(
            False,
            "missing_tool",
            f"{want.problem} is not installed, which {project.main} needs: {INSTALL_HINT}",
            engine=want.engine,
            missing=want.problem,
        )
    used = limits or Limits()
    with _SEATS, workspace(project, baseline.carry if known and baseline else None) as space:
        started = time.monotonic()
        run = _Run(space, want, used, started + used.seconds)
        if known and baseline:
            run.carried, run.read = tuple(baseline.carry), baseline.inputs
            run.passes_until_settled()
        elif want.engine == "pdftex":
            run.ran = run.call(["pdftex", *_SAFE_FLAGS, space.main])
        elif want.engine == "tectonic":
            run.ran = run.call(_tectonic(space.main))
        else:
            run.from_nothing()
        return run.result(started)


def _tectonic(main: str) -> list[str]:
    return ["tectonic", "-X", "compile", "--untrusted", "--keep-logs", "--keep-intermediates", "--outdir", ".", main]


class _Run:
    """The state of one build while it goes on."""

    def __init__(self, space: Workspace, want: Wanted, limits: Limits, deadline: float) -> None:
        self.space, self.want, self.limits, self.deadline = space, want, limits, deadline
        self.carried: tuple[str, ...] = ()
        self.read: tuple[str, ...] = ()
        self.ran: Ran | None = None
        self.passes = 0
        self.flags: set[str] = set()

    def call(self, command: list[str]) -> Ran:
        left = max(self.deadline - time.monotonic(), 0.1)
        return sandbox.run(command, self.space.folder, self.limits, seconds=left, home=self.space.home)

    def from_nothing(self) -> None:
        """Latexmk does what is needed; where only its bibliography step or its pass counter complains, we go on."""
        bibliography = {None: "-bibtex-", "bibtex": "-bibtex-cond", "biber": "-bibtex"}[self.want.bibliography]
        self.ran = self.call(
            ["latexmk", "-norc", _MODES[self.want.engine], *_SAFE_FLAGS, bibliography, self.space.main]
        )
        if self.ran.code == 0 or self.ran.stopped or first_fault(self.space.text(".log")):
            return
        if "needed too many passes" in self.ran.output:
            self.flags.add("not_settled")
            self.ran = Ran(0, None, self.ran.seconds, self.ran.output)
        elif self.want.bibliography and self.space.text(".blg") and self.space.data(".bbl"):
            self.flags.add("bibliography_errors")
            self.passes_until_settled()

    def passes_until_settled(self) -> None:
        """Run the engine until another pass would typeset the same."""
        project = self.space.project
        names = self.read or tuple(part.file for part in parts(project))
        with_pages = uses_pages(
            project.files[name].decode("latin-1")
            for name in names
            if name in project.files and not name.lower().endswith((*GRAPHICS, ".sty", ".cls"))
        )
        before = self._settled(with_pages)
        for number in range(1, MAX_PASSES + 1):
            self.ran = self.call([self.want.engine, *_SAFE_FLAGS, self.space.main])
            self.passes = number
            if self.ran.code or self.ran.stopped:
                return
            after = self._settled(with_pages)
            if after == before:
                return
            before = after
        self.flags.add("not_settled")

    def _settled(self, with_pages: bool) -> dict[str, str | bytes]:
        """Everything that the next pass would read, in a form that is equal when it would typeset the same."""
        found: dict[str, str | bytes] = {}
        for name in self.space.opened()[1] or self.carried:
            path = self.space.root / name
            if path.is_file() and not name.endswith((".fls", ".run.xml", ".bbl")):
                data = path.read_bytes()
                found[name] = (
                    settled_form(data.decode("latin-1"), with_pages=with_pages) if name.endswith(".aux") else data
                )
        return found

    def result(self, started: float) -> Build:
        space, ran = self.space, self.ran
        log = space.text(".log")
        inputs, _ = space.opened()
        fault = self._fault(log)
        pdf = space.data(".pdf")
        if fault is None and pdf is None:
            fault = Fault("no_output", "TeX ended without an error and without a document")
        auxiliary = {
            path.relative_to(space.root).as_posix(): path.read_bytes().decode("latin-1")
            for suffix in ("*.aux", "*.bbl")
            for path in space.root.rglob(suffix)
            if path.is_file()
        }
        auxiliary = {
            name: text
            for name, text in auxiliary.items()
            if name not in space.project.files or name == posixpath.splitext(space.project.main)[0] + ".bbl"
        }
        sets = read_sets(auxiliary, log, inputs)
        flags = self.flags | ({"asked_for_shell"} if asked_for_shell(log) else set())
        if sets.citations and (bibliography_refused(log) or not sets.bibitems) and fault is None:
            flags.add("bibliography_not_rendered")
        return Build(
            ok=fault is None,
            reason=fault.reason if fault else None,
            detail=fault.detail if fault else None,
            pdf=pdf if fault is None else None,
            sets=sets,
            pages=page_count(log) if fault is None else None,
            seconds=time.monotonic() - started,
            log_tail=log[-LOG_TAIL:] or (ran.output[-LOG_TAIL:] if ran else ""),
            flags=tuple(sorted(flags)),
            carry=space.carry() if fault is None else {},
            inputs=inputs,
            engine=self.want.engine,
            passes=self.passes,
            missing=fault.missing if fault else None,
        )

    def _fault(self, log: str) -> Fault | None:
        ran = self.ran
        if ran is None:
            return Fault("tex_error", "nothing was run")
        if ran.stopped:
            what = {
                "timed_out": f"TeX did not end within {self.limits.seconds:.0f} s",
                "too_big": "TeX wrote more than the limit allows",
                "too_many_processes": "the build started too many processes",
            }[ran.stopped]
            return Fault(ran.stopped, what)
        found = first_fault(log)
        if found is not None:
            return found
        if ran.code == 0:
            return None
        return self._failed_without_error(ran)

    def _failed_without_error(self, ran: Ran) -> Fault:
        report = self.space.text(".blg")
        line = next(
            (line for line in report.splitlines() if line.startswith(("I couldn't open", "ERROR", "I found no"))), None
        )
        if line and self.want.bibliography:
            return Fault("bibliography_failed", f"{self.want.bibliography}: {line.strip()}")
        if ran.code < 0 or ran.code > 128:
            return Fault("tex_error", f"TeX was ended by signal {-ran.code if ran.code < 0 else ran.code - 128}")
        said = [line.strip() for line in ran.output.splitlines() if line.strip()]
        return Fault("tex_error", f"exit code {ran.code}: {said[-1] if said else 'no message'}")


def differences(baseline: Build, variant: Build) -> list[str]:
    """Why a variant's build does not match its original's; empty when it does.

    A variant must build, with the same labels, citations, undefined references, figures and bibliography entries, and
    with a bibliography where the original has one. Pages may differ.
    """
    if not variant.ok:
        return [f"does not build: {variant.reason}: {variant.detail}"]
    found = set_differences(baseline.sets, variant.sets)
    new_flags = set(variant.flags) - set(baseline.flags) - {"not_settled"}
    return found + [f"new: {flag}" for flag in sorted(new_flags)]
