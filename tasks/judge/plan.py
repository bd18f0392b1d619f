"""What judging would take: cells, calls, tokens, dollars and time by configuration, from real texts, without a call.

Here belongs the estimate. Tokens are counted from characters (low, expected, high), as every model cuts text its own
way; what is cached is known exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from storage.records import Record
from storage.store import Store
from tasks.judge.cells import Cell, VersionRef
from tasks.judge.inputs import ABSTRACT_CHARS, Given
from tasks.judge.protocol import Planned
from tasks.judge.protocols import Configuration
from tasks.judge.shards import wanted_cells
from tasks.models.endpoints import EndpointSpec
from tasks.models.outcomes import Usage
from tasks.models.prices import cost_usd

LEVELS = ("low", "expected", "high")
CHARS_PER_TOKEN = (4.8, 4.0, 3.0)
"""Low, expected and high counts of tokens in a paper's text."""
PDF_FACTOR = (1.0, 1.3, 2.5)
"""A PDF sent natively costs its text and pictures of its pages."""
SECONDS_A_CALL = {"openai": 20.0, "phantom": 0.004, "local": 2.0, "classifier": 0.5}
"""Typical latency by kind of endpoint; only the order of magnitude is meant."""
LOCAL_TOKENS_A_SECOND = 250.0


class Range(Record):
    """A quantity as low, expected and high."""

    low: float
    expected: float
    high: float


class PlanRow(Record):
    """What one configuration would take."""

    configuration: str
    endpoint: str
    model: str
    protocol: str
    wanted: int
    """Distinct cells."""
    cached: int
    to_do: int
    """Cells that will be asked."""
    refused: int
    """Cells that will not be asked because their family does not fit the context window."""
    calls: int
    input_tokens: Range
    output_tokens: Range
    usd: Range | None
    """None when the price of the model is not known."""
    seconds: float
    """About how long its calls take, by its endpoint's limits."""


def _chars(cell: Cell) -> int:
    chars = cell.version.chars if cell.given.limit_chars is None else min(cell.version.chars, cell.given.limit_chars)
    if cell.given.kind == "abstract":
        return min(chars, ABSTRACT_CHARS)
    beside, most = cell.version.context_chars, cell.given.context_limit
    return chars + (beside if most is None else min(beside, most))


def _input_tokens(cells: Sequence[Cell], step: Planned) -> list[float]:
    """Low, expected and high tokens that one step sends for some cells."""
    as_pdf = step.papers * sum(_chars(cell) for cell in cells if cell.given.kind == "pdf")
    as_text = step.papers * sum(_chars(cell) for cell in cells if cell.given.kind != "pdf") + step.chars * len(cells)
    return [(as_pdf * factor + as_text) / rate for rate, factor in zip(CHARS_PER_TOKEN, PDF_FACTOR, strict=True)]


def _asks(step: Planned, cells: Iterable[Cell]) -> dict[tuple[str, Given, int], Cell]:
    """What a step asks about some cells, by what makes it a question of its own."""
    return {(step.question, cell.given, cell.repeat if step.is_per_repeat else 0): cell for cell in cells}


def _usd(endpoint: EndpointSpec, model: str, calls: int, tokens: tuple[Range, Range]) -> Range | None:
    """Dollars, from the price of the average call: prices may depend on a call's length."""
    if not calls:
        return Range(low=0.0, expected=0.0, high=0.0)
    found: dict[str, float] = {}
    for level in LEVELS:
        given, made = (round(getattr(quantity, level) / calls) for quantity in tokens)
        price = cost_usd(endpoint, model, Usage(input=given, output=made))
        if price is None:
            return None
        found[level] = price * calls
    return Range(**found)


def _seconds(endpoint: EndpointSpec, calls: int, tokens: float) -> float:
    """The slowest of what limits an endpoint: latency over calls in flight, requests and tokens a minute."""
    seconds = calls * SECONDS_A_CALL[endpoint.kind] / (1 if endpoint.kind == "local" else endpoint.max_in_flight)
    if endpoint.kind == "local":
        seconds = max(seconds, tokens / LOCAL_TOKENS_A_SECOND)
    if endpoint.rpm is not None:
        seconds = max(seconds, 60.0 * calls / endpoint.rpm)
    if endpoint.tpm is not None:
        seconds = max(seconds, 60.0 * tokens / endpoint.tpm)
    return seconds


def _row(
    configuration: Configuration, endpoint: EndpointSpec, cells: dict[str, Cell], missing: set[str],
    asked: set[tuple[str, Given, int]],
) -> PlanRow:
    """The row of one configuration; what it asks is added to ``asked``, and what is in there already costs nothing."""
    to_do = [cell for key, cell in cells.items() if key in missing and cell.refused is None]
    calls, given, made = 0, [0.0, 0.0, 0.0], [0, 0, 0]
    for step in configuration.way().planned(configuration.manner(endpoint)):
        new = {ask: cell for ask, cell in _asks(step, to_do).items() if ask not in asked}
        asked.update(new)
        calls += len(new) * step.calls
        given = [a + b for a, b in zip(given, _input_tokens(list(new.values()), step), strict=True)]
        made = [a + len(new) * b for a, b in zip(made, step.output_tokens, strict=True)]
    sent = Range(**dict(zip(LEVELS, map(round, given), strict=True)))
    answered = Range(**dict(zip(LEVELS, made, strict=True)))
    return PlanRow(
        configuration=configuration.name, endpoint=configuration.endpoint, model=configuration.model,
        protocol=configuration.protocol, wanted=len(cells), cached=len(cells) - len(missing), to_do=len(to_do),
        refused=sum(cell.refused is not None for cell in cells.values()), calls=calls, input_tokens=sent,
        output_tokens=answered, usd=_usd(endpoint, configuration.model, calls, (sent, answered)),
        seconds=_seconds(endpoint, calls, sent.expected + answered.expected),
    )


def plan(
    store: Store,
    configurations: Sequence[tuple[Configuration, EndpointSpec]],
    versions: Sequence[VersionRef],
    repeats: int = 1,
) -> list[PlanRow]:
    """What each configuration would take over some versions. Makes no call; one query.

    Args:
        store: what is cached.
        configurations: each with its endpoint.
        versions: whole families, with their lengths (``cells.version_refs``).
        repeats: how often each cell is asked.

    Returns:
        One row a configuration, in order. Cells and steps that two configurations share are counted, and would be paid,
        once: for the first of them.
    """
    by_configuration: list[dict[str, Cell]] = []
    for configuration, endpoint in configurations:
        by_configuration.append({cell.key: cell for cell in wanted_cells(configuration, endpoint, versions, repeats)})
    missing = set(store.missing("judgements", [key for cells in by_configuration for key in cells]))
    asked: set[tuple[str, Given, int]] = set()
    for (configuration, endpoint), cells in zip(configurations, by_configuration, strict=True):
        settled = [cell for key, cell in cells.items() if key not in missing]
        for step in configuration.way().planned(configuration.manner(endpoint)) if settled else ():
            asked.update(_asks(step, settled))
    rows: list[PlanRow] = []
    for (configuration, endpoint), cells in zip(configurations, by_configuration, strict=True):
        own = missing & cells.keys()
        missing -= own
        rows.append(_row(configuration, endpoint, cells, own, asked))
    return rows
