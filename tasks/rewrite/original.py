"""What a family's variants are made from: its project, and how the original builds, out of the store.

Here belongs getting it; the first build of a family, and its verdict, are the ingest stage's.
"""

from __future__ import annotations

from storage.records import Family
from storage.store import Store
from tasks.latex.baseline import load_paper
from tasks.latex.compile import Limits
from tasks.rewrite.fitting import Paper


def paper_of(store: Store, family: Family, limits: Limits | None = None) -> Paper:
    """The project of a family and the build of its original.

    Args:
        store: where source and build lie.
        family: a family with LaTeX source, as ingested.
        limits: of the variants' builds.

    Raises:
        InputError: the family has no LaTeX source.
        StoreError: a blob is gone.
    """
    return Paper(*load_paper(store, family), limits)
