"""PDFs on their way to a model: uploaded once for each file and endpoint, or carried inside the request.

Here belongs where a file's bytes go. The id that an endpoint gave is remembered in the step ledger, so that later runs
do not upload again; an endpoint that has no files route gets the bytes inline from then on.
"""

from __future__ import annotations

import asyncio
import base64
from typing import Any

from storage.keys import step_key
from storage.records import Step
from storage.store import Store
from tasks.models.client import Client
from tasks.models.endpoints import EndpointSpec
from tasks.models.outcomes import Reply

NO_FILES_ROUTE = frozenset({400, 404, 405, 410, 415, 422, 501})


class UploadFailed(Exception):
    """A PDF could not be uploaded for a reason that may pass; ``reply`` is what the endpoint said."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.error or reply.outcome)
        self.reply = reply


def _key(endpoint: EndpointSpec, pdf_hash: str) -> str:
    return step_key("upload", 1, base_url=endpoint.identity, pdf=pdf_hash)


class Uploads:
    """The files of one endpoint; used from the engine's loop only."""

    def __init__(self, store: Store, endpoint: EndpointSpec, run_id: str | None) -> None:
        self._store = store
        self._endpoint = endpoint
        self._run_id = run_id
        self._inline = False
        self._ids: dict[str, asyncio.Task[str | None]] = {}

    async def field(self, client: Client, pdf_hash: str) -> dict[str, Any]:
        """The fields that stand for a PDF in a request: its ``file_id``, or its name and data.

        Raises:
            UploadFailed: when the upload failed for a passing reason.
            storage.errors.StoreDamaged: when the blob is not there.
        """
        if not self._inline:
            task = self._ids.get(pdf_hash)
            if task is None:
                task = self._ids[pdf_hash] = asyncio.create_task(self._identify(client, pdf_hash))
            try:
                file_id = await asyncio.shield(task)
            except UploadFailed:
                self._ids.pop(pdf_hash, None)
                raise
            if file_id is not None:
                return {"file_id": file_id}
        data = await asyncio.to_thread(self._store.blobs.get, pdf_hash)
        coded = base64.b64encode(data).decode()
        return {"filename": _name(pdf_hash), "file_data": f"data:application/pdf;base64,{coded}"}

    def forget(self, pdf_hash: str) -> None:
        """Drops an id that the endpoint does not know any more; the file is uploaded anew."""
        self._ids.pop(pdf_hash, None)
        self._store.append(self._step(pdf_hash, None))

    async def _identify(self, client: Client, pdf_hash: str) -> str | None:
        """The remembered id, or that of a fresh upload; None where the endpoint takes no files."""
        key = _key(self._endpoint, pdf_hash)
        steps = await asyncio.to_thread(self._store.load, Step, [key], view=False)
        if steps:
            file_id = max(steps, key=lambda step: step.at).output.get("file_id")
            if file_id is not None:
                return str(file_id)
        data = await asyncio.to_thread(self._store.blobs.get, pdf_hash)
        uploaded = await client.upload(_name(pdf_hash), data)
        if isinstance(uploaded, str):
            self._store.append(self._step(pdf_hash, uploaded))
            return uploaded
        if uploaded.http_status in NO_FILES_ROUTE:
            self._inline = True
            return None
        raise UploadFailed(uploaded)

    def _step(self, pdf_hash: str, file_id: str | None) -> Step:
        return Step(
            key=_key(self._endpoint, pdf_hash),
            step="upload",
            outcome="done" if file_id else "failed",
            reason=None if file_id else "file_gone",
            output={"file_id": file_id},
            run_id=self._run_id,
        )


def _name(pdf_hash: str) -> str:
    """A name that says nothing about the paper: judges must not read a condition from it."""
    return f"{pdf_hash.rpartition(':')[2][:12]}.pdf"
