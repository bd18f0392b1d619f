"""What a family's variants are made from: its project, and how the original builds.

The build is kept for the process, so that every producer of a family starts from the same one. Here belongs getting it;
the first build of a family, and its verdict, are the ingest stage's.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

from storage.errors import InputError
from storage.records import Family
from storage.store import Store
from tasks.latex.compile import Limits, build
from tasks.latex.project import load_project
from tasks.rewrite.fitting import Paper

KEPT: Final = 8
"""Papers whose builds are kept: producers of one family mostly follow each other."""
_kept: OrderedDict[str, Paper] = OrderedDict()
_guards: dict[str, threading.Lock] = {}
_guard = threading.Lock()


def paper_of(store: Store, family: Family, limits: Limits | None = None) -> Paper:
    """The project of a family and the build of its original.

    Args:
        store: where the source lies.
        family: a family with LaTeX source.
        limits: of the builds.

    Raises:
        InputError: the family has no LaTeX source, or its original does not build here.
        EnvironmentProblem: this machine has no TeX.
    """
    if family.source_kind != "latex":
        raise InputError(f"{family.family}: a {family.source_kind} has no LaTeX source to rewrite")
    with _guard:
        mine = _guards.setdefault(family.key, threading.Lock())
    with mine:
        with _guard:
            if family.key in _kept:
                _kept.move_to_end(family.key)
                return _kept[family.key]
        project = load_project(store.blobs.get(family.source_hash), main=family.main_file)
        made = build(project, limits=limits)
        if not made.ok:
            raise InputError(f"{family.family}: the original does not build here: {made.reason}: {made.detail}")
        paper = Paper(project, made, limits)
        with _guard:
            _kept[family.key] = paper
            while len(_kept) > KEPT:
                _guards.pop(_kept.popitem(last=False)[0], None)
        return paper
