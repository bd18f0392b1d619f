"""Telling somebody outside: one call of a saved webhook block. Whether there is news is the flow's matter."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
from prefect.blocks.webhook import Webhook
from prefect.logging import get_run_logger


def tell(block: str, payload: dict[str, Any]) -> bool:
    """Call a webhook block.

    Args:
        block: its name, as saved in the UI or by the set-up (``evenhand-alerts``); its address is never logged.
        payload: what is sent as JSON.

    Returns:
        Whether it was taken; a webhook that is away does not fail a night, and is logged as an error.
    """
    try:
        loaded: Any = Webhook.load(block)
        answer = asyncio.run(loaded.call(payload))
    except ValueError:
        get_run_logger().error("the webhook block %s is not there: save it in the UI under Blocks", block)
        return False
    except httpx.HTTPError as error:
        get_run_logger().error("the webhook block %s does not answer: %s", block, type(error).__name__)
        return False
    if answer.is_error:
        get_run_logger().error("the webhook block %s answered %d", block, answer.status_code)
    return not answer.is_error
