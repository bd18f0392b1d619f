"""Equal content has equal names; different content has different ones."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.keys import NotCanonical, canonical_json, content_hash, step_key

texts = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | texts
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=12)


@given(values)
def test_canonical_json_reads_back_as_the_same_value_and_is_stable(value):
    data = canonical_json(value)
    assert canonical_json(json.loads(data)) == data


@given(st.dictionaries(texts, values, min_size=2, max_size=6))
def test_the_order_of_a_mapping_does_not_matter(value):
    assert canonical_json(value) == canonical_json(dict(reversed(value.items())))


@given(values, values)
def test_different_values_have_different_texts(first, second):
    if canonical_json(first) == canonical_json(second):
        assert first == second


def test_whole_floats_are_integers_and_tuples_are_lists():
    assert canonical_json({"temperature": 0.0, "stop": ("a",)}) == canonical_json({"stop": ["a"], "temperature": 0})
    assert canonical_json(True) != canonical_json(1)


@pytest.mark.parametrize("bad", [math.nan, math.inf, {1: 2}, {1, 2}, b"x", "\ud800", 2**63, object()])
def test_what_has_no_canonical_form_is_refused(bad):
    with pytest.raises(NotCanonical):
        canonical_json({"field": [bad]})


def test_the_key_tells_steps_versions_and_parts_apart():
    keys = {step_key("call", 1, model="m"), step_key("call", 2, model="m"), step_key("build", 1, model="m"),
            step_key("call", 1, model="n"), step_key("call", 1, modelm="")}
    assert len(keys) == 5
    assert all(key.startswith("sha256:") and len(key) == 71 for key in keys)


def test_text_and_its_bytes_have_one_name():
    assert content_hash("Größe") == content_hash("Größe".encode())
