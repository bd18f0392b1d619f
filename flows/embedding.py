"""Records and their embeddings: which texts the cells of a suite judged, and asking an endpoint for their vectors.

Vectors are ordinary calls (``api: embeddings``), so that they are bought once and found again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flows.sitting import Sitting
from storage.records import Call
from storage.store import Store
from storage.vocabulary import Outcome
from tasks.judge.scicore.core import read_core
from tasks.metrics.analyses.spec import EmbeddingSeparation
from tasks.models.asks import Ask, Message, Part
from tasks.models.embeddings import vector_of
from tasks.models.endpoints import EndpointSpec
from tasks.models.memory import recall


def records_by_cell(store: Store, cells: pl.DataFrame) -> dict[tuple[str, str], str]:
    """(family, version label) -> the record that was judged, of one configuration's first repeats."""
    answered = cells.filter(pl.col("outcome") == "answered").unique(["family", "version"], keep="first",
                                                                    maintain_order=True)
    found = store.query(
        "SELECT j.key, c.answer FROM (SELECT key, unnest(attempt_ids) AS attempt_id FROM judgements_best "
        "WHERE key IN (SELECT key FROM wanted_keys)) j JOIN calls c ON c.attempt_id = j.attempt_id",
        frames={"wanted_keys": answered.select(pl.col("key").unique())},
    )
    by_key: dict[str, str] = {}
    for key, answer in found.iter_rows():
        read = read_core(answer or "")
        if read.outcome is Outcome.answered:
            by_key[key] = read.text
    rows = answered.select("family", "version", "key").iter_rows()
    return {(family, version): by_key[key] for family, version, key in rows if key in by_key}


def _ask(endpoint: EndpointSpec, model: str, text_hash: str) -> Ask:
    return Ask.at(endpoint, model, (Message(role="user", parts=(Part(hash=text_hash),)),))


def embedded_vectors(
    store: Store, endpoint: EndpointSpec, model: str, texts: Iterable[str]
) -> dict[str, NDArray[np.float64]]:
    """Text -> its vector, of those that were asked for; makes no call."""
    asks = {text: _ask(endpoint, model, store.put_text(text)) for text in dict.fromkeys(texts)}
    found = recall(store, [ask.key for ask in asks.values()])
    return {text: vector_of(found[ask.key][-1].answer) for text, ask in asks.items() if ask.key in found}


def embed_records(sitting: Sitting, cells: pl.DataFrame, specs: Sequence[EmbeddingSeparation]) -> int:
    """Asks for the vectors that analyses need and that are not there yet; how many were asked for."""
    store, engine, asked = sitting.store, sitting.engine(), 0
    for spec in specs:
        if spec.endpoint is None or spec.model is None:
            continue
        endpoint, model = sitting.suite.judge.endpoints[spec.endpoint], spec.model
        records = records_by_cell(store, cells.filter(pl.col("configuration") == spec.configuration))
        known = embedded_vectors(store, endpoint, model, records.values())
        missing = [text for text in dict.fromkeys(records.values()) if text not in known]

        async def work(text: str, endpoint: EndpointSpec = endpoint, model: str = model) -> Call:
            return await engine.ask(_ask(endpoint, model, store.put_text(text)), endpoint)

        engine.run(engine.gather(missing, work, endpoint.max_in_flight))
        asked += len(missing)
    return asked
