"""A busy local server bids its clients come again at once; every other answer passes unchanged."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from flows.keeper import RECORDED_TOGETHER
from flows.local_api import AGAIN_S, Message, Receive, Send, soon_again


def _answer(status: int, headers: list[tuple[bytes, bytes]]) -> list[Message]:
    async def app(scope: Message, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"{}"})

    said: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        said.append(message)

    asyncio.run(soon_again(app)({"type": "http"}, receive, send))
    return said


@pytest.mark.parametrize(
    ("status", "given", "wanted"),
    [
        (503, [], [(b"retry-after", str(AGAIN_S).encode())]),
        (503, [(b"Retry-After", b"7")], [(b"Retry-After", b"7")]),
        (200, [(b"x", b"y")], [(b"x", b"y")]),
        (429, [], []),
    ],
)
def test_only_a_busy_answer_without_a_time_gets_one(status: int, given: Any, wanted: Any) -> None:
    start, body = _answer(status, given)
    assert (start["status"], start["headers"], body["body"]) == (status, wanted, b"{}")


def test_the_server_rests_between_two_writings() -> None:
    interval = float(RECORDED_TOGETHER["PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL"])
    assert interval >= 1 and interval.is_integer(), "the recorder would spin"
