"""Records become rows and come back; what no row can hold is refused before it is journalled."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone

import duckdb
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.records import TABLES, Call, HumanScore, Judgement, Step, Version
from storage.schema import ALL_TABLES, NotStorable, ddl, documentation, table_of
from storage.vocabulary import Outcome

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
whole = st.integers(-(2**63), 2**63 - 1)
number = st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | whole | number | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3), max_leaves=6)
json_object = st.dictionaries(words, json_values, max_size=4)
moments = st.datetimes(datetime(1970, 1, 2), datetime(2200, 1, 1), timezones=st.sampled_from(
    [UTC, timezone(timedelta(hours=-9, minutes=-30)), timezone(timedelta(hours=14))]))
calls = st.builds(Call, at=moments, key=words, outcome=st.sampled_from(Outcome), base_url=words, api=words, model=words,
                  messages=st.lists(json_object, max_size=2), parameters=json_object, repeat=whole, attempt=whole,
                  answer=st.none() | words, logprobs=st.none() | st.lists(json_object, max_size=2),
                  cost_usd=st.none() | number, started_at=moments, latency_ms=number, error=st.none() | words)
judgements = st.builds(Judgement, at=moments, key=words, protocol=words, parser=words, base_url=words, model=words,
                       version_hash=words, repeat=whole, outcome=st.sampled_from(Outcome), call_keys=st.lists(words),
                       scores=st.dictionaries(words, number, max_size=4), attempt_ids=st.lists(words),
                       flags=st.lists(words))
versions = st.builds(Version, at=moments, key=words, family_key=words, condition=words, text_hash=words,
                     facts=json_object)


@pytest.fixture(scope="module")
def database():
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(ddl())
    return connection


@settings(max_examples=60, deadline=None)
@given(st.one_of(calls, judgements, versions))
def test_a_record_comes_back_from_duckdb_and_from_the_journal_as_it_was(database, record):
    table = table_of(type(record))
    row = table.encode(record)
    assert table.completed(orjson.loads(orjson.dumps(row))) == row
    database.execute(f"DELETE FROM {table.name}")
    database.register("batch", table.batch([row]))
    database.execute(f"INSERT INTO {table.name} BY NAME SELECT * FROM batch")
    (back,) = database.execute(f"SELECT * FROM {table.name}").to_arrow_table().to_pylist()
    assert table.decode(back) == record


def test_every_table_has_every_field_and_its_documentation():
    for record in TABLES:
        table = ALL_TABLES[record.table]
        assert [column.name for column in table.columns] == list(record.model_fields)
        assert table.comment
    assert "Never scored unless" in documentation()
    assert "One of: done, excluded, failed." in documentation()


def test_the_tables_refuse_what_the_vocabulary_does_not_know(database):
    with pytest.raises(duckdb.ConstraintException):
        database.execute("INSERT INTO steps (\"at\", key, step, outcome, output, seconds) "
                         "VALUES (now(), 'k', 's', 'maybe', '{}', 0)")
    with pytest.raises(duckdb.ConstraintException):
        database.execute("INSERT INTO human_scores VALUES (now(), 'f', 'overall', 'nan'::DOUBLE, 's')")


def test_nan_is_missing_where_that_may_be_and_refused_where_not(call):
    assert table_of(Call).encode(call("k", cost_usd=math.nan))["cost_usd"] is None
    judged = Judgement(key="k", protocol="p", parser="x", base_url="b", model="m", version_hash="v", repeat=0,
                       outcome=Outcome.answered, scores={"overall": math.nan, "clarity": 3.0}, call_keys=[],
                       attempt_ids=[])
    assert table_of(Judgement).encode(judged)["scores"] == {"clarity": 3.0}
    with pytest.raises(NotStorable, match=r"human_scores\.score"):
        table_of(HumanScore).encode(HumanScore(family="f", score=math.nan, source="s"))
    step = Step(key="k", step="s", outcome="done", output={"x": math.nan})
    assert orjson.loads(table_of(Step).encode(step)["output"]) == {"x": None}


@pytest.mark.parametrize(("field", "value"), [
    ("repeat", 2**63), ("started_at", datetime(2026, 1, 1)), ("parameters", {"x": object()})])
def test_what_no_row_can_hold_is_refused_by_name(call, field, value):
    with pytest.raises(NotStorable, match=rf"calls\.{field}"):
        table_of(Call).encode(call("k", **{field: value}))


def test_an_answer_with_half_a_surrogate_pair_is_kept(call):
    row = table_of(Call).encode(call("k", answer="ok \ud83d!", parameters={"stop": "\udc00"}))
    assert row["answer"] == "ok �!"
    assert orjson.loads(row["parameters"]) == {"stop": "�"}
    assert table_of(Call).encode(call("k", answer="😀"))["answer"] == "😀"


def test_a_row_of_an_older_version_gets_the_defaults_of_columns_it_lacks(call):
    table = table_of(Call)
    row = table.encode(call("k"))
    assert table.completed({name: value for name, value in row.items() if name != "logprobs"})["logprobs"] is None
    with pytest.raises(NotStorable, match=r"calls\.model"):
        table.completed({name: value for name, value in row.items() if name != "model"})
