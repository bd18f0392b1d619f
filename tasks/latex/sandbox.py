"""Running a program of a TeX installation on files that nobody trusts.

Limits of time, memory, output and processes, a group of processes that dies as one, an environment that TeX reads as
paranoid. What is run, and what its outcome means, is decided in ``compile.py``.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import psutil

Stopped = Literal["timed_out", "too_big", "too_many_processes"]
POLL_S = 0.05
WATCH_S = 0.4
_SHELL = (
    'ulimit -c 0; ulimit -t "$1" 2>/dev/null; ulimit -v "$2" 2>/dev/null; ulimit -f "$3" 2>/dev/null; '
    'shift 3; exec "$@"'
)
_BLOCK = 512


@dataclass(frozen=True)
class Limits:
    """What one build may use.

    Attributes:
        seconds: wall time of the whole build; the processor time of each process is bounded by it too.
        memory_bytes: address space of each process.
        file_bytes: the largest file a process may write.
        folder_bytes: everything in the build folder together.
        processes: of the build at one time.
    """

    seconds: float = 240.0
    memory_bytes: int = 4 << 30
    file_bytes: int = 300 << 20
    folder_bytes: int = 600 << 20
    processes: int = 40


@dataclass(frozen=True)
class Ran:
    """How a program ended: its exit code (negative: a signal), why we stopped it (None: we did not), wall seconds."""

    code: int
    stopped: Stopped | None
    seconds: float
    output: str


@cache
def _font_cache() -> Path:
    """A folder for fonts that TeX makes on the way, of this process alone; removed when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="evenhand-texmf-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def environment(home: Path) -> dict[str, str]:
    """The variables of a build: nothing of the user's but the search path, and TeX at its most careful.

    ``openin_any=p`` and ``openout_any=p`` keep TeX and BibTeX inside the build folder. The fixed date makes equal
    sources give equal PDFs.
    """
    fonts = _font_cache()
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "TMPDIR": str(home),
        "LC_ALL": "C.UTF-8",
        "TEXMFVAR": str(fonts / "var"),
        "TEXMFCONFIG": str(fonts / "config"),
        "TEXMFHOME": str(fonts / "home"),
        "TEXMFCACHE": str(fonts / "var"),
        "VARTEXFONTS": str(fonts / "fonts"),
        "openin_any": "p",
        "openout_any": "p",
        "shell_escape": "f",
        "max_print_line": "4096",
        "error_line": "254",
        "half_error_line": "238",
        "SOURCE_DATE_EPOCH": "1577836800",
        "FORCE_SOURCE_DATE": "1",
    }


def run(command: Sequence[str], folder: Path, limits: Limits, *, seconds: float | None = None, home: Path) -> Ran:
    """Run a program in a folder under limits.

    Args:
        command: the program and its arguments; no shell sees them.
        folder: working directory; its size is watched.
        limits: see ``Limits``.
        seconds: wall time left, where it is less than the limit's.
        home: an empty folder outside of ``folder`` for HOME and temporary files.
    """
    wall = min(limits.seconds, seconds if seconds is not None else limits.seconds)
    started = time.monotonic()
    output = home / "output.txt"
    arguments = [
        "/bin/sh",
        "-c",
        _SHELL,
        "sh",
        str(max(int(wall) + 2, 3)),
        str(limits.memory_bytes // 1024),
        str(limits.file_bytes // _BLOCK),
        *command,
    ]
    with output.open("wb") as sink:
        process = subprocess.Popen(
            arguments,
            cwd=folder,
            env=environment(home),
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            stopped = _watch(process, folder, limits, started + wall)
        finally:
            _kill_group(process)
    text = output.read_bytes()[-20_000:].decode("utf-8", errors="replace")
    code = process.returncode
    # A driver does not pass on the signal that ended its engine: the file that reached the limit tells.
    if stopped is None and code and _largest_file(folder) >= limits.file_bytes - _BLOCK:
        stopped = "too_big"
    if stopped is None and code in (-signal.SIGXCPU, 128 + signal.SIGXCPU):
        stopped = "timed_out"
    return Ran(code, stopped, time.monotonic() - started, text)


def _watch(process: subprocess.Popen[bytes], folder: Path, limits: Limits, deadline: float) -> Stopped | None:
    look_again = time.monotonic() + WATCH_S
    while True:
        try:
            process.wait(timeout=POLL_S)
        except subprocess.TimeoutExpired:
            now = time.monotonic()
            if now > deadline:
                return "timed_out"
            if now > look_again:
                look_again = now + WATCH_S
                if folder_size(folder) > limits.folder_bytes:
                    return "too_big"
                if _count_processes(process.pid) > limits.processes:
                    return "too_many_processes"
        else:
            return "too_big" if folder_size(folder) > limits.folder_bytes else None


def folder_size(folder: Path) -> int:
    """Bytes of all files under a folder; files that vanish meanwhile count nothing."""
    return sum(_sizes(folder))


def _largest_file(folder: Path) -> int:
    return max(_sizes(folder), default=0)


def _sizes(folder: Path) -> Iterator[int]:
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                yield os.lstat(os.path.join(parent, name)).st_size  # noqa: PTH118 - called several times a second
            except FileNotFoundError:
                continue


def _count_processes(leader: int) -> int:
    try:
        return 1 + len(psutil.Process(leader).children(recursive=True))
    except psutil.NoSuchProcess:
        return 0


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """End everything that the build started, also what outlived its leader."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
