"""The audit trail of one cell: what was asked, rebuilt from its parts; what came back, by attempt; what was read.

Looks only. Showing it is ``tasks.report.trace_page``'s matter, finding a cell by name is here.
"""

from __future__ import annotations

import json
from typing import Any

from flows.grid import cells_by_label
from flows.sitting import Sitting
from storage.errors import InputError
from storage.records import Call, Judgement
from storage.store import Store
from tasks.models.asks import Ask, Message, Part
from tasks.models.bodies import body_of
from tasks.report.trace_page import Attempt, Step, Trace

SHORTEST = 6
"""Digits of a key that are enough to look for it."""


def cell_key(sitting: Sitting, judge: str, family: str, version: str, repeat: int = 0) -> str:
    """The key of the judgement of one cell of a suite.

    Raises:
        InputError: when the suite has no such judge, family, version or repeat; says which it has.
    """
    suite = sitting.suite
    by_name = {each.name: each for each in suite.judge.all_configurations()}
    if judge not in by_name:
        raise InputError(f"{suite.name} has no judge {judge!r}; it has {', '.join(sorted(by_name))}")
    endpoint = suite.judge.endpoints[by_name[judge].endpoint]
    cells = cells_by_label(by_name[judge], endpoint, sitting.grid(), suite.judge.repeats)
    own = [(each, cell) for each, cell in cells if each.family.family == family]
    if not own:
        known = ", ".join(sorted({each.family.family for each, _ in cells}))
        raise InputError(f"{judge} judges no family {family!r}; it judges {known or 'none yet'}")
    found = [cell for each, cell in own if each.label == version and cell.repeat == repeat]
    if not found:
        known = ", ".join(dict.fromkeys(f"{each.label}" for each, _ in own))
        raise InputError(f"{family} has no version {version!r} with repeat {repeat}; it has {known}")
    return found[0].key


def _whole_key(store: Store, given: str) -> tuple[str, str]:
    """``(table, key)`` of the one judgement or call whose key begins so.

    Raises:
        InputError: when there is none, or more than one.
    """
    start = given if ":" in given else f"sha256:{given}"
    if len(start.partition(":")[2]) < SHORTEST:
        raise InputError(f"{given!r}: give at least {SHORTEST} digits of the key")
    for table in ("judgements", "calls"):
        found = store.query(f"SELECT DISTINCT key FROM {table} WHERE starts_with(key, ?) LIMIT 2", [start])  # noqa: S608
        if found.height > 1:
            raise InputError(f"{given!r}: several {table} begin so; give more digits")
        if found.height:
            return table, str(found["key"][0])
    raise InputError(f"{given!r}: no judgement or call has this key")


def _ask_of(store: Store, call: Call) -> tuple[Ask, dict[str, Any]]:
    """The ask that a row belongs to, as far as it was sent, and the parameters as they went out."""
    sent = dict(call.parameters)
    structured = sent.pop("structured", "json_schema")
    messages = tuple(
        Message(role=turn["role"], parts=tuple(Part.model_validate(part) for part in turn["parts"]))
        for turn in call.messages
    )
    schema = None if call.schema_hash is None else json.loads(store.get_text(call.schema_hash))
    ask = Ask.model_validate({"base_url": call.base_url, "api": call.api, "model": call.model, "messages": messages,
                              "response_schema": schema, "structured": structured, "repeat": call.repeat})
    return ask, sent


def request_of(store: Store, call: Call) -> dict[str, Any]:
    """The body that was sent, rebuilt from stored parts; a PDF is named by its content hash.

    Raises:
        StoreDamaged: when one of its texts is not in the store.
    """
    ask, sent = _ask_of(store, call)
    files = {name: {"filename": "paper.pdf", "file_data": f"PDF {name}"} for name in ask.hashes("pdf")}
    body = body_of(ask, store.get_texts(ask.hashes("text")), files, sent, ask.structured)
    found: dict[str, Any] = json.loads(body)
    return found


def _step(store: Store, key: str, attempts: list[Call]) -> Step:
    first = attempts[0]
    return Step(
        key=key, base_url=first.base_url, api=first.api, model=first.model, request=request_of(store, attempts[-1]),
        attempts=[
            Attempt(
                number=call.attempt, attempt_id=call.attempt_id, outcome=call.outcome.value,
                http_status=call.http_status, error=call.error, answer=call.answer,
                finish_reason=call.finish_reason, input_tokens=call.input_tokens,
                output_tokens=call.output_tokens, usd=call.cost_usd, latency_ms=call.latency_ms,
                started_at=call.started_at, run_id=call.run_id, resolved_model=call.resolved_model,
            )
            for call in attempts
        ],
    )


def trace(store: Store, given: str) -> Trace:
    """The trail of a judgement, or of a single call, by its key or the beginning of it.

    Raises:
        InputError: when there is none, or more than one begins so.
        StoreDamaged: when a text of a request is not in the store.
    """
    table, key = _whole_key(store, given)
    judgement: Judgement | None = None
    keys = [key]
    if table == "judgements":
        (judgement,) = store.load(Judgement, [key])
        keys = list(dict.fromkeys(judgement.call_keys))
    by_key: dict[str, list[Call]] = {name: [] for name in keys}
    for call in store.load(Call, keys, view=False):
        by_key[call.key].append(call)
    for calls in by_key.values():
        calls.sort(key=lambda call: (call.started_at, call.attempt))
    steps = [_step(store, name, calls) for name, calls in by_key.items() if calls]
    unsent = [name for name, calls in by_key.items() if not calls]
    if judgement is None:
        return Trace(key=key, steps=steps, unsent=unsent)
    return Trace(
        key=key, protocol=judgement.protocol, parser=judgement.parser, model=judgement.model,
        outcome=judgement.outcome.value, reason=judgement.reason, scores=judgement.scores, flags=judgement.flags,
        version_hash=judgement.version_hash, repeat=judgement.repeat, read_from=judgement.attempt_ids, steps=steps,
        unsent=unsent,
    )
