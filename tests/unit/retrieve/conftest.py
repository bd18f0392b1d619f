"""Limiters without waits, and an idea."""

from __future__ import annotations

import pytest

from storage.ideas import Idea, SourcePaper
from tasks.retrieve.limiter import Limiter


@pytest.fixture
def limiter(tmp_path):
    return Limiter("provider", tmp_path / "limits", interval_s=0.0, at_once=4)


@pytest.fixture
def idea():
    return Idea(
        title="Answer caching with entailment", domain="Computer Science",
        research_question="Which cached answers are stale?", problem="Rechecking everything costs too much.",
        mechanism="A small entailment model compares changed passages with answers.", variables=("stale share",),
        contribution="A rule for spending checks.", concepts=("answer caching", "textual entailment"),
        source=SourcePaper(title="The paper itself", doi="10.5555/self", year=2024, authors=("Ada Author",)),
    )
