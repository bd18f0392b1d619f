"""Prose to rewrite: the demo papers' segments, and a passage written for the tests."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from tasks.latex.masks import Segment
from tasks.latex.project import load_project
from tasks.latex.segments import segments
from tasks.rewrite.producers import rewritable

PAPERS = Path(__file__).resolve().parents[3] / "deployments" / "suites" / "papers"


@pytest.fixture(scope="session")
def demo_segments() -> dict[str, list[Segment]]:
    """Demo paper -> its rewritable segments."""
    folders = sorted(path for path in PAPERS.iterdir() if path.is_dir())
    assert len(folders) >= 6
    return {path.name: rewritable(segments(load_project(path))) for path in folders}


@pytest.fixture
def passage() -> str:
    """A paragraph of ordinary scientific prose, with masks and numbers."""
    return (
        "In this paper, we propose a method for ranking documents ⟦1⟧. Our approach uses a small model and shows that "
        "existing methods lose about 12.5 points on many tasks. However, the results in Table ⟦2⟧ suggest that the gap "
        "is larger than expected, because the data contain several kinds of noise.\nWe evaluate our method on 3 data "
        "sets, where ⟦3⟧ is the number of queries. The model improves the score by 0.04 and is based on a simple idea. "
        "This problem is important for practice, so we also discuss its limits. It can be seen that the model is "
        "better than the baseline. Finally, we describe the code."
    )


@pytest.fixture(scope="session")
def faulty_writer() -> ModuleType:
    """The module with the fake model that writes, well or badly."""
    place = Path(__file__).resolve().parents[2] / "fakes" / "faulty_writer.py"
    spec = importlib.util.spec_from_file_location("faulty_writer", place)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
