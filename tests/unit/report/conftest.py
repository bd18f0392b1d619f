"""Synthetic results and the pages made from them, once for all tests of the report."""

from __future__ import annotations

import pytest

from storage.results import Results
from tasks.report.page import render
from tests.fixtures.report_results import full_results, hostile_results, make_results


@pytest.fixture(scope="session")
def demo() -> Results:
    return make_results()


@pytest.fixture(scope="session")
def full() -> Results:
    return full_results()


@pytest.fixture(scope="session")
def hostile() -> Results:
    return hostile_results()


@pytest.fixture(scope="session")
def demo_page(demo: Results) -> str:
    return render(demo)


@pytest.fixture(scope="session")
def full_page(full: Results) -> str:
    return render(full)


@pytest.fixture(scope="session")
def hostile_page(hostile: Results) -> str:
    return render(hostile)
