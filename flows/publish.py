"""Publish: one self-contained page, the exports beside it, and Prefect artifacts."""

from __future__ import annotations

from pathlib import Path

from prefect import flow

from flows.home import default_store, home
from flows.progress import BOARD
from flows.version_pages import write_version_pages
from storage.results import Results
from storage.store import Store, open_store
from tasks.report.artifacts import publish_artifacts
from tasks.report.drawings import drawings
from tasks.report.exports import write_exports
from tasks.report.page import write_report


def default_out(suite: str) -> Path:
    """Where a suite's report goes when nobody says."""
    return home() / "reports" / suite


def stored_results(store: Store, name: str) -> Results:
    """Results as ``aggregate`` stored them.

    Raises:
        StoreDamaged: when they are gone or changed.
    """
    return Results.model_validate_json(store.blobs.get(name))


def write_all(results: Results, store: Store, folder: Path) -> tuple[Path, list[Path]]:
    """Writes the page, the versions' pages and all exports; figures are drawn once for all of them.

    Returns:
        The page, and the files beside it.
    """
    versions = write_version_pages(results, store, folder)
    drawn = drawings(results)
    page = write_report(results, folder, has_version_pages=versions is not None, drawn=drawn)
    return page, write_exports(results, folder, drawn)


@flow(name="publish", flow_run_name="publish-{results_hash}")
def publish(results_hash: str, store_url: str | None = None, out: str | None = None) -> str:
    """Write the page and the exports of results that ``aggregate`` made.

    Args:
        results_hash: what aggregate returned.
        store_url: where everything is remembered; by default .evenhand/store.duckdb.
        out: the folder; by default .evenhand/reports/SUITE.

    Returns:
        The page's path.
    """
    store = open_store(store_url or default_store())
    results = stored_results(store, results_hash)
    folder = Path(out) if out else default_out(results.suite)
    BOARD.start("publish", 1)
    page, _ = write_all(results, store, folder)
    publish_artifacts(results, page=page.resolve().as_uri())
    BOARD.advance("publish")
    BOARD.end("publish")
    return str(page)
