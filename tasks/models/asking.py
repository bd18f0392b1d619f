"""The life of one ask: attempt after attempt, each remembered before its answer is used, until one is accepted or none
will be.

Here belongs the order of things: budget, place, request, row, verdict, wait. Each of them is decided elsewhere; nothing
here knows what a review is.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from storage.records import Call, now
from storage.store import Store
from storage.vocabulary import Outcome
from tasks.models.asks import Ask
from tasks.models.batches import Batches
from tasks.models.bodies import body_of, parameters_sent, token_cap
from tasks.models.budget import Budget, BudgetGone, Reservation
from tasks.models.client import Client
from tasks.models.endpoints import EndpointSpec
from tasks.models.limiter import Closed
from tasks.models.lines import Line
from tasks.models.outcomes import Reply, Usage
from tasks.models.prices import cost_usd
from tasks.models.retries import UNUSABLE, Effort, Form, adapts, form_for, next_wait
from tasks.models.texts import Texts
from tasks.models.uploads import UploadFailed, Uploads

Accept = Callable[[Call], Outcome]

CHARS_PER_TOKEN = 4
CHARS_PER_TOKEN_AT_MOST = 5
"""Prose has fewer characters a token than this: a prompt too long by this count is too long by any."""
CUT_CHARS = 20_000
CUT_CHARS_PER_TOKEN = 10
"""An endpoint that counts so few tokens for a long prompt has not read all of it."""
PDF_TOKENS = 30_000
TYPICAL_OUTPUT_TOKENS = 1_500
_FILE_GONE = re.compile(r"\bfile\b.{0,80}(?:not found|expired|n.t exist|not exist|deleted)|no such file", re.I)


@dataclass(slots=True)
class Counters:
    """What an engine has done so far; read from any thread, written by the loop only."""

    calls: int = 0
    answered: int = 0
    """Answers that were accepted."""
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    """How asks ended, by the outcome of their last attempt, or why they were not sent."""
    attempts: Counter[Outcome] = field(default_factory=Counter)
    """How single attempts ended."""
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0
    unpriced: int = 0
    """Calls whose price is not known: ``usd`` does not hold them."""
    in_flight: int = 0
    _outputs: dict[str, tuple[int, int]] = field(default_factory=dict)

    def count(self, call: Call) -> None:
        """Takes in one attempt."""
        self.calls += 1
        self.attempts[call.outcome] += 1
        self.input_tokens += call.input_tokens or 0
        self.output_tokens += call.output_tokens or 0
        if call.cost_usd is not None:
            self.usd += call.cost_usd
        elif call.input_tokens is not None:
            self.unpriced += 1
        if call.outcome is Outcome.answered and call.output_tokens:
            calls, tokens = self._outputs.get(call.model, (0, 0))
            self._outputs[call.model] = (calls + 1, tokens + call.output_tokens)

    def typical_output(self, model: str) -> int:
        """Output tokens to expect of a model: the mean so far, or a guess."""
        calls, tokens = self._outputs.get(model, (0, 0))
        return tokens // calls if calls else TYPICAL_OUTPUT_TOKENS


@dataclass(frozen=True, slots=True)
class Desk:
    """What the asks of one engine share."""

    store: Store
    run_id: str | None
    budget: Budget
    texts: Texts
    counters: Counters
    uploads: Callable[[EndpointSpec], Uploads]
    batches: Callable[[EndpointSpec], Batches] | None = None


class Asking:
    """One ask at one endpoint. ``answer`` sees it through."""

    def __init__(self, desk: Desk, line: Line, ask: Ask) -> None:
        self._desk = desk
        self._line = line
        self._ask = ask
        self._pdfs = ask.hashes("pdf")
        self._effort = Effort(line.endpoint)
        self._attempt = 0
        self._files_forgotten = False
        self._chars = 0

    async def answer(self, accept: Accept) -> Call:
        """Asks until an answer is accepted or asking on is of no use.

        Returns:
            The accepted call, or the last one. A call that was never sent (budget, closed endpoint, prompt longer than
            the window) has attempt 0 and is in no table.
        """
        ask, line = self._ask, self._line
        texts = await self._desk.texts.get(ask.hashes("text"))
        self._chars = sum(len(texts[p.hash]) for m in ask.messages for p in m.parts if p.kind == "text")
        window = line.endpoint.context_tokens
        if window is not None and self._chars > window * CHARS_PER_TOKEN_AT_MOST:
            said = f"not sent: {self._chars} characters do not fit a window of {window} tokens"
            return self._ended(self._unsent(Outcome.context_too_long, said))
        adaptation = line.adaptation(ask.model)
        named = parameters_sent(ask, ask.parameters)
        unusable: tuple[Call, Outcome] | None = None
        while True:
            form = form_for(named, ask.structured, adaptation, self._effort)
            try:
                call, reply = await self._attempted(texts, form)
            except BudgetGone as gone:
                return self._ended(self._unsent(Outcome.over_budget, str(gone)))
            except Closed as closed:
                return self._ended(self._unsent(closed.outcome, str(closed)))
            verdict = accept(call) if call.outcome is Outcome.answered else call.outcome
            if verdict is Outcome.answered:
                return self._ended(call, verdict)
            if adapts(reply, self._effort, adaptation, form) or self._forgets_files(reply):
                continue
            wait = next_wait(reply, verdict, self._effort, form.parameters)
            unusable = (call, verdict) if verdict in UNUSABLE else unusable
            if wait is None and unusable is not None and verdict in (Outcome.provider_error, Outcome.timed_out):
                # It did answer, and not usably; that the last attempt failed is no reason to buy all of them again.
                return self._ended(*unusable)
            if wait is None:
                return self._ended(call, verdict)
            await asyncio.sleep(wait)

    def _ended(self, call: Call, verdict: Outcome | None = None) -> Call:
        outcome = verdict or call.outcome
        self._desk.counters.outcomes[outcome] += 1
        self._desk.counters.answered += outcome is Outcome.answered
        return call

    async def _attempted(self, texts: dict[str, str], form: Form) -> tuple[Call, Reply]:
        """One attempt: paid from the budget, sent from a place of the limiter, in the journal when this returns."""
        desk, limiter = self._desk, self._line.limiter
        output = token_cap(form.parameters) or desk.counters.typical_output(self._ask.model)
        expected = Usage(self._chars // CHARS_PER_TOKEN + PDF_TOKENS * len(self._pdfs), output)
        tokens = (expected.input or 0) + output
        price = cost_usd(self._line.endpoint, self._ask.model, expected)
        desk.budget.check(price, tokens)
        # Opened before a place is taken: a model that loads for seconds holds nobody else up.
        client = await self._line.client()
        ticket = await limiter.admit(self._ask.model, tokens)
        reply: Reply | None = None
        cost: tuple[float | None, int] = (0.0, 0)
        reservation: Reservation | None = None
        started, clock = now(), time.perf_counter()
        try:
            reservation = desk.budget.reserve(price, tokens)
            reply = await self._sent(client, texts, form)
            latency_ms = (time.perf_counter() - clock) * 1000
            self._attempt += 1
            call = self._row(self._not_cut(reply), form, started, latency_ms)
            desk.store.append(call)
            desk.counters.count(call)
            cost = (call.cost_usd, (call.input_tokens or 0) + (call.output_tokens or 0))
        finally:
            limiter.settle(ticket, reply)
            if reservation is not None:
                desk.budget.settle(reservation, *cost)
        return call, reply

    async def _sent(self, client: Client, texts: dict[str, str], form: Form) -> Reply:
        self._desk.counters.in_flight += 1
        try:
            files: dict[str, dict[str, Any]] = {}
            for pdf in self._pdfs:
                files[pdf] = await self._desk.uploads(self._line.endpoint).field(client, pdf)
            body = body_of(self._ask, texts, files, form.parameters, form.structured)
            if self._line.endpoint.batch and self._desk.batches is not None:
                return await self._desk.batches(self._line.endpoint).send(client, self._ask.key, body)
            return await client.send(body)
        except UploadFailed as failed:
            return failed.reply
        finally:
            self._desk.counters.in_flight -= 1

    def _not_cut(self, reply: Reply) -> Reply:
        """An answer about a prompt that was silently cut is no answer about that prompt."""
        read = (reply.usage.input or 0) + (reply.usage.cached or 0)
        if reply.outcome is not Outcome.answered or not read or self._pdfs or self._chars < CUT_CHARS:
            return reply
        if self._chars <= read * CUT_CHARS_PER_TOKEN:
            return reply
        said = f"the endpoint read {read} tokens of a prompt of {self._chars} characters: it was cut"
        return replace(reply, outcome=Outcome.context_too_long, error=said)

    def _forgets_files(self, reply: Reply) -> bool:
        """Whether uploaded files are gone at the endpoint: then, once, they are uploaded anew."""
        if not self._pdfs or self._files_forgotten or reply.outcome is not Outcome.bad_request:
            return False
        if not _FILE_GONE.search(reply.error or ""):
            return False
        for pdf in self._pdfs:
            self._desk.uploads(self._line.endpoint).forget(pdf)
        self._files_forgotten = True
        return True

    def _row(self, reply: Reply, form: Form, started: datetime, latency_ms: float) -> Call:
        ask, usage = self._ask, reply.usage
        shown = dict(form.parameters)
        if form.structured != ask.structured and ask.response_schema is not None:
            shown["structured"] = form.structured
        return Call(
            key=ask.key,
            run_id=self._desk.run_id,
            attempt=self._attempt,
            outcome=reply.outcome,
            base_url=ask.base_url,
            api=ask.api,
            model=ask.model,
            resolved_model=reply.resolved_model,
            messages=ask.messages_by_hash,
            parameters=shown,
            schema_hash=ask.schema_hash,
            repeat=ask.repeat,
            answer=reply.answer,
            logprobs=reply.logprobs,
            finish_reason=reply.finish_reason,
            input_tokens=usage.input,
            output_tokens=usage.output,
            reasoning_tokens=usage.reasoning,
            cached_tokens=usage.cached,
            cost_usd=cost_usd(self._line.endpoint, ask.model, usage),
            http_status=reply.http_status,
            error=reply.error,
            provider_id=reply.provider_id,
            started_at=started,
            latency_ms=latency_ms,
        )

    def _unsent(self, outcome: Outcome, why: str) -> Call:
        form = Form(dict(self._ask.parameters), self._ask.structured, 0)
        self._attempt = 0
        return self._row(Reply(outcome, error=why), form, now(), 0.0)
