"""Batch endpoints: requests gathered into a file, answered hours later at half the price, landing as ordinary calls.

Here belongs the waiting. What is asked and what an answer is worth is decided elsewhere: to an ask, a batch is a slow
request. A batch is remembered before it is waited for, so that the next process finds it again and pays nothing twice.

    what is asked   -> item "KEY-n": the n-th time that this ask is sent
    items           -> one JSON-lines file: uploaded, its id remembered; the batch made, its id remembered
    batch ended     -> each item's response is read like any other
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

import orjson

from storage.keys import content_hash, step_key
from storage.records import Step
from storage.store import Store
from storage.vocabulary import Outcome
from tasks.models.answers import read_reply
from tasks.models.client import PATHS, Client
from tasks.models.endpoints import EndpointSpec
from tasks.models.outcomes import Reply

MOST_ITEMS: Final = 50_000
MOST_BYTES: Final = 180_000_000
"""What OpenAI takes in one file, with room to spare."""
ENDED: Final = frozenset({"completed", "failed", "expired", "cancelled"})
_KEY_DIGITS: Final = 48


def item_name(ask_key: str, turn: int) -> str:
    """The name of one sending of one ask; at most 64 characters, as the service wants."""
    return f"{ask_key.rpartition(':')[2][:_KEY_DIGITS]}-{turn}"


class Batches:
    """The batches of one endpoint; used from the engine's loop only."""

    def __init__(self, store: Store, endpoint: EndpointSpec, run_id: str | None) -> None:
        self._store = store
        self._endpoint = endpoint
        self._run_id = run_id
        self._known: asyncio.Task[Reply | None] | None = None
        self._batch_of: dict[str, str] = {}
        """Item -> the batch that holds it, of batches of earlier processes."""
        self._delivered: set[str] = set()
        self._waiting: dict[str, asyncio.Future[tuple[Reply, bool]]] = {}
        """Item -> its reply, and whether that is the item's own: then it is not looked for in a batch again."""
        self._gathered: dict[str, bytes] = {}
        self._submitting: asyncio.Task[None] | None = None
        self._polled: dict[str, asyncio.Task[None]] = {}

    async def send(self, client: Client, ask_key: str, body: bytes) -> Reply:
        """Sends one request with the next batch, or finds it in one that an earlier process sent; waits for its reply.

        Args:
            client: the endpoint's.
            ask_key: whose request it is; a second sending of it is another item.
            body: the JSON body, as ``bodies.body_of`` makes it.
        """
        if self._known is None:
            self._known = asyncio.create_task(self._remember(client))
        unknown = await asyncio.shield(self._known)
        if unknown is not None:
            # What was paid for cannot be looked up now: nothing is sent before it can.
            self._known = None
            return unknown
        turn = 0
        while (name := item_name(ask_key, turn)) in self._delivered or name in self._waiting:
            turn += 1
        future = self._waiting[name] = asyncio.get_running_loop().create_future()
        earlier = self._batch_of.get(name)
        if earlier is not None:
            self._poll(client, earlier)
        else:
            self._gathered[name] = self._line(name, body)
            if self._submitting is None or self._submitting.done():
                self._submitting = asyncio.create_task(self._submit(client))
        try:
            reply, is_own = await future
        finally:
            self._waiting.pop(name, None)
            self._gathered.pop(name, None)
        if is_own:
            self._delivered.add(name)
            self._note("batch_item", name, {"item": name})
        return reply

    def _line(self, name: str, body: bytes) -> bytes:
        item = {"custom_id": name, "method": "POST", "url": f"/v1{PATHS[self._endpoint.api]}",
                "body": orjson.Fragment(body)}
        return orjson.dumps(item) + b"\n"

    def _note(self, step: str, name: str, output: dict[str, Any]) -> None:
        key = step_key(step, 1, base_url=self._endpoint.identity, name=name)
        self._store.append(Step(key=key, step=step, outcome="done", run_id=self._run_id,
                                output={"base_url": self._endpoint.identity, **output}))

    async def _remember(self, client: Client) -> Reply | None:
        """Finds the batches and deliveries of earlier processes; a batch whose id was never stored, by its file.

        Returns:
            Why that could not be found out; None when it was.
        """
        rows = await asyncio.to_thread(
            self._store.query, "SELECT step, output FROM steps WHERE step IN ('batch_file', 'batch', 'batch_item') "
            "ORDER BY \"at\"")
        calls = await asyncio.to_thread(
            self._store.query, "SELECT key, count(*) AS n FROM calls WHERE base_url = ? GROUP BY key",
            (self._endpoint.identity,))
        stored = {item_name(key, 0)[:-2]: n for key, n in calls.iter_rows()}
        files: dict[str, list[str]] = {}
        for step, output in rows.iter_rows():
            known = orjson.loads(output) if isinstance(output, str) else output
            if known.get("base_url") != self._endpoint.identity:
                continue
            if step == "batch_item":
                ask, _, turn = known["item"].rpartition("-")
                # A process that died between taking an answer and storing its call has delivered nothing.
                if stored.get(ask, 0) > int(turn):
                    self._delivered.add(known["item"])
            elif step == "batch_file":
                files[known["file_id"]] = known["items"]
            else:
                self._batch_of |= dict.fromkeys(files.pop(known["file_id"], []), known["batch_id"])
        if files:
            listed = await client.call("GET", "/batches?limit=100")
            if isinstance(listed, Reply):
                return listed
            for batch in listed.get("data", []):
                items = files.pop(str(batch.get("input_file_id")), [])
                self._batch_of |= dict.fromkeys(items, str(batch.get("id")))
        return None

    async def _submit(self, client: Client) -> None:
        """Sends what was gathered, when nothing more has come for a while."""
        while self._gathered:
            before = -1
            while before != len(self._gathered) < MOST_ITEMS:
                before = len(self._gathered)
                await asyncio.sleep(self._endpoint.batch_linger_s)
            taken: dict[str, bytes] = {}
            size = 0
            for name, line in self._gathered.items():
                if taken and (len(taken) >= MOST_ITEMS or size + len(line) > MOST_BYTES):
                    break
                taken[name], size = line, size + len(line)
            for name in taken:
                del self._gathered[name]
            await self._made(client, taken)

    async def _made(self, client: Client, taken: dict[str, bytes]) -> None:
        data = b"".join(taken.values())
        file_id = await client.upload(f"{content_hash(data)[7:19]}.jsonl", data, purpose="batch",
                                      media_type="application/jsonl")
        if isinstance(file_id, Reply):
            return self._settle(taken, file_id)
        self._note("batch_file", file_id, {"file_id": file_id, "items": list(taken)})
        wanted = {"input_file_id": file_id, "endpoint": f"/v1{PATHS[self._endpoint.api]}", "completion_window": "24h"}
        made = await client.call("POST", "/batches", wanted)
        if isinstance(made, Reply) or not isinstance(made.get("id"), str):
            return self._settle(taken, made if isinstance(made, Reply) else _broken("a batch without an id"))
        # Stored before it is waited for: a process that dies now has paid, and the next one finds it.
        self._note("batch", made["id"], {"file_id": file_id, "batch_id": made["id"]})
        self._batch_of |= dict.fromkeys(taken, made["id"])
        self._poll(client, made["id"])

    def _poll(self, client: Client, batch_id: str) -> None:
        if batch_id not in self._polled:
            self._polled[batch_id] = asyncio.create_task(self._awaited(client, batch_id))

    async def _awaited(self, client: Client, batch_id: str) -> None:
        """Waits for a batch to end and gives each of its items its reply."""
        failures = 0
        while True:
            state = await client.call("GET", f"/batches/{batch_id}")
            if isinstance(state, Reply):
                failures += 1
                if state.outcome in (Outcome.unauthorised, Outcome.bad_request) or failures > self._endpoint.attempts:
                    return self._end(batch_id, {}, state, is_over=False)
            elif state.get("status") in ENDED:
                break
            else:
                failures = 0
            await asyncio.sleep(self._endpoint.batch_poll_s)
        replies: dict[str, Reply] = {}
        for field in ("output_file_id", "error_file_id"):
            if isinstance(state.get(field), str):
                content = await client.content(state[field])
                if isinstance(content, Reply):
                    return self._end(batch_id, {}, content, is_over=False)
                replies |= self._read(content)
        otherwise = _broken(f"the batch ended as {state.get('status')} without this item")
        self._end(batch_id, replies, otherwise, is_over=True)

    def _read(self, content: bytes) -> dict[str, Reply]:
        """The replies of an output file, by item."""
        found: dict[str, Reply] = {}
        for line in content.splitlines():
            if not line.strip():
                continue
            row = orjson.loads(line)
            response = row.get("response")
            if isinstance(response, Mapping):
                status = int(response.get("status_code") or 200)
                found[str(row["custom_id"])] = read_reply(
                    self._endpoint.api, status, orjson.dumps(response.get("body")), {})
            else:
                found[str(row["custom_id"])] = _broken(f"an item without a response: {row.get('error')}")
        return found

    def _end(self, batch_id: str, replies: Mapping[str, Reply], otherwise: Reply, *, is_over: bool) -> None:
        """Gives each item of a batch its reply; a batch that could not be read is looked at again later."""
        self._polled.pop(batch_id, None)
        for name in [name for name, batch in self._batch_of.items() if batch == batch_id]:
            future = self._waiting.get(name)
            if is_over:
                del self._batch_of[name]
            if future is not None and not future.done():
                future.set_result((replies.get(name, otherwise), is_over))

    def _settle(self, names: Mapping[str, bytes], reply: Reply) -> None:
        for name in names:
            future = self._waiting.get(name)
            if future is not None and not future.done():
                future.set_result((reply, False))


def _broken(said: str) -> Reply:
    return Reply(Outcome.provider_error, error=said)
