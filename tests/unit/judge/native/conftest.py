"""One paper with a source, and a reviewer that is driven through its whole flow by scripted answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import httpx2
import pytest

from storage.records import Call, Judgement, Version
from storage.store import Store
from tasks.judge.cells import VersionRef, version_refs
from tasks.judge.protocols import Configuration
from tasks.judge.shards import ShardOrder, ShardReport, judge_shard
from tasks.latex.project import make_project, to_tar
from tasks.models.endpoints import EndpointSpec
from tasks.models.engine import Engine
from tests.unit.judge.conftest import Scripted, chat

TEX = r"""\documentclass{article}
\title{On Counting}
\begin{document}
\begin{abstract}We count to 17.\end{abstract}
\section{Introduction}
Counting matters.
\input{more}
\end{document}
"""
TEXT = """On Counting

Abstract

We count to 17.

1
Introduction

Counting matters. We count in 3 ways.

2 Method

The method is to count.

2.1 Details

Details of counting.

References

[1] Counting, 2017.

A Proofs

The appendix proves it.
"""

Answers = Sequence[str] | Callable[[dict[str, Any]], str | httpx2.Response]


@pytest.fixture
def paper(store: Store) -> VersionRef:
    """A paper with text and LaTeX source."""
    archive = to_tar(make_project({"main.tex": TEX.encode(), "more.tex": b"More \\cite{a} and $x^2$.\n"}))
    store.append(Version(key="v", family_key="f", condition="original", text_hash=store.put_text(TEXT),
                         source_hash=store.blobs.put(archive, "application/x-tar")))
    return version_refs(store, ["v"])[0]


class Desk:
    """Lets one reviewer judge the paper."""

    def __init__(self, store: Store, endpoint: EndpointSpec, scripted: Scripted, paper: VersionRef) -> None:
        self.store, self.endpoint, self.scripted, self.paper = store, endpoint, scripted, paper
        self.report: ShardReport | None = None

    def review(self, protocol: str, answers: Answers, *, repeats: int = 1, parameters: dict[str, Any] | None = None,
               **options: Any) -> Judgement:
        """The judgement of the paper; answers come in order, or by a function of the request."""
        left = None if callable(answers) else iter(answers)

        def answer(body: dict[str, Any]) -> httpx2.Response:
            said = answers(body) if callable(answers) else next(left)  # type: ignore[arg-type]
            return said if isinstance(said, httpx2.Response) else chat(said)

        self.scripted.answer = answer
        configuration = Configuration(name="c", endpoint="scripted", model="m", protocol=protocol, options=options,
                                      parameters=parameters or {})
        self.report = judge_shard(self.store, Engine(self.store, "run"), ShardOrder(
            configuration=configuration, endpoint=self.endpoint, versions=(self.paper,), repeats=repeats))
        return self.store.load(Judgement)[-1]

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """What was sent, in order."""
        return self.scripted.bodies

    def calls(self) -> list[Call]:
        """Every attempt that is stored."""
        return self.store.load(Call, view=False)


@pytest.fixture
def desk(store: Store, endpoint: EndpointSpec, scripted: Scripted, paper: VersionRef) -> Desk:
    """The reviewer's desk."""
    return Desk(store, endpoint, scripted, paper)
