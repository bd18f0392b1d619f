"""Where the shards of a stage run: on threads of the flow's process, or on Dask workers, here or elsewhere.

Only the choice belongs here. ``EVENHAND_DASK`` makes it: ``tcp://host:8786`` names a running scheduler, ``local:2``
starts that many worker processes for each stage; without it shards run on threads.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

from prefect import runtime
from prefect.task_runners import ThreadPoolTaskRunner

from storage.errors import EnvironmentProblem

VARIABLE = "EVENHAND_DASK"


def are_threads() -> bool:
    """Whether shards run in the flow's own process."""
    return not os.environ.get(VARIABLE)


def is_deployed() -> bool:
    """Whether a worker started this process for a deployment: then the providers' global limits hold, or it fails."""
    return "PREFECT__FLOW_RUN_ID" in os.environ


def run_name() -> str:
    """What a flow run is called: the flow and the suite, of a suite file its name without the folder."""
    suite = Path(str(runtime.flow_run.parameters.get("suite", "")))
    return f"{runtime.flow_run.flow_name}-{suite.stem if suite.suffix in ('.yaml', '.yml') else suite.name}"


def task_runner(threads: int) -> Any:
    """The task runner of a stage.

    Args:
        threads: shards in progress at a time in one process.

    Raises:
        EnvironmentProblem: when Dask is asked for and the extra ``cluster`` is missing, or the value is no address.
    """
    place = os.environ.get(VARIABLE)
    if not place:
        return ThreadPoolTaskRunner(max_workers=threads)
    try:
        runner = importlib.import_module("prefect_dask").DaskTaskRunner
    except ImportError as error:
        raise EnvironmentProblem(f"{VARIABLE} is set: install evenhand[cluster] for Dask") from error
    kind, _, rest = place.partition(":")
    if kind == "local" and rest.isdigit() and int(rest) > 0:
        workers = {"n_workers": int(rest), "threads_per_worker": threads, "processes": True, "dashboard_address": None}
        return runner(cluster_kwargs=workers)
    if "://" in place:
        return runner(address=place)
    raise EnvironmentProblem(f"{VARIABLE}={place}: write tcp://host:port of a scheduler, or local:2 for two workers")
