"""A wording that breaks the build, or changes what the paper refers to, is found and taken back; the others stay."""

from __future__ import annotations

import pytest

from tasks.latex.masks import Segment
from tasks.latex.segments import segments
from tasks.rewrite import fitting
from tasks.rewrite.fitting import Paper, fit
from tasks.rewrite.producers import rewritable


@pytest.fixture
def parts(small: Paper) -> list[Segment]:
    return rewritable(segments(small.project))


def _with(part: Segment, more: str) -> str:
    return f"{part.text.rstrip('.')}{more}."


def test_harmless_wordings_take_one_build(small: Paper, parts: list[Segment]) -> None:
    made = fit(small, parts, {part.id: _with(part, " indeed") for part in parts})
    assert (made.faults, made.reverted, made.builds) == ([], [], 1)
    assert made.project.files["main.tex"].count(b" indeed.") == len(parts)


@pytest.mark.parametrize("bad", [0, 2, -1])
def test_the_log_names_the_wording_that_stops_tex(small: Paper, parts: list[Segment], bad: int) -> None:
    texts = {part.id: _with(part, " indeed") for part in parts}
    texts[parts[bad].id] = _with(parts[bad], r" \nosuchmacro")
    made = fit(small, parts, texts)
    assert made.faults == []
    assert made.reverted == [parts[bad].id]
    assert made.builds == 2
    assert set(made.texts) == {part.id for part in parts} - {parts[bad].id}


@pytest.mark.parametrize("more", [r" \label{sec:new}", r" \cite{nobody}", r" \ref{sec:nowhere}"])
def test_a_wording_that_changes_the_sets_is_bisected(small: Paper, parts: list[Segment], more: str) -> None:
    texts = {part.id: _with(part, " indeed") for part in parts}
    texts[parts[2].id] = _with(parts[2], more)
    made = fit(small, parts, texts)
    assert (made.faults, made.reverted) == ([], [parts[2].id])
    assert made.builds <= 6


def test_several_culprits_are_found_one_after_the_other(small: Paper, parts: list[Segment]) -> None:
    texts = {part.id: _with(part, " indeed") for part in parts}
    texts[parts[1].id] = _with(parts[1], r" \nosuchmacro")
    texts[parts[3].id] = _with(parts[3], r" \label{sec:new}")
    made = fit(small, parts, texts)
    assert made.faults == []
    assert sorted(made.reverted) == sorted([parts[1].id, parts[3].id])


def test_too_many_culprits_are_given_up(small: Paper, parts: list[Segment], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "MAX_CULPRITS", 2)
    made = fit(small, parts, {part.id: _with(part, r" \nosuchmacro") for part in parts})
    assert made.faults
    assert len(made.reverted) == 2
