"""Answers from the literature for DeepReviewer's best mode: a service over HTTP, or a function in this process.

Here belongs asking for them and remembering what came. What is done with them is the reviewer's matter; a service that
fails is tolerated there, as released.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import httpx2

from storage.keys import step_key
from storage.records import Record, Step
from tasks.judge.protocol import Bench

TIMEOUT_S = 600.0


class Found(Record):
    """What the literature says to one question."""

    answer: str
    passages: str


Retriever = Callable[[list[str]], Awaitable[list[Found]]]
RETRIEVERS: dict[str, Retriever] = {}
"""Functions of this process by the name that stands for a service's address."""


def _passages(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n\n".join(_passages(each) for each in value)
    if isinstance(value, Mapping):
        return str(value.get("text") or value.get("passage") or "")
    return ""


async def _over_http(url: str, questions: list[str]) -> list[Found]:
    """The service's answers: ``{"questions": [...]}`` gives ``results[i].output`` and ``.final_passages``.

    Raises:
        ValueError: when it answers otherwise.
        httpx2.HTTPError: when it cannot be reached.
    """
    async with httpx2.AsyncClient(timeout=TIMEOUT_S) as client:
        reply = await client.post(url, json={"questions": questions})
    if reply.status_code != 200:
        raise ValueError(f"the service answered {reply.status_code}")
    results = reply.json().get("results") if isinstance(reply.json(), Mapping) else None
    if not isinstance(results, list) or not all(isinstance(each, Mapping) for each in results):
        raise ValueError("the service's answer has no list of results")
    return [
        Found(answer=str(each.get("output") or ""), passages=_passages(each.get("final_passages"))) for each in results
    ]


async def retrieve(bench: Bench, service: str, questions: list[str]) -> list[Found] | None:
    """Answers to some questions, asked or remembered; None when the service failed (it is asked again another time).

    Args:
        bench: the shard's means.
        service: the address of the service, or a name in ``RETRIEVERS``.
        questions: in the reviewer's words.
    """
    key = step_key("literature_answers", 1, service=service, questions=questions)
    earlier = await asyncio.to_thread(bench.store.load, Step, [key])
    if earlier and earlier[0].outcome == "done":
        return [Found.model_validate(each) for each in earlier[0].output["found"]]
    try:
        ask = RETRIEVERS.get(service)
        found = await (ask(questions) if ask is not None else _over_http(service, questions))
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        bench.store.append(Step(key=key, step="literature_answers", outcome="failed", reason="service_failed",
                                detail=said, run_id=bench.run_id))
        return None
    bench.store.append(Step(key=key, step="literature_answers", outcome="done", run_id=bench.run_id,
                            output={"found": [each.model_dump() for each in found]}))
    return found
