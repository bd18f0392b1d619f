"""Ideas as families: read from JSON lines with checked fields, or extracted from an ingested paper by a model.

    {"id": "cs-01", "domain": "Computer Science", "title": "...", "research_question": "...", "problem": "...",
     "mechanism": "...", "contribution": "...",                                                  these are needed
     "variables": ["..."], "concepts": ["..."], "evaluation": "...", "limitations": "...",
     "source": {"title": "...", "doi": "...", "year": 2025, "authors": ["..."]}}                 these may be left out

One object a line. ``domain`` is one of ``storage.ideas.DOMAINS``; ``concepts`` feed the search of literature;
``source`` is the paper an idea was taken from, which is never shown as literature. Unknown fields are refused.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Final, NamedTuple

import json_repair
from pydantic import ValidationError

from storage.errors import InputError
from storage.ideas import DOMAINS, NEEDED, Idea, SourcePaper
from storage.keys import content_hash, step_key
from storage.records import Call, Family, Step
from storage.store import Store
from storage.vocabulary import TRANSIENT, Outcome
from tasks.models.asks import Ask, Message, Part
from tasks.models.endpoints import EndpointSpec
from tasks.models.engine import Engine
from tasks.models.fence import fence
from tasks.models.memory import recall

IDEA_VERSION: Final = 1
_PROMPT: Final = resources.files("tasks.ingest") / "prompts" / "extract_idea.md"
_TEXTS: Final = ("domain", *NEEDED, "evaluation", "limitations")
_LISTS: Final = ("variables", "concepts")
EXTRACTION_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        **{name: {"type": "string"} for name in _TEXTS},
        **{name: {"type": "array", "items": {"type": "string"}} for name in _LISTS},
        "domain": {"type": "string", "enum": list(DOMAINS)},
    },
    "required": [*_TEXTS, *_LISTS],
    "additionalProperties": False,
}


class NamedIdea(NamedTuple):
    """An idea and the name people use for it."""

    name: str
    idea: Idea


def read_ideas(path: Path | str) -> list[NamedIdea]:
    """The ideas of a JSON-lines file, checked.

    Raises:
        InputError: names the file, the row and the field, and says what is wrong.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: there is no such file with ideas")
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text; save it as UTF-8") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    found: list[NamedIdea] = []
    rows: dict[str, int] = {}
    for row, line in enumerate(lines, 1):
        if not line.strip():
            continue
        named = _named(line, f"{path}: row {row}")
        if named.name in rows:
            raise InputError(f"{path}: row {row}: the id {named.name!r} is there already (row {rows[named.name]})")
        rows[named.name] = row
        found.append(named)
    if not found:
        raise InputError(f"{path}: holds no idea")
    return found


def _named(line: str, where: str) -> NamedIdea:
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"{where}: is not a JSON object: {error.msg}") from error
    if not isinstance(record, dict):
        raise InputError(f"{where}: is not a JSON object; write one idea a line")
    name = record.pop("id", None)
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"{where}: field 'id' must be a text that is not empty")
    domain = record.get("domain")
    if domain is not None and domain not in DOMAINS:
        raise InputError(f"{where}: field 'domain' is {domain!r}; known are {', '.join(DOMAINS)}")
    try:
        return NamedIdea(name, Idea.model_validate(record))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        said = {"missing": "is missing", "extra_forbidden": "is unknown"}.get(
            first["type"], first["msg"].removeprefix("Value error, "))
        raise InputError(f"{where}: field '{field}' {said}" if field else f"{where}: {said}") from error


def idea_key(idea: Idea) -> str:
    """The key of an idea as a family: its content, without its name."""
    return step_key("ingest_idea", IDEA_VERSION, idea=idea.model_dump(mode="json"))


def idea_family(store: Store, named: NamedIdea) -> Family:
    """An idea as a family row; its texts are stored. The row itself is not appended here."""
    idea = named.idea
    return Family(
        key=idea_key(idea), family=named.name, benchmark="sci_style", source_kind="idea",
        source_hash=store.put_text(idea.model_dump_json()), title=idea.title, text_hash=store.put_text(idea.text),
        words=len(idea.text.split()), facts=idea.model_dump(mode="json"),
    )


def ingest_ideas(store: Store, named: Sequence[NamedIdea]) -> list[Family]:
    """Takes in ideas: one family each, those already there left as they are; in their order."""
    by_key = {idea_key(each.idea): each for each in named}
    missing = set(store.missing("families", list(by_key)))
    store.append(*(idea_family(store, each) for key, each in by_key.items() if key in missing))
    return families_of_ideas(store, named)


def families_of_ideas(store: Store, named: Sequence[NamedIdea]) -> list[Family]:
    """The families of ideas that are in the store, in the order given; each under the name that this file uses."""
    keys = {each.name: idea_key(each.idea) for each in named}
    there = {family.key: family for family in store.load(Family, list(keys.values()))}
    return [there[key].model_copy(update={"family": name}) for name, key in keys.items() if key in there]


@dataclass(frozen=True)
class Extractor:
    """The model that reads ideas out of papers."""

    endpoint: EndpointSpec
    model: str
    parameters: dict[str, Any]

    def key(self, paper: Family) -> str:
        """The key of extracting from one paper."""
        return step_key("extract_idea", IDEA_VERSION, paper=paper.text_hash, base_url=self.endpoint.identity,
                        api=self.endpoint.api, model=self.model, parameters=self.parameters,
                        structured=self.endpoint.structured, prompt=content_hash(_PROMPT.read_bytes()))


