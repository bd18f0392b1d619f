"""The Prefect API that a run on one machine talks to.

Where ``PREFECT_API_URL`` is set, that server is used. Otherwise a local server (SQLite, with the UI) is kept in
``home()/prefect`` by a keeper process (``keeper.py``), and several runs share it. Deployments and workers do not belong
here.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from prefect.settings import (
    PREFECT_API_URL,
    PREFECT_CLIENT_MAX_RETRIES,
    PREFECT_FLOWS_HEARTBEAT_FREQUENCY,
    PREFECT_HOME,
    PREFECT_LOCAL_STORAGE_PATH,
    temporary_settings,
)

from flows.keeper import TRIES, ensure, recorded, use
from storage.errors import EnvironmentProblem

START_TIMEOUT_S = 120.0


def start_local_server(folder: Path) -> str:
    """Make sure that the local server of ``folder`` runs, and wait for it.

    The caller must be a user of it (see ``keeper.use``).

    Returns:
        The API's URL.

    Raises:
        EnvironmentProblem: when it does not come up; names the log file.
    """
    deadline = time.monotonic() + START_TIMEOUT_S
    starts = 0
    keeper = None
    while time.monotonic() < deadline:
        if url := recorded(folder):
            return url
        if keeper is None or keeper.poll() is not None:
            if starts == 3:
                break
            keeper = ensure(folder) or keeper
            starts += keeper is not None
        time.sleep(0.1)
    if keeper is not None and keeper.poll() is None:
        keeper.terminate()
    raise EnvironmentProblem(f"the local Prefect server did not start; its log is {folder / 'server.log'}")


@contextlib.contextmanager
def prefect_api(home: Path) -> Iterator[str]:
    """Flows inside this context report to a Prefect API.

    Args:
        home: where a managed server keeps its database and log.

    Yields:
        The API's URL.
    """
    if given := os.environ.get("PREFECT_API_URL"):
        yield given
        return
    folder = home / "prefect"
    with use(folder):
        url = start_local_server(folder)
        settings = {
            PREFECT_API_URL: url,
            PREFECT_HOME: folder,
            PREFECT_CLIENT_MAX_RETRIES: TRIES,
            PREFECT_LOCAL_STORAGE_PATH: folder / "storage",
            # Nobody watches for silence here, and each flow would wait up to a second for its heartbeat to stop.
            PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None,
        }
        with temporary_settings(settings):
            yield url
