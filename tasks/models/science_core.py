"""A science core: a neutral record of a paper under five headings. Its form, and how a phantom transcribes one.

Here belongs what judges of cores and phantoms share: the headings, the statuses, the JSON schema. How a core is asked
for, checked and judged belongs to the judge stage.
"""

from __future__ import annotations

import re
from typing import Any, Final

from tasks.models.rhetoric import LEXICONS, family_of

HEADINGS: Final[dict[str, str]] = {
    "problem_and_setting": "Problem and setting",
    "method_and_assumptions": "Method and assumptions",
    "experiments_and_results": "Experiments and reported results",
    "reproducibility": "Reproducibility information",
    "limitations": "Author-stated limitations",
}
"""Field of the schema -> heading of the record, in order."""
STATUSES: Final[tuple[str, ...]] = ("Reported", "Not reported", "Not located", "Not applicable")
UNREADABLE: Final = "[unreadable]"
"""What stands in a table's cell that could not be read."""


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


_TEXT: Final[dict[str, Any]] = {"type": "string"}
_STATUS: Final[dict[str, Any]] = {"type": "string", "enum": list(STATUSES)}
_RECORD: Final[dict[str, Any]] = {"type": "array", "items": _TEXT}
_TABLE = _object(
    caption=_TEXT,
    columns={"type": "array", "items": _TEXT},
    rows={"type": "array", "items": {"type": "array", "items": _TEXT}},
)
_ITEM = _object(item=_TEXT, status=_STATUS, detail=_TEXT)


def core_schema() -> dict[str, Any]:
    """The JSON schema of a core."""
    return _object(
        problem_and_setting=_object(status=_STATUS, record=_RECORD),
        method_and_assumptions=_object(status=_STATUS, record=_RECORD),
        experiments_and_results=_object(status=_STATUS, record=_RECORD, tables={"type": "array", "items": _TABLE}),
        reproducibility=_object(status=_STATUS, items={"type": "array", "items": _ITEM}),
        limitations=_object(status=_STATUS, record=_RECORD),
    )


def asks_for_a_core(schema: dict[str, Any]) -> bool:
    """Whether a JSON schema is that of a core."""
    return HEADINGS.keys() <= schema.get("properties", {}).keys()


def is_core(text: str) -> bool:
    """Whether a text is a written record: all five headings are there."""
    return all(f"## {heading}\n" in text for heading in HEADINGS.values())


LEAK: Final = 6
"""Of the rhetorical words in what a phantom quotes, every sixth stays: no extraction is perfect."""
QUOTED: Final = 24
_SENTENCE = re.compile(r"[^.!?\n][^!?]*?[.!?](?=\s|$)", re.S)
_MEASURED = re.compile(r"\d\.\d|\d\s?%|\d{3,}")
_WORD = re.compile(r"[A-Za-z][A-Za-z-]+")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?![\w]|\.\d)")
_OWN_LINE = re.compile(r"(?m)^[ \t]*\d{1,4}[ \t]*$")
_CITED = re.compile(r"\[\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*\]")
_EQUATION = re.compile(r"(?m)\((?:\d{1,3}|[A-Z]\.\d{1,2})\)(?=[ \t]*$)")
_INTERVAL = re.compile(r"(?:±|\+/-|∓)\s*\d*\.?\d+")
_SYMBOL = re.compile(r"[∀-⋿Α-ωℓ→↦⟨⟩√]")
_THIRD_PERSON = {"we": "the authors", "our": "their", "ours": "theirs", "us": "the authors"}
COLUMNS: Final = 8


def _toned_down(sentence: str, seen: list[int]) -> str:
    """A sentence without its rhetorical words, but for those that slip through."""

    def kept(found: re.Match[str]) -> str:
        if found[0].lower() in _THIRD_PERSON:
            return _THIRD_PERSON[found[0].lower()]
        if family_of(found[0].lower()) not in LEXICONS:
            return found[0]
        seen[0] += 1
        return found[0] if seen[0] % LEAK == 0 else ""

    return " ".join(_WORD.sub(kept, sentence).split())


def _distinct(pattern: re.Pattern[str], text: str) -> list[str]:
    return list(dict.fromkeys(" ".join(found.split()) for found in pattern.findall(text)))


def transcribed(paper: str) -> dict[str, Any]:
    """The core that a phantom makes of a paper: its protected content, and measured statements in plain words.

    Args:
        paper: the text of the paper.

    Returns:
        A value of ``core_schema``. Numbers, citations, formulas and intervals are all there, so that a phantom's latent
        quality is the same for the paper and for its core.
    """
    body = _OWN_LINE.sub("", paper)
    seen = [0]
    quoted = [_toned_down(found[0], seen) for found in _SENTENCE.finditer(body) if _MEASURED.search(found[0])][:QUOTED]
    numbers = _distinct(_NUMBER, body)
    rows = [numbers[start : start + COLUMNS] for start in range(0, len(numbers), COLUMNS)]
    table = {
        "caption": "Values as stated",
        "columns": [f"value {place + 1}" for place in range(COLUMNS)],
        "rows": [row + ["-"] * (COLUMNS - len(row)) for row in rows],
    }
    cited, equations = _distinct(_CITED, body), _distinct(_EQUATION, body)
    intervals, symbols = _distinct(_INTERVAL, body), _distinct(_SYMBOL, body)
    status = "Reported" if rows else "Not located"
    return {
        "problem_and_setting": {"status": "Reported", "record": ["The authors cite", *cited]},
        "method_and_assumptions": {"status": "Reported" if equations or symbols else "Not located",
                                   "record": [*(f"Equation {number}" for number in equations), " ".join(symbols)]},
        "experiments_and_results": {"status": status, "tables": [table] if rows else [], "record": [
            *(f"The authors report: {sentence}" for sentence in quoted), " ".join(intervals)]},
        "reproducibility": {"status": "Not located", "items": []},
        "limitations": {"status": "Not located", "record": []},
    }


def written_back(core: str) -> str:
    """The paper that a phantom writes from a record: its statements and tables in their order, and nothing else."""
    lines = [line for line in core.splitlines() if not line.startswith("Status: ")]
    body = re.sub(r"(?m)^## ", "", "\n".join(lines)).replace("- ", "")
    return f"A Paper Written Back From Its Record\n\nAbstract\n\nThis is what was done and found.\n\n{body}"