def extract_ideas(
    store: Store, engine: Engine, papers: Sequence[Family], extractor: Extractor, run_id: str | None = None
) -> list[Family]:
    """The ideas of ingested papers, one each, under the papers' names; what was extracted before is not asked again.

    Args:
        store: where texts lie and families go.
        engine: asks the model.
        papers: with extracted text; a paper without text is excluded with that reason.
        extractor: the model.
        run_id: enters the step rows.

    Returns:
        The families that are there now, in the order of the papers; a paper that gave none has a step that says why.

    Raises:
        EnvironmentProblem: when the endpoint's key variable is not set.
    """
    keys = {extractor.key(paper): paper for paper in papers}
    todo = {key: keys[key] for key in store.missing("steps", list(keys))}
    asks = {key: _ask(store, paper, extractor) for key, paper in todo.items() if paper.text_hash is not None}
    earlier = recall(store, [ask.key for ask in asks.values()])

    async def answer(key: str) -> Call:
        for call in earlier.get(asks[key].key, []):
            if _accept(call) is Outcome.answered:
                return call
        return await engine.ask(asks[key], extractor.endpoint, _accept)

    calls = engine.run(engine.gather(asks, answer, 64)) if asks else []
    answered = dict(zip(asks, calls, strict=True))
    for key, paper in todo.items():
        store.append(*_extracted(store, key, paper, answered.get(key), run_id))
    return extracted_ideas(store, papers, extractor)


def extracted_ideas(store: Store, papers: Sequence[Family], extractor: Extractor) -> list[Family]:
    """The ideas that were extracted from papers, in their order and under their names. Asks nothing."""
    keys = {extractor.key(paper): paper for paper in papers}
    steps = {step.key: step for step in store.load(Step, list(keys)) if step.outcome == "done"}
    families = {family.key: family for family in store.load(Family, [step.output["family"] for step in steps.values()])}
    return [families[steps[key].output["family"]].model_copy(update={"family": paper.family})
            for key, paper in keys.items() if key in steps]


def unextracted(store: Store, papers: Sequence[Family], extractor: Extractor) -> dict[str, Step | None]:
    """The papers without an idea by name, each with the step that says why; None where none was tried."""
    keys = {extractor.key(paper): paper.family for paper in papers}
    steps = {step.key: step for step in store.load(Step, list(keys))}
    return {name: steps.get(key) for key, name in keys.items()
            if key not in steps or steps[key].outcome != "done"}


def _ask(store: Store, paper: Family, extractor: Extractor) -> Ask:
    lines = fence(hash_of_content=paper.text_hash)
    put = store.put_text
    parts = (Part(hash=put(lines.opening)), Part(hash=paper.text_hash or ""), Part(hash=put(lines.closing)))
    messages = (
        Message(role="system", parts=(Part(hash=put(_PROMPT.read_text("utf-8"))),)),
        Message(role="user", parts=parts),
    )
    return Ask.at(extractor.endpoint, extractor.model, messages, parameters=extractor.parameters,
                  response_schema=EXTRACTION_SCHEMA)


def read_extraction(answer: str, paper: Family) -> Idea | None:
    """The idea that an answer holds; None when it holds none."""
    first, last = answer.find("{"), answer.rfind("}")
    if first < 0 or last < first:
        return None
    span = answer[first:last + 1]
    try:
        found = json.loads(span, strict=False)
    except ValueError:
        found = json_repair.loads(span)
    if not isinstance(found, dict) or found.get("domain") not in DOMAINS:
        return None
    fields = {name: found.get(name, "") for name in _TEXTS} | {name: found.get(name) or [] for name in _LISTS}
    source = SourcePaper(title=paper.title or "", doi=str(paper.facts.get("doi") or ""))
    try:
        return Idea.model_validate({**fields, "source": source})
    except ValidationError:
        return None


def _accept(call: Call) -> Outcome:
    # Where it came from makes no difference to whether an answer can be read.
    nobody = Family(key="", family="", source_kind="idea", source_hash="", title=None, text_hash=None)
    return Outcome.unparsable if read_extraction(call.answer or "", nobody) is None else Outcome.answered


def _extracted(
    store: Store, key: str, paper: Family, call: Call | None, run_id: str | None
) -> tuple[Family, Step] | tuple[Step]:
    common: dict[str, Any] = {"key": key, "step": "extract_idea", "run_id": run_id}
    if call is None:
        return (Step(outcome="excluded", reason="no_text", detail=f"{paper.family}: has no text to read", **common),)
    idea = read_extraction(call.answer or "", paper) if call.outcome is Outcome.answered else None
    if idea is None:
        reason = call.outcome.value if call.outcome is not Outcome.answered else Outcome.unparsable.value
        ended = "failed" if call.outcome in TRANSIENT else "excluded"
        return (Step(outcome=ended, reason=reason, detail=f"{paper.family}: {call.error or reason}", **common),)
    family = idea_family(store, NamedIdea(paper.family, idea))
    return family, Step(outcome="done", output={"family": family.key, "attempt": call.attempt_id}, **common)
