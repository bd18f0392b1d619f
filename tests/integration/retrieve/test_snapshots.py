"""Snapshots: exactly fifty or a stated shortfall, never asked twice, the same for every process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from storage.records import Step, Work
from tasks.retrieve.sources import RetrieveOrder, missing_snapshots
from tasks.retrieve.spec import ContextSpec
from tasks.retrieve.tasks import retrieve_all, retrieve_task

ROOT = Path(__file__).resolve().parents[3]


def order_of(spec, families, tmp_path):
    return RetrieveOrder(spec, ROOT / "deployments/suites", tmp_path / "limits", tuple(families))


def run(store, order):
    return retrieve_all(store, order, missing_snapshots(store, order), None, lambda step: None)


def works_of(store, step):
    return sorted(store.load(Work, [step.key], view=False), key=lambda work: work.place)


def test_fifty_works_with_provenance_and_no_second_question(store, family_of, online, tmp_path, openalex_server):
    order = order_of(online, [family_of(1)], tmp_path)
    (step,) = run(store, order)
    works = works_of(store, step)
    assert step.outcome == "done"
    assert [work.place for work in works] == list(range(1, 51))
    assert step.output["shortfall"] == 0
    assert all(work.provider == "openalex" and work.query and work.provider_rank >= 1 for work in works)
    bare = [not work.abstract for work in works]
    assert bare == sorted(bare)
    assert store.get_text(step.output["literature"]).startswith("[1] ")
    asked = len(openalex_server.log.urls)
    assert run(store, order) == []
    assert len(openalex_server.log.urls) == asked


def test_crossref_fills_up_what_openalex_lacks(store, family_of, online, tmp_path, openalex_server):
    openalex_server.behaviour.hits = 8
    (step,) = run(store, order_of(online, [family_of(1)], tmp_path))
    providers = {work.provider for work in works_of(store, step)}
    assert providers == {"openalex", "crossref"}
    assert step.output["works"] == 50


def test_a_budget_that_is_gone_sends_the_search_to_crossref_and_says_so(
    store, family_of, online, tmp_path, openalex_server
):
    """B50, B51: at once, and without another request."""
    openalex_server.behaviour.budget = 0
    started = time.monotonic()
    steps = run(store, order_of(online, [family_of(1), family_of(2)], tmp_path))
    assert [step.output["works"] for step in steps] == [50, 50]
    assert "budget_gone" in steps[0].output["providers"]["openalex"]["fault"]
    assert "closed" in steps[1].output["providers"]["openalex"]["fault"]
    assert len(openalex_server.log.urls) == 1
    assert time.monotonic() - started < 30


def test_an_early_cursor_is_topped_up(store, family_of, online, tmp_path, openalex_server):
    """B53."""
    openalex_server.behaviour.short_cursor = 10
    (step,) = run(store, order_of(online, [family_of(1)], tmp_path))
    assert step.output["works"] == 50
    assert "shortfall" in step.output["providers"]["openalex"]["flags"]
    assert "crossref" in step.output["providers"]


def test_too_few_works_are_a_counted_shortfall(store, family_of, online, tmp_path, openalex_server, crossref_server):
    openalex_server.behaviour.hits = crossref_server.behaviour.hits = 4
    (step,) = run(store, order_of(online, [family_of(1)], tmp_path))
    assert step.outcome == "done"
    assert step.output["shortfall"] == 50 - step.output["works"] > 0
    assert "short of 50" in step.detail


def test_an_outage_leaves_the_snapshot_open_and_keeps_what_was_found(
    store, family_of, online, tmp_path, openalex_server, crossref_server
):
    openalex_server.behaviour.hits = 8
    crossref_server.behaviour.override["/works"] = (401, {}, b'{"message": "who are you?"}')
    order = order_of(online, [family_of(1)], tmp_path)
    (step,) = run(store, order)
    assert (step.outcome, step.reason) == ("failed", "provider_unavailable")
    assert works_of(store, step) == []
    asked = len(openalex_server.log.urls)
    del crossref_server.behaviour.override["/works"]
    (tmp_path / "limits" / "crossref.json").unlink()
    (again,) = run(store, order)
    assert again.outcome == "done"
    assert again.output["works"] == 50
    assert len(openalex_server.log.urls) == asked


def test_a_new_snapshot_is_asked_for_by_number(store, family_of, online, tmp_path, openalex_server):
    family = family_of(1)
    (old,) = run(store, order_of(online, [family], tmp_path))
    asked = len(openalex_server.log.urls)
    (new,) = run(store, order_of(online.model_copy(update={"snapshot": 2}), [family], tmp_path))
    assert new.key != old.key
    assert len(openalex_server.log.urls) == 2 * asked
    assert works_of(store, old)


def test_the_key_of_a_snapshot_holds_no_label_and_no_secret(store, family_of, online, tmp_path, monkeypatch):
    family = family_of(1)
    from tasks.retrieve.sources import snapshot_keys

    renamed = online.model_copy(update={"name": "other", "openalex_key_env": "SOME_KEY", "openalex_per_s": 1.0})
    assert snapshot_keys(order_of(online, [family], tmp_path)) == snapshot_keys(order_of(renamed, [family], tmp_path))
    short = online.model_copy(update={"works": 20})
    assert snapshot_keys(order_of(online, [family], tmp_path)) != snapshot_keys(order_of(short, [family], tmp_path))


def test_a_local_corpus_is_searched_without_any_request(store, family_of, tmp_path):
    spec = ContextSpec(name="local", provider="corpus", path="ideas/corpus.jsonl")
    from storage.ideas import Idea
    from tasks.ingest.ideas import NamedIdea, idea_family

    idea = Idea(title="Turn-taking in dialogue", domain="Computer Science", research_question="When to speak?",
                problem="p", mechanism="A model of turn-taking and prosody in spoken dialogue.", contribution="c")
    family = idea_family(store, NamedIdea("talk", idea))
    store.append(family)
    (step,) = run(store, order_of(spec, [family], tmp_path))
    works = works_of(store, step)
    assert "urn-taking" in works[0].title or "dialogue" in works[0].title.lower()
    assert step.output["shortfall"] == 50 - len(works)


def test_the_task_tells_its_state(store, family_of, online, tmp_path):
    order = order_of(online, [family_of(1)], tmp_path)
    first = retrieve_task.fn(store.url, order)
    assert first.name == "Completed"
    assert retrieve_task.fn(store.url, order).name == "Cached"


WORKER = """
import sys, json
from pathlib import Path
from storage.store import open_store
from storage.records import Family
from tasks.retrieve.spec import ContextSpec
from tasks.retrieve.sources import RetrieveOrder, missing_snapshots
from tasks.retrieve.tasks import retrieve_all
given = json.loads(Path(sys.argv[1]).read_text())
store = open_store(given["store"])
families = tuple(store.load(Family, given["families"]))
order = RetrieveOrder(ContextSpec(**given["spec"]), Path("."), Path(given["limits"]), families)
retrieve_all(store, order, missing_snapshots(store, order), None, lambda step: None)
store.close()
"""


def start_worker(tmp_path, number, store, spec, families):
    given = tmp_path / f"order-{number}.json"
    given.write_text(json.dumps({"store": store.url, "spec": spec.model_dump(mode="json"),
                                 "limits": str(tmp_path / "limits"), "families": [family.key for family in families]}))
    return subprocess.Popen([sys.executable, "-c", WORKER, str(given)], cwd=ROOT, env={**os.environ})


@pytest.mark.slow
def test_200_ideas_under_faults_by_four_processes_with_a_kill(
    store, family_of, online, tmp_path, openalex_server, crossref_server
):
    """Every idea ends with fifty works, no provider is hit above its limit, and nothing is asked twice.

    5 % of each fault; a killed process resumes without asking what it knows; B67.
    """
    for server in (openalex_server, crossref_server):
        server.behaviour.fault_share = 0.05
        server.behaviour.retry_after = "0.01"
    openalex_server.behaviour.per_s = 60
    crossref_server.behaviour.at_once = 1
    crossref_server.behaviour.per_s = 25
    openalex_server.behaviour.hits = 30
    spec = online.model_copy(update={"per_query": 30, "works": 50})
    families = [family_of(number) for number in range(200)]
    store.flush()
    parts = [families[start::4] for start in range(4)]
    workers = [start_worker(tmp_path, number, store, spec, part) for number, part in enumerate(parts)]
    time.sleep(6)
    workers[0].send_signal(signal.SIGKILL)
    workers[0].wait()
    again = start_worker(tmp_path, 9, store, spec, parts[0])
    assert [worker.wait(timeout=500) for worker in (*workers[1:], again)] == [0, 0, 0, 0]
    order = order_of(spec, families, tmp_path)
    run(store, order)
    assert missing_snapshots(store, order) == []
    steps = [step for step in store.load(Step) if step.step == "retrieve"]
    assert len(steps) == len(families)
    assert all(step.output["works"] == 50 or step.output["shortfall"] > 0 for step in steps)
    assert openalex_server.log.refused == 0
    assert crossref_server.log.refused == 0
    asked = len(openalex_server.log.urls) + len(crossref_server.log.urls)
    run(store, order)
    assert len(openalex_server.log.urls) + len(crossref_server.log.urls) == asked
