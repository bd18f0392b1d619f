"""Starts and stops ``mock_openai.py`` as a process of its own, on a free port, for tests and benchmarks."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

SCRIPT = Path(__file__).with_name("mock_openai.py")


class MockServer:
    """A running mock endpoint. Use it as a context manager."""

    def __init__(self, latency_ms: float = 0.0, faults: Mapping[str, Any] | None = None, seed: int = 0) -> None:
        command = [sys.executable, "-u", str(SCRIPT), "--port", "0", "--latency-ms", str(latency_ms)]
        command += ["--faults", json.dumps(dict(faults or {})), "--seed", str(seed)]
        self._process = subprocess.Popen(
            [sys.executable, "-u", "-c", _ANY_PORT, *command[2:]], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if "listening on" not in line:
            raise RuntimeError(f"the mock server did not start: {line!r}")
        self.base_url = line.split("listening on ", 1)[1].strip()

    def stats(self) -> dict[str, Any]:
        """What the server has seen."""
        return self._call("stats")

    def faults(self, **table: Any) -> None:
        """Replaces the fault table; names that are no identifiers go in as ``**{"429": 1}``."""
        self._call("faults", table)

    def reset(self) -> None:
        """Zeroes the statistics."""
        self._call("reset")

    def stop(self) -> None:
        """Ends the process."""
        self._process.terminate()
        self._process.wait(10)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _call(self, path: str, body: Any = None) -> Any:
        root = self.base_url.removesuffix("/v1")
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(f"{root}/{path}", data), timeout=10) as reply:
            return json.loads(reply.read())

    def __enter__(self) -> MockServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


_ANY_PORT = """
import asyncio, runpy, sys
script, sys.argv = sys.argv[1], sys.argv[1:]
start = asyncio.start_server
async def start_server(*args, **kwargs):
    server = await start(*args, **kwargs)
    port = server.sockets[0].getsockname()[1]
    print(f"listening on http://127.0.0.1:{port}/v1", flush=True)
    return server
asyncio.start_server = start_server
runpy.run_path(script, run_name="__main__")
"""
"""The script prints the port it was given; port 0 means any, and the first line here says which one it became."""
