"""pyalex and habanero against services that behave as the field reports say."""

from __future__ import annotations

import time
from urllib.parse import parse_qs, urlsplit

import pytest

from tasks.retrieve.crossref import read_item
from tasks.retrieve.faults import ProviderFault
from tasks.retrieve.limiter import ProviderClosed
from tasks.retrieve.openalex import read_work


def asked(server, place=0):
    parts = urlsplit(server.log.urls[place])
    return parts.path, {name: values[0] for name, values in parse_qs(parts.query).items()}


def test_the_address_that_openalex_is_asked_at(openalex, openalex_server):
    """A contract with pyalex: path, search encoded once, size within the service's limit, key in the header."""
    openalex.search("graph neural nets, fast", 50)
    path, query = asked(openalex_server)
    assert path == "/works"
    assert query["search"] == "graph neural nets, fast"
    assert "%25" not in openalex_server.log.urls[0]
    assert query["per-page"] == "50"
    assert query["cursor"] == "*"
    assert "abstract_inverted_index" in query["select"]
    assert "filter" not in query
    assert openalex_server.log.headers[0]["Authorization"] == "Bearer k-1"


def test_a_double_encoded_query_would_be_seen(openalex, openalex_server):
    """B58: the fake finds one work for such a query; ours finds all."""
    assert len(openalex.search("graph neural nets", 30).works) >= 28


def test_the_address_that_crossref_is_asked_at(crossref, crossref_server):
    """B68: the filter is in the URL, whatever the argument is called in the next release."""
    crossref.search("graph neural nets", 40)
    path, query = asked(crossref_server)
    assert path == "/works"
    assert query["query"] == "graph neural nets"
    assert query["rows"] == "40"
    assert "type:journal-article" in query["filter"]
    assert "peer-review" not in query["filter"]
    assert set(query["select"].split(",")) >= {"DOI", "title", "abstract", "posted"}
    assert "mailto:someone@example.org" in crossref_server.log.headers[0]["User-Agent"]


def test_dates_limit_both_searches(openalex_server, crossref_server, limits):
    from tasks.retrieve.crossref import Crossref
    from tasks.retrieve.limiter import Limiter
    from tasks.retrieve.openalex import OpenAlex

    pace = {"interval_s": 0.0, "at_once": 1}
    OpenAlex(Limiter("o", limits, **pace), base_url=openalex_server.url, until="2025-06-30").search("x", 5)
    Crossref(Limiter("c", limits, **pace), base_url=crossref_server.url, until="2025-06-30").search("x", 5)
    assert asked(openalex_server)[1]["filter"] == "to_publication_date:2025-06-30"
    assert "until-pub-date:2025-06-30" in asked(crossref_server)[1]["filter"]


def test_pages_are_followed_and_malformed_records_left_out(openalex):
    answer = openalex.search("many works", 110)
    assert len(answer.works) == 110
    assert len({work.provider_id for work in answer.works}) == 110
    assert answer.flags == ("malformed_records",)


def test_a_cursor_that_ends_early_is_a_stated_shortfall(openalex, openalex_server):
    """B53."""
    openalex_server.behaviour.short_cursor = 25
    openalex_server.behaviour.malformed = False
    answer = openalex.search("some works", 50)
    assert (len(answer.works), answer.count, answer.flags) == (25, 120, ("shortfall",))


def test_a_repeated_page_ends_the_search(openalex, openalex_server):
    """B54."""
    openalex_server.behaviour.same_page = True
    openalex_server.behaviour.malformed = False
    answer = openalex.search("some works", 110)
    assert len(answer.works) == 100
    assert set(answer.flags) == {"repeated_page", "shortfall"}
    assert len(openalex_server.log.urls) == 2


def test_merged_and_missing_ids(openalex):
    """B62: the merged one is followed and counted once, the missing one is a miss, the batch goes on."""
    works, misses = openalex.look_up(["W1", "W2", "W3", "W9"])
    assert [work.provider_id.rsplit("/", 1)[-1] for work in works] == ["W1", "W9"]
    assert misses == ["W2"]


def test_missing_in_openalex_is_an_answer_and_crossref_has_it(openalex, crossref, openalex_server):
    """B60."""
    works, misses = openalex.look_up(["https://doi.org/10.5555/x"])
    assert (works, misses) == ([], ["https://doi.org/10.5555/x"])
    assert len(openalex_server.log.urls) == 1
    found, none = crossref.look_up(misses)
    assert [work.doi for work in found] == ["10.5555/x"]
    assert none == []


