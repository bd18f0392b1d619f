"""Families built by a real TeX, without the ingest stage: a demo paper and a small document that is quick to build."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from storage.records import Family
from storage.store import Store, open_store
from tasks.latex.baseline import MEDIA_TYPE, build_facts, carry_archive
from tasks.latex.compile import build
from tasks.latex.pdftext import pdf_text
from tasks.latex.project import Project, load_project, make_project, to_tar
from tasks.rewrite.fitting import Paper

ROOT = Path(__file__).resolve().parents[3]
SMALL = rb"""\documentclass{article}
\begin{document}
\title{A Method for Small Things}
\maketitle
\begin{abstract}
In this paper, we propose a method for small things and show that it is better than existing methods on many tasks.
\end{abstract}
\section{Introduction}\label{sec:intro}
We propose a simple method. Our results in Table~\ref{tab:one} show that the model improves the score by 12.5 points,
because the data are large~\cite{knuth}. However, existing methods are faster than our approach in many cases.

The results suggest that our model is useful for practice, and the gap is larger than expected in all settings.
It can be seen that the effect in Section~\ref{sec:intro} is important for the users of the method.

We evaluate the method on several tasks and find that it is based on a simple idea with $x = 3$ parameters.
\begin{table}\caption{The scores of the method on all of the tasks.}\label{tab:one}
\begin{tabular}{c}1\end{tabular}\end{table}
\begin{thebibliography}{1}\bibitem{knuth} D. Knuth. A book.\end{thebibliography}
\end{document}
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A fresh store."""
    made = open_store(tmp_path / "store.duckdb")
    yield made
    made.close()


@pytest.fixture(scope="session")
def small() -> Paper:
    """The small document and its build."""
    return _paper(make_project({"main.tex": SMALL}))


@pytest.fixture(scope="session")
def demo() -> Paper:
    """A demo paper of several files and its build."""
    return _paper(load_project(ROOT / "deployments" / "suites" / "papers" / "quiet-frames"))


def _paper(project: Project) -> Paper:
    made = build(project)
    assert made.ok, made.detail
    return Paper(project, made)


@pytest.fixture(scope="session")
def family_of() -> Callable[[Store, Paper], Family]:
    """Puts a paper into a store as the ingest stage would, as far as rewriting needs it."""
    def make(store: Store, paper: Paper) -> Family:
        assert paper.baseline.pdf is not None
        text = pdf_text(paper.baseline.pdf)
        family = Family(
            key="sha256:" + "f" * 64, family="paper", source_kind="latex", title="A Method for Small Things",
            source_hash=store.blobs.put(to_tar(paper.project), "application/x-tar"), main_file=paper.project.main,
            text_hash=store.put_text(text.text), pdf_hash=store.blobs.put(paper.baseline.pdf, "application/pdf"),
            pages=paper.baseline.pages, words=text.words,
            facts={"build": build_facts(paper.baseline, store.blobs.put(carry_archive(paper.baseline), MEDIA_TYPE))})
        store.append(family)
        return family

    return make


@pytest.fixture(scope="session")
def faulty_writer() -> ModuleType:
    """The module with the fake model that writes, well or badly."""
    spec = importlib.util.spec_from_file_location("faulty_writer", ROOT / "tests" / "fakes" / "faulty_writer.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
