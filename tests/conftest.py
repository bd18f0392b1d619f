"""Fixtures that every test may use, and the rules that every test obeys."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def _shared() -> Path | None:
    place = Path(os.environ.get("EVENHAND_SHARED", ROOT.parent / "shared"))
    return place if (place / "corpus").is_dir() else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests on the corpus need it beside the checkout: in CI its absence is a failure, elsewhere they are left out."""
    if _shared() is not None:
        return
    corpus = [item for item in items if item.get_closest_marker("corpus")]
    if corpus and os.environ.get("CI"):
        raise pytest.UsageError("../shared/corpus is not beside the checkout: set EVENHAND_SHARED to its parent")
    config.hook.pytest_deselected(items=corpus)
    items[:] = [item for item in items if item not in corpus]


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """How the last run ended, for ``.ci/run``: only failed tests of a run that was whole get another chance."""
    config = session.config
    if hasattr(config, "workerinput") or config.cache is None:
        return
    told = config.pluginmanager.get_plugin("terminalreporter")
    broken = any(isinstance(report, pytest.CollectReport) for report in told.stats.get("error", [])) if told else True
    config.cache.set("evenhand/ended", int(pytest.ExitCode.INTERRUPTED if broken else exitstatus))


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """Bytes name a test by their argument: an archive's bytes hold the time it was packed, and every worker must agree."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with the corpus of real LaTeX projects."""
    place = _shared()
    if place is None:
        raise pytest.UsageError("mark the test with @pytest.mark.corpus: it needs ../shared")
    return place


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT
