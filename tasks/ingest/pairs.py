"""Preference pairs from JSON lines: both published record forms and ours, checked row by row, as families.

Here belongs reading and checking. Injecting biases is the rewrite stage's matter. The forms, one object a line:

- ours: ``question, response1, response2, label``, perhaps ``id`` and ``topic``: used for every bias of the suite;
- published, prompt-level: the same fields in a file ``BIAS_bias.jsonl`` (or with a field ``bias``);
- published, answer-level: ``question, original_response1, original_response2, rewritten_response1, rewritten_response2,
  label`` in such a file.

``label`` is ``response1`` or ``response2``: the better answer. A folder is read file by file, in the order of names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from storage.errors import InputError
from storage.keys import step_key
from storage.pairs import Pair, Presentation
from storage.records import Family
from storage.store import Store
from storage.vocabulary import BIAS_NAMES

INGEST_VERSION = 1
_COMMON = {"question", "label"}
_OURS = _COMMON | {"response1", "response2"}
_REWRITTEN = _COMMON | {"original_response1", "original_response2", "rewritten_response1", "rewritten_response2"}
_OPTIONAL = {"id", "topic", "bias"}
_FILE = re.compile(r"^(?P<bias>[a-z_-]+?)[_-]bias$")


class NamedPair(NamedTuple):
    """A pair and the name people use for it."""

    name: str
    pair: Pair


def read_pairs(path: Path | str) -> list[NamedPair]:
    """The pairs of a file or folder, checked.

    Args:
        path: a JSON-lines file, or a folder of ``*.jsonl``.

    Raises:
        InputError: names the file, the row and the field, and says what is wrong.
    """
    path = Path(path)
    if path.is_dir():
        files = sorted(path.glob("*.jsonl"))
        if not files:
            raise InputError(f"{path}: holds no .jsonl file with pairs")
    elif path.is_file():
        files = [path]
    else:
        raise InputError(f"{path}: there is no such file or folder with pairs")
    found: list[NamedPair] = []
    places: dict[str, str] = {}
    for file in files:
        for row, named in _pairs_of(file):
            here = f"{file}: row {row}"
            if named.name in places:
                raise InputError(f"{here}: the id {named.name!r} is there already ({places[named.name]})")
            places[named.name] = here
            found.append(named)
    if not found:
        raise InputError(f"{path}: holds no pair")
    return found


def _pairs_of(file: Path) -> Iterator[tuple[int, NamedPair]]:
    bias = bias_of_file(file)
    try:
        lines = file.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: is not UTF-8 text; save it as UTF-8") from error
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror or error}") from error
    for row, line in enumerate(lines, 1):
        if line.strip():
            yield row, _pair(_object(line, f"{file}: row {row}"), f"{file}: row {row}", bias, row)


def bias_of_file(file: Path) -> str | None:
    """The bias that a published file's name says: ``length_bias.jsonl``; None for other names."""
    match = _FILE.match(file.stem)
    name = match["bias"].replace("-", "_") if match else None
    return name if name in BIAS_NAMES else None


def _object(line: str, where: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"{where}: is not a JSON object: {error.msg}") from error
    if not isinstance(value, dict):
        raise InputError(f"{where}: is not a JSON object; write one pair a line")
    return value


def _pair(record: dict[str, Any], where: str, file_bias: str | None, row: int) -> NamedPair:
    is_rewritten = "rewritten_response1" in record or "original_response1" in record
    wanted = _REWRITTEN if is_rewritten else _OURS
    for field in sorted(wanted - record.keys()):
        raise InputError(f"{where}: field {field!r} is missing")
    for field in sorted(record.keys() - wanted - _OPTIONAL):
        raise InputError(f"{where}: unknown field {field!r}; known are {', '.join(sorted(wanted | _OPTIONAL))}")
    for field in sorted(record.keys() - {"id", "topic", "bias"}):
        if not isinstance(record[field], str) or not record[field].strip():
            raise InputError(f"{where}: field {field!r} must be a text that is not empty")
    if record["label"] not in ("response1", "response2"):
        raise InputError(f"{where}: field 'label' is {record['label']!r}; it must be 'response1' or 'response2'")
    bias = record.get("bias", file_bias)
    if bias not in (None, *BIAS_NAMES):
        raise InputError(f"{where}: field 'bias' is {bias!r}; known are {', '.join(BIAS_NAMES)}")
    if is_rewritten and bias is None:
        raise InputError(f"{where}: rewritten answers need a field 'bias', or a file named like length_bias.jsonl")
    prefix = "original_" if is_rewritten else ""
    rewritten = {side: record[f"rewritten_{side}"] for side in ("response1", "response2")} if is_rewritten else None
    fields = {
        "question": record["question"], "response1": record[f"{prefix}response1"],
        "response2": record[f"{prefix}response2"], "label": record["label"], "topic": record.get("topic"),
        "bias": bias, "rewritten": rewritten,
    }
    try:
        pair = Pair.model_validate(fields)
    except ValidationError as error:
        raise InputError(f"{where}: {error.errors()[0]['msg'].removeprefix('Value error, ')}") from error
    return NamedPair(_name(record, where, bias, row), pair)


def _name(record: dict[str, Any], where: str, bias: str | None, row: int) -> str:
    if "id" not in record:
        return f"{bias or 'pair'}-{row:05d}"
    name = record["id"]
    if isinstance(name, int) and not isinstance(name, bool):
        name = str(name)
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"{where}: field 'id' must be a text or a whole number")
    return name


def pair_key(pair: Pair) -> str:
    """The key of a pair as a family: its content, without topic or name."""
    return step_key("ingest_pair", INGEST_VERSION, pair=pair.model_dump(mode="json", exclude={"topic"}))


def pair_family(store: Store, named: NamedPair) -> Family:
    """A pair as a family row; its source is stored. The row itself is not appended here."""
    pair = named.pair
    shown = Presentation(question=pair.question, first=pair.response1, second=pair.response2)
    source = pair.model_dump_json(exclude_none=True)
    return Family(
        key=pair_key(pair), family=named.name, benchmark="judge_bias", source_kind="pair",
        source_hash=store.put_text(source), title=pair.question, text_hash=store.put_text(shown.text),
        words=len(pair.response1.split()) + len(pair.response2.split()), facts=pair.model_dump(mode="json"),
    )


def ingest_pairs(store: Store, named: list[NamedPair]) -> list[Family]:
    """Takes in pairs: one family each, those already there left as they are.

    Returns:
        The families in the order given, one for each name.
    """
    by_key = {pair_key(each.pair): each for each in named}
    missing = set(store.missing("families", list(by_key)))
    store.append(*(pair_family(store, each) for key, each in by_key.items() if key in missing))
    return families_of(store, named)


def families_of(store: Store, named: list[NamedPair]) -> list[Family]:
    """The families of pairs that are in the store, in the order given; each under the name that this file uses."""
    keys = {each.name: pair_key(each.pair) for each in named}
    there = {family.key: family for family in store.load(Family, list(keys.values()))}
    return [there[key].model_copy(update={"family": name}) for name, key in keys.items() if key in there]
