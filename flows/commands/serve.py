"""``evenhand serve``: a Prefect server with UI, a worker, deployments and limits on one machine, until Ctrl-C.

What the processes are is ``servant.py``'s matter, what the server is told ``setup.py``'s.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, Any

import typer
from prefect.client.orchestration import get_client
from prefect.settings import PREFECT_API_URL, PREFECT_HOME, PREFECT_LOCAL_STORAGE_PATH, temporary_settings

from flows.commands.console import logs_to_file, say
from flows.home import default_store, home, log_folder
from flows.servant import server, worker, worker_settings
from flows.setup import prepare
from flows.zombies import sweep
from storage.errors import EnvironmentProblem

Port = Annotated[int, typer.Option("--port", min=1, max=65535, help="Where the server and its UI listen.")]
Suites = Annotated[
    list[str] | None, typer.Option("--suite", help="A suite file whose providers get limits; may be given again.")
]
StoreUrl = Annotated[str | None, typer.Option("--store", help="URL of the store; default: .evenhand/store.duckdb.")]


@contextlib.contextmanager
def _api(port: int) -> Iterator[str]:
    """The API that ``PREFECT_API_URL`` names, or a server of our own."""
    if given := os.environ.get("PREFECT_API_URL"):
        say(f"server     {given} (from PREFECT_API_URL)")
        yield given
        return
    kind = "Postgres" if "postgres" in os.environ.get("PREFECT_API_DATABASE_CONNECTION_URL", "") else "SQLite"
    say("server     starting ...")
    with server(home() / "prefect", port, log_folder() / "server.log") as url:
        say(f"server     {url.removesuffix('/api')}  (the UI; {kind})")
        yield url


def _tell(made: dict[str, list[str]]) -> None:
    say(f"deployed   {', '.join(made['deployments'])}")
    if made["limits"]:
        say(f"limits     {', '.join(made['limits'])}")
    if made["schedules gone"]:
        say(f"schedules  taken away: {', '.join(made['schedules gone'])}")


def _terminate(*_: Any) -> None:
    raise KeyboardInterrupt


def _watch(process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None:
        time.sleep(0.5)
    raise EnvironmentProblem(f"the worker ended by itself; its log is {log_folder() / 'worker.log'}")


def serve(port: Port = 4200, suite: Suites = None, store: StoreUrl = None) -> None:
    """Serve until Ctrl-C: Prefect's UI, a worker, the deployments and the limits, on this machine."""
    folder = home() / "prefect"
    logs_to_file(log_folder() / "serve.log")
    signal.signal(signal.SIGTERM, _terminate)
    # This process calls the API from outside; a server's own settings of the same name are not for it.
    place = {PREFECT_HOME: folder, PREFECT_LOCAL_STORAGE_PATH: folder / "storage"}
    try:
        with _api(port) as url, temporary_settings(place | {PREFECT_API_URL: url}):
            _tell(prepare(suite))
            if "PREFECT_API_URL" not in os.environ:
                # Nobody else works for a server that has just been started: what counts as running is dead.
                with get_client(sync_client=True) as client:
                    for name in sweep(client, timedelta(0)):
                        say(f"crashed    {name}: left behind by an earlier worker; its next run resumes")
            settings = worker_settings(folder, home(), url) | {"EVENHAND_STORE": store or default_store()}
            with worker(settings, log_folder() / "worker.log") as process:
                say(f"worker     pool evenhand, queue store, one run at a time; store {settings['EVENHAND_STORE']}")
                say(f"logs       {log_folder()}")
                say("Ctrl-C ends all of it; a run that is under way is resumed by its next run.")
                _watch(process)
    except KeyboardInterrupt:
        say("ended")