def test_one_unknown_doi_spoils_nothing(crossref):
    """B64."""
    works, misses = crossref.look_up(["10.5555/ok1", "10.5555/doesnotexist", "10.5555/ok2"])
    assert [work.doi for work in works] == ["10.5555/ok1", "10.5555/ok2"]
    assert misses == ["10.5555/doesnotexist"]


@pytest.mark.parametrize("reply", [
    (200, {"Content-Type": "text/html"}, b"<html>maintenance</html>"), (200, {"Content-Type": ""}, b""),
    (503, {"Content-Type": "text/plain"}, b"down"), (200, {}, b"{not json"), (200, {}, b"[]"), (200, {}, b"{}"),
    (500, {}, b'{"message": "x"}'), (401, {"Content-Type": "text/html"}, b"<html>who?</html>"),
])
@pytest.mark.parametrize("name", ["openalex", "crossref"])
def test_strange_replies_are_typed_faults(name, reply, request, monkeypatch):
    """B65: time-outs, HTML, empty bodies and half JSON are never an unknown exception."""
    monkeypatch.setattr("tasks.retrieve.faults.ATTEMPTS", 1)
    provider, server = request.getfixturevalue(name), request.getfixturevalue(f"{name}_server")
    monkeypatch.setattr(f"tasks.retrieve.{name}.patiently", lambda limiter, call, cap_s: call())
    server.behaviour.override["/works"] = reply
    with pytest.raises(ProviderFault) as caught:
        provider.search("x", 5)
    assert caught.value.kind in ("unavailable", "refused")


def test_a_dropped_connection_is_an_outage(openalex, crossref, openalex_server, crossref_server, monkeypatch):
    for name, provider, server in (("openalex", openalex, openalex_server), ("crossref", crossref, crossref_server)):
        server._server.shutdown()
        server._server.server_close()
        monkeypatch.setattr(f"tasks.retrieve.{name}.patiently", lambda limiter, call, cap_s: call())
        with pytest.raises(ProviderFault) as caught:
            provider.search("x", 5)
        assert caught.value.kind == "unavailable"


def test_the_budget_is_gone_and_the_next_request_is_not_made(openalex, openalex_server):
    """B50, B51."""
    openalex_server.behaviour.budget = 1
    openalex.search("first", 10)
    started = time.monotonic()
    with pytest.raises(ProviderFault) as caught:
        openalex.search("second", 10)
    assert caught.value.kind == "budget_gone"
    with pytest.raises(ProviderClosed):
        openalex.search("third", 10)
    assert len(openalex_server.log.urls) == 2
    assert time.monotonic() - started < 5


def test_crossrefs_long_wait_closes_it_too(crossref, crossref_server):
    """B51: no budget headers, but 15 hours to wait."""
    crossref_server.behaviour.budget = 0
    with pytest.raises(ProviderFault):
        crossref.search("first", 10)
    with pytest.raises(ProviderClosed):
        crossref.search("second", 10)
    assert len(crossref_server.log.urls) == 1


@pytest.mark.parametrize("record", [
    {"id": "https://openalex.org/W1", "title": None, "doi": None, "abstract_inverted_index": None,
     "primary_location": None, "publication_year": None, "authorships": []},
    {"id": "https://openalex.org/W1"},
    {"id": "https://openalex.org/W1", "authorships": [None, {"author": None}], "abstract_inverted_index": {"a": 3}},
])
def test_sparse_openalex_records_are_works_without_an_abstract(record):
    """B59."""
    work = read_work(record, "q", 1)
    assert (work.abstract, work.flags, work.year) == ("", ("no_abstract",), None)


@pytest.mark.parametrize(("item", "year"), [
    ({"DOI": "10.5555/x", "issued": {"date-parts": [[None]]}, "posted": {"date-parts": [[2017, 9]]}}, 2017),
    ({"DOI": "10.5555/y"}, None), ({"DOI": "10.5555/z", "issued": {"date-parts": [[]]}, "published": None}, None),
])
def test_crossref_dates_may_be_missing_or_null(item, year):
    """B69."""
    assert read_item(item, "q", 1).year == year


def test_crossref_abstracts_come_without_markup(crossref):
    work = crossref.search("plain text", 3).works[0]
    assert "<" not in work.title
    assert work.abstract.endswith("< 5")
    assert not work.abstract.startswith("Abstract")
