"""ProReviewer: turn by turn it reads sections, searches, keeps a log, and finishes; the score is the log's last one.

Rebuilt from a description of its release: each turn shows only the system prompt, the beginning, the last reply and the
newest observation; what older turns found lives in the log. Twenty-five turns, then a nudge and at most five more. The
score is not clipped as released; here one off its scale is no score.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from storage.vocabulary import Outcome
from tasks.judge.cells import Cell, Scoring
from tasks.judge.native.proreviewer_log import Log
from tasks.judge.native.proreviewer_paper import Paper, read_paper
from tasks.judge.native.reviewer import Options, Reviewer, Scored, Session, Stopped, says, step
from tasks.judge.protocol import Bench
from tasks.judge.wording import shipped_script
from tasks.models.asks import Ask, Message

_STRAY = re.compile(r'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})')
_LEADING = r"\s*(\d{1,3}(?:\.\d+)?)"
_ALONE = _LEADING + r"\s*(?:/\s*10\s*)?$"
_FENCE = re.compile(r"^\s*```(?:json)?\s*\n?|\n?\s*```\s*$")


class LoopOptions(Options):
    """Settings of ProReviewer."""

    max_steps: int = Field(default=25, ge=1, le=200)
    extra_steps: int = Field(default=5, ge=0, le=50)
    """Turns after the nudge."""


class Malformed(Exception):
    """A turn whose answer is not one action with operations."""


def read_turn(answer: str) -> tuple[list[Any], str, Mapping[str, Any]]:
    """``(memory operations, action, its arguments)`` of one answer.

    Raises:
        Malformed: naming what is wrong, for the reviewer.
    """
    text = answer.rpartition("</think>")[2]
    text = _FENCE.sub("", text.strip())
    try:
        value = json.loads(_STRAY.sub(r"\\\\", text))
    except ValueError as error:
        raise Malformed(f"the answer is not one JSON object: {error}") from error
    if not isinstance(value, dict):
        raise Malformed("the answer is not a JSON object")
    operations, action = value.get("memory_operations", []), value.get("action")
    if not isinstance(operations, list):
        raise Malformed("memory_operations is not a list")
    if isinstance(action, str):
        return operations, action, value
    if isinstance(action, dict):
        name = action.get("type") or action.get("name")
        if name is not None:
            return operations, str(name), action
        if len(action) == 1:
            (name, arguments), = action.items()
            return operations, str(name), arguments if isinstance(arguments, dict) else {}
    raise Malformed("action must be exactly one of read_section, search_paper, finish")


def act(paper: Paper, log: Log, action: str, given: Mapping[str, Any]) -> str:
    """What an action shows."""
    if action == "read_section":
        name = paper.find(str(given.get("section_name") or ""))
        if name is None:
            return f"There is no section {given.get('section_name')!r}. Sections: {', '.join(paper.parts)}"
        if name not in log.read:
            log.read.append(name)
        return f"Section {name}:\n\n{paper.parts[name]}"
    if action == "search_paper":
        query = str(given.get("query") or "")
        log.searched.append(query)
        hits = paper.search(query)
        shown = "\n".join(f"[{name}] ...{snippet}..." for name, snippets in hits.items() for snippet in snippets)
        return f"Search for {query!r}:\n{shown or 'nothing found'}"
    return f"Unknown action {action!r}: use read_section, search_paper or finish"


class ProReviewer(Reviewer):
    """Up to thirty turns."""

    name = "proreviewer"
    options_type = LoopOptions
    options: LoopOptions
    script = shipped_script("tasks.judge.native", "proreviewer")
    trained_on_a_prompt = True
    reads = "markdown"
    faults: ClassVar[str] = "a score that is no number is cut to its leading digits"
    calls_per_cell = 15
    output_tokens = (3000, 8000, 40000)
    prompt_chars = 15 * (len(script["System"]) + 3000)

    def parameters(self, scoring: Scoring) -> dict[str, Any]:  # noqa: ARG002 - the protocol's interface
        """As released, for each turn."""
        return {"temperature": 0.7, "max_tokens": 4096}

    def first_ask(self, bench: Bench, cell: Cell) -> Ask:
        """The title and the names of the sections; no text yet."""
        return step(bench, cell, self._opening(bench, read_paper(bench.shown(cell))))

    def _opening(self, bench: Bench, paper: Paper | None) -> tuple[Message, Message]:
        title = paper.title if paper else "none"
        names = "\n".join(f"- {name}" for name in paper.parts) if paper else "- none"
        begins = self.script.filled("Begin", title=title, sections=names, steps=self.options.max_steps)
        return says(bench, "system", self.system()), says(bench, "user", begins)

    async def review(self, session: Session) -> Scored:
        """The loop: a turn's operations, its action, the observation, until it finishes or its turns are used up."""
        paper = read_paper(await asyncio.to_thread(session.bench.shown, session.cell))
        if paper is None:
            raise Stopped(Outcome.bad_request, "no_title_or_sections")
        log = Log()
        opening = tuple(session.bench.first_asks[session.cell.key].messages)
        messages: tuple[Message, ...] = opening
        limit = self.options.max_steps
        for turn in range(1, limit + self.options.extra_steps + 1):
            answer = (await session.ask(messages)).answer or ""
            observation, is_finished = self._observed(paper, log, answer, turn)
            if is_finished:
                return self._scored(log, [])
            if turn == limit:
                observation = f"{observation}\n\n{self.script['Nudge']}"
            # The window slides: older turns live in the log only, and so does the nudge after one turn.
            messages = (*opening, session.says("assistant", answer), session.says("user", observation))
        return self._scored(log, ["not_finished"])

    def _observed(self, paper: Paper, log: Log, answer: str, turn: int) -> tuple[str, bool]:
        """What a turn's answer leads to, and whether it ends the review. A malformed answer uses its turn up."""
        try:
            operations, action, given = read_turn(answer)
        except Malformed as problem:
            result = f"Format error: {problem}"
        else:
            reports = [log.apply(operation) for operation in operations]
            if action == "finish":
                return "", True
            done = "\n".join(f"- {report}" for report in reports)
            result = f"Memory:\n{done or '- nothing'}\n\n{act(paper, log, action, given)}"
        return f"{result}\n\n{log.dump()}\n\n[Turn {turn}/{self.options.max_steps}]", False

    def _scored(self, log: Log, flags: list[str]) -> Scored:
        """The log's overall score.

        Raises:
            Stopped: when there is none, or it is no number from 1 to 10.
        """
        value = log.outline.get("overall_score")
        if isinstance(value, str):
            digits = re.match(_LEADING if self.is_native else _ALONE, value)
            value = float(digits[1]) if digits else None
        if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
            raise Stopped(Outcome.unparsable, "no_overall_score")
        if not 1 <= value <= 10:
            raise Stopped(Outcome.out_of_range, "out_of_range")
        return Scored(scores={"overall": float(value)}, flags=flags)
