"""The lines to the endpoints of this process: for each one client, one limiter, and what its models do not accept.

Here belongs what all engines and runs of a process share, because the endpoint's limits do not care who asks. Used from
the engine's loop only.
"""

from __future__ import annotations

import asyncio

from tasks.models.bodies import Adaptation
from tasks.models.client import Client, open_client
from tasks.models.endpoints import EndpointSpec
from tasks.models.limiter import Limiter


class Line:
    """One endpoint: how fast it may be asked, how it is reached, and what each model there was found not to accept."""

    def __init__(self, endpoint: EndpointSpec) -> None:
        self.endpoint = endpoint
        self.limiter = Limiter(endpoint)
        self._adaptations: dict[str, Adaptation] = {}
        self._opening = asyncio.Lock()
        self._client: Client | None = None

    async def client(self) -> Client:
        """The endpoint's client, opened on first use.

        Raises:
            EnvironmentProblem: when the key's variable is not set, or the extra ``local`` is not installed.
        """
        if self._client is None:
            async with self._opening:
                if self._client is None:
                    self._client = await open_client(self.endpoint)
        return self._client

    def adaptation(self, model: str) -> Adaptation:
        """What ``model`` was found not to accept here."""
        return self._adaptations.setdefault(model, Adaptation())

    async def close(self) -> None:
        """Closes the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()


class Lines:
    """The lines of one loop, by what an endpoint is; its label in a suite makes no difference."""

    def __init__(self) -> None:
        self._lines: dict[str, Line] = {}

    def to(self, endpoint: EndpointSpec) -> Line:
        """The line to an endpoint."""
        name = endpoint.fingerprint
        line = self._lines.get(name)
        if line is None:
            line = self._lines[name] = Line(endpoint)
        return line

    def reopen(self) -> None:
        """Lets every endpoint be tried again."""
        for line in self._lines.values():
            line.limiter.reopen()

    async def close(self) -> None:
        """Closes all connections."""
        for line in self._lines.values():
            await line.close()
        self._lines.clear()
