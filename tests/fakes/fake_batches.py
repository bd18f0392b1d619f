"""A stand-in for OpenAI's batch service in this process: files, batches that end when they are told to, their outputs.

Its state outlives the clients that talk to it, as the real service's does.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

import httpx2

Answer = Callable[[dict[str, Any]], dict[str, Any] | None]


def chat_body(content: str) -> dict[str, Any]:
    """A Chat Completions body."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    return {"id": "x", "model": "batched", "choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 10}}


class Connection(httpx2.AsyncBaseTransport):
    """What one client process has of the service."""

    def __init__(self, service: BatchService) -> None:
        self._service = service
        self._generation = service.generation

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if self._generation != self._service.generation:
            await asyncio.Event().wait()
        return await self._service.handle_async_request(request)


class BatchService(httpx2.AsyncBaseTransport):
    """Files and batches. ``is_done`` says whether batches end; ``answer`` gives an item's body, None for no response."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.is_done = True
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.fails: dict[str, int] = {}
        """Path -> status that it answers with, until taken out."""
        self.generation = 0
        """Of client processes; those of an earlier one are dead: they hear nothing any more."""
        self.drops_reply_to: str | None = None
        """A path that does its work and answers 500: the client dies before it hears of it."""

    @property
    def items(self) -> list[str]:
        """The custom ids of everything that was ever sent in a batch."""
        return [json.loads(line)["custom_id"] for batch in self.batches.values()
                for line in self.files[batch["input_file_id"]].splitlines()]

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        raw = await request.aread()
        path = request.url.path.removeprefix("/v1")
        if path in self.fails:
            return httpx2.Response(self.fails[path], json={"error": {"message": "fails"}})
        response = self._answered(request.method, path, raw)
        if path == self.drops_reply_to:
            return httpx2.Response(500, json={"error": {"message": "gone"}})
        return response

    def _answered(self, method: str, path: str, raw: bytes) -> httpx2.Response:
        if method == "POST" and path == "/files":
            name = f"file-{len(self.files)}"
            self.files[name] = b"\n".join(re.findall(rb'^\{"custom_id".*\}', raw, re.M))
            assert b'name="purpose"\r\n\r\nbatch' in raw
            return httpx2.Response(200, json={"id": name})
        if method == "POST" and path == "/batches":
            made = {"id": f"batch-{len(self.batches)}", "status": "in_progress", **json.loads(raw)}
            self.batches[made["id"]] = made
            return httpx2.Response(200, json=made)
        if path == "/batches":
            return httpx2.Response(200, json={"data": list(self.batches.values())})
        if path.startswith("/batches/"):
            return httpx2.Response(200, json=self._state(self.batches[path.rpartition("/")[2]]))
        if path.endswith("/content"):
            return httpx2.Response(200, content=self.files[path.split("/")[2]])
        return httpx2.Response(404, json={"error": {"message": path}})

    def _state(self, batch: dict[str, Any]) -> dict[str, Any]:
        if self.is_done and batch["status"] == "in_progress":
            lines = []
            for line in self.files[batch["input_file_id"]].splitlines():
                item = json.loads(line)
                body = self.answer(item["body"])
                if body is not None:
                    lines.append(json.dumps({"custom_id": item["custom_id"], "response": {"status_code": 200, "body": body}}))
            output = f"file-out-{batch['id']}"
            self.files[output] = "\n".join(reversed(lines)).encode()
            batch |= {"status": "completed", "output_file_id": output}
        return batch
