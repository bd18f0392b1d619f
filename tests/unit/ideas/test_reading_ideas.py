"""Ideas come from JSON lines with checked fields, or out of papers by a model."""

from __future__ import annotations

import json

import httpx2
import pytest

from storage.errors import InputError
from storage.ideas import DOMAINS, VARIANT_NAMES, parts_of
from storage.records import Family, Step
from tasks.ingest.ideas import Extractor, extract_ideas, ingest_ideas, read_ideas
from tasks.metrics.style_frame import VARIANTS
from tasks.models import transports
from tasks.models.engine import Engine

GOOD = {"id": "x", "domain": "Biology", "title": "T", "research_question": "Q?", "problem": "P", "mechanism": "M",
        "contribution": "C"}


def write(tmp_path, *records):
    path = tmp_path / "ideas.jsonl"
    path.write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in records))
    return path


def test_the_demonstration_has_at_least_twelve_ideas_over_the_domains(named):
    assert len(named) >= 12
    assert {each.idea.domain for each in named} == set(DOMAINS)


def test_the_names_of_the_variants_are_those_of_the_metrics():
    assert VARIANT_NAMES == VARIANTS


@pytest.mark.parametrize(("record", "said"), [
    ("{broken", "row 2: is not a JSON object"), ("[1]", "row 2: is not a JSON object; write one idea a line"),
    ({**GOOD, "id": "y", "rigour": 1}, "row 2: field 'rigour' is unknown"),
    ({k: v for k, v in GOOD.items() if k != "mechanism"} | {"id": "y"}, "row 2: field 'mechanism' is missing"),
    ({**GOOD, "id": "y", "problem": "  "}, "row 2: problem is empty"),
    ({**GOOD, "id": "y", "domain": "Alchemy"}, "row 2: field 'domain' is 'Alchemy'; known are"),
    ({**GOOD, "id": ""}, "row 2: field 'id' must be a text"), ({**GOOD}, "row 2: the id 'x' is there already"),
    ({**GOOD, "id": "y", "variables": "one"}, "row 2: field 'variables'"),
])
def test_a_wrong_row_is_named(tmp_path, record, said):
    with pytest.raises(InputError) as caught:
        read_ideas(write(tmp_path, GOOD, record))
    assert said in str(caught.value)


def test_missing_and_empty_files_are_named(tmp_path):
    with pytest.raises(InputError, match="there is no such file"):
        read_ideas(tmp_path / "none.jsonl")
    with pytest.raises(InputError, match="holds no idea"):
        read_ideas(write(tmp_path, ""))


def test_an_idea_is_taken_in_once(store, named):
    first = ingest_ideas(store, named)
    assert ingest_ideas(store, named) == first
    assert len(store.load(Family, view=False)) == len(named)
    assert first[0].source_kind == "idea"
    assert parts_of(store.get_text(first[0].text_hash))["title"] == named[0].idea.title


class Reader(httpx2.AsyncBaseTransport):
    """A model that extracts ideas."""

    asked = 0

    async def handle_async_request(self, request):
        body = json.loads(await request.aread())
        type(self).asked += 1
        paper = body["messages"][-1]["content"]
        broken = "unreadable" in (paper if isinstance(paper, str) else json.dumps(paper))
        idea = {**{name: value for name, value in GOOD.items() if name != "id"}, "evaluation": "E", "limitations": "L",
                "variables": ["v"], "concepts": ["c"]}
        answer = "no idea here" if broken else f"Here it is: {json.dumps(idea)}"
        choice = {"index": 0, "message": {"role": "assistant", "content": answer}, "finish_reason": "stop"}
        return httpx2.Response(200, json={"id": "1", "model": "m", "choices": [choice],
                                          "usage": {"prompt_tokens": 5, "completion_tokens": 5}})


def test_ideas_are_extracted_from_papers_once(store, endpoint, monkeypatch):
    monkeypatch.setattr(transports, "_registered", {"phantom": Reader})
    papers = []
    for number, text in enumerate(("A paper about cells.", "An unreadable paper.")):
        papers.append(Family(key=f"p{number}", family=f"paper-{number}", source_kind="latex", source_hash="h",
                             title=f"Paper {number}", text_hash=store.put_text(text)))
    papers.append(Family(key="p9", family="scan", source_kind="pdf", source_hash="h", title=None, text_hash=None))
    extractor = Extractor(endpoint, "reader", {"temperature": 0})
    found = extract_ideas(store, Engine(store), papers, extractor)
    assert [family.family for family in found] == ["paper-0"]
    assert found[0].facts["source"]["title"] == "Paper 0"
    reasons = {step.detail.split(":")[0]: step.reason for step in store.load(Step) if step.outcome == "excluded"}
    assert reasons == {"paper-1": "unparsable", "scan": "no_text"}
    asked = Reader.asked
    assert extract_ideas(store, Engine(store), papers, extractor) == found
    assert Reader.asked == asked
