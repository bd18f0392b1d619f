"""What a TeX log says: the first error and its type, undefined references, whether a bibliography was refused.

Logs are bytes in any encoding; they are read with replacement and never stop a build's verdict.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_ERROR = re.compile(r"^(?:!\s*(?P<bang>.*)|(?:\./)?(?P<file>[^\s:][^:\n]*?):(?P<line>\d+):\s(?P<text>.*))$", re.M)
_AT_LINE = re.compile(r"^l\.(\d+)", re.M)
_NOT_FOUND = re.compile(
    r"File [`']([^'\n]+)' not found|I can't find file [`']?([^'\n.]+[^'\n]*?)'?\.?$|"
    r"(?:cannot find|Unable to (?:load|find)) (?:image|picture)? ?(?:file )?[`']?([^'\n]+)'?",
    re.I,
)
_UNDEFINED_REFERENCE = re.compile(r"Reference [`']([^'\n]+)' on page \S+ undefined")
_UNDEFINED_CITATION = re.compile(r"Citation [`']([^'\n]+?)'?,? (?:on page \S+ )?undefined|Citation '([^'\n]+)' on page")
_WRONG_BBL = re.compile(r"wrong format version|bbl file .* (?:was )?created by|\.bbl' (?:is )?(?:wrong|created)", re.I)
_SHELL = re.compile(r"shell.?escape", re.I)
_CAPACITY = re.compile(r"TeX capacity exceeded|memory exhausted|not enough memory", re.I)
_CONTEXT = re.compile(r"^(?:l\.\d+|<argument>|<recently read>|\S+\s*->).*$", re.M)
_PAGES = re.compile(r"Output written on .*?\((\d+) pages?")
PACKAGE_SUFFIXES = (".sty", ".cls", ".def", ".clo", ".fd", ".tfm", ".ldf", ".cfg", ".map", ".enc")


class Fault(NamedTuple):
    """The first error of a log: its type, one line for a person, the file that is missing (where one is)."""

    reason: str
    detail: str
    missing: str | None = None


def decode_log(data: bytes) -> str:
    """A log as text, whatever its encoding."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def first_fault(log: str) -> Fault | None:
    """The first error of a log, typed; None when it has none.

    Types: ``missing_package``, ``missing_file``, ``outside_project``, ``needs_shell_escape``, ``undefined_macro``,
    ``tex_capacity``, ``no_output``, ``tex_error``.
    """
    for found in _ERROR.finditer(log):
        text = (found["bang"] if found["bang"] is not None else found["text"]).strip()
        if not text or text.startswith(("==>", "Emergency stop", "Interruption")):
            continue
        if found["file"] is not None and not _is_error_line(found["file"], log, found.end()):
            continue
        return _typed(text, _place(found, log), log[found.end() : found.end() + 600])
    if "No pages of output" in log:
        return Fault("no_output", "the document has no pages of output")
    if re.search(r"^! ?(?:==>|Emergency stop)|Fatal error occurred", log, re.M):
        return Fault("tex_error", "TeX stopped: " + _tail_line(log))
    return None


def _is_error_line(file: str, log: str, end: int) -> bool:
    return bool(re.search(r"\.\w+$", file)) and bool(
        re.search(r"^l\.\d+|==> Fatal|^\?|<\*>|<read", log[end : end + 3000], re.M)
    )


def _place(found: re.Match[str], log: str) -> str:
    if found["file"] is not None:
        return f"{found['file']}:{found['line']}: "
    line = _AT_LINE.search(log, found.end(), found.end() + 3000)
    return f"l.{line[1]}: " if line else ""


def _typed(text: str, place: str, after: str) -> Fault:
    missing = _NOT_FOUND.search(text)
    detail = f"{place}{text}"
    if _SHELL.search(text):
        return Fault("needs_shell_escape", detail)
    if missing:
        name = next(group for group in missing.groups() if group).strip()
        if name.startswith(("/", "~")) or ".." in name.split("/"):
            return Fault("outside_project", f"{detail} (the file is not in the project)", name)
        return Fault("missing_package" if name.endswith(PACKAGE_SUFFIXES) else "missing_file", detail, name)
    if text.startswith("Undefined control sequence"):
        context = _CONTEXT.search(after)
        last = re.search(r"(\\[A-Za-z@]+|\\.)\s*$", context[0]) if context else None
        return Fault("undefined_macro", f"{detail.rstrip('.')}: {last[1]}" if last else detail)
    if re.search(r"(?:Command|Environment) \S+ undefined", text):
        return Fault("undefined_macro", detail)
    if _CAPACITY.search(text):
        return Fault("tex_capacity", detail)
    return Fault("tex_error", detail)


def _tail_line(log: str) -> str:
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return next(
        (line for line in reversed(lines) if not line.startswith(("!", "No pages", "Transcript"))), "no reason given"
    )


def undefined_references(log: str) -> frozenset[str]:
    """Labels that were referred to and not defined, of the last pass."""
    return frozenset(_UNDEFINED_REFERENCE.findall(log))


def undefined_citations(log: str) -> frozenset[str]:
    """Keys that were cited and not found, of the last pass."""
    return frozenset(first or second for first, second in _UNDEFINED_CITATION.findall(log))


def bibliography_refused(log: str) -> bool:
    """Whether a shipped ``.bbl`` was written for another biblatex and therefore ignored."""
    return bool(_WRONG_BBL.search(log))


def page_count(log: str) -> int | None:
    """Pages of the output, as the engine wrote them."""
    found = _PAGES.findall(log)
    return int(found[-1]) if found else None


def asked_for_shell(log: str) -> bool:
    """Whether the source tried to run a program; it was refused."""
    return "runsystem(" in log
