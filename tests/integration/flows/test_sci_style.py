"""SciStyleBench from ideas to report: planted effects recovered in all settings, nothing asked twice, the oracle."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from flows.suites import load_suite
from storage.errors import SuiteError
from storage.store import open_store
from tests.fakes.literature import FakeCrossref, FakeOpenAlex

SUITE = """
name: phantoms
benchmark: sci_style
draws: 400
families: {source: jsonl, path: ideas.jsonl}
rewrite:
  producers: [{name: rules, kind: rules, seed: 1}]
  verifiers: [{name: auditor, endpoint: phantom, model: phantom-auditor}]
contexts:
  - {name: none}
  - {name: pool, provider: pool, pools: {"*": corpus.jsonl}, works: 15}
  - {name: retrieved, provider: corpus, path: corpus.jsonl}
judge:
  endpoints: {phantom: {kind: phantom}}
  matrix:
    - endpoint: phantom
      models: [idea-phantom-01, idea-phantom-03, idea-phantom-04, idea-phantom-06]
      protocols: [idea_direct]
    - endpoint: phantom
      models: [idea-phantom-02]
      protocols: [idea_direct, idea_style_cot, idea_llm_injection, idea_extractor]
      options:
        idea_llm_injection: {signal: {endpoint: phantom, model: phantom-signal}}
        idea_extractor: {signal: {endpoint: phantom, model: phantom-extractor}}
"""
RATES = ("sbi", "sbi_plain", "srr", "awr")


def place_suite(folder: Path, root: Path, text: str = SUITE) -> Path:
    for name in ("ideas.jsonl", "corpus.jsonl"):
        (folder / name).write_text((root / "deployments/suites/ideas" / name).read_text("utf-8"), encoding="utf-8")
    path = folder / "phantoms.yaml"
    path.write_text(text)
    return path


@pytest.mark.slow
def test_planted_effects_are_recovered_in_every_setting(
    evenhand: Callable[..., Any], tmp_path: Path, root: Path
) -> None:
    suite = place_suite(tmp_path, root)
    ended = evenhand("run", str(suite), "--out", "report", "--json")
    assert ended.code == 0, ended.err
    folder = tmp_path / "a folder"
    results = json.loads((folder / "report" / "metrics.json").read_text())
    section = results["sections"]["style"]
    inside, compared = 0, 0
    for name, numbers in section["configurations"].items():
        assert set(numbers["contexts"]) == {"none", "pool", "retrieved"}
        for context in numbers["contexts"].values():
            assert context["collapsed"] == (name == "idea-phantom-04/idea_direct")
            for rate in RATES:
                found, wanted = context[rate], context["planted"][rate]
                compared += 1
                inside += found["low"] - 0.02 <= wanted <= found["high"] + 0.02
    assert inside >= 0.85 * compared, (inside, compared)
    by_name = {name: numbers["contexts"] for name, numbers in section["configurations"].items()}
    moved = by_name["idea-phantom-02/idea_direct"]
    assert moved["retrieved"]["sbi"]["high"] < moved["none"]["sbi"]["low"] + 0.05  # literature sobers this one
    assert moved["none"]["awr"]["value"] < by_name["idea-phantom-02/idea_llm_injection"]["none"]["awr"]["value"]
    assert {row["variant"]: row["made"] for row in section["audit"]} == dict.fromkeys(results["conditions"], 14)
    assert [row["works"] for row in section["contexts"]][:2] == [0, 14 * 15]
    store = open_store(folder / ".evenhand" / "store.duckdb")
    calls = store.query("SELECT count(*) FROM calls").item()
    assert store.query("SELECT count(*) FROM works").item() >= 14 * 60
    store.close()
    again = evenhand("run", str(suite), "--out", "report", "--json")
    assert again.code == 0
    store = open_store(folder / ".evenhand" / "store.duckdb")
    assert store.query("SELECT count(*) FROM calls").item() == calls
    store.close()
    page = (folder / "report" / "index.html").read_text()
    assert "Does literature help?" in page
    assert "(published)" in page
    assert "0.566" in (root / "tasks/report/data/published_style.json").read_text()


@pytest.mark.slow
def test_online_retrieval_feeds_the_judges_and_an_outage_is_a_gap(
    evenhand: Callable[..., Any], tmp_path: Path, root: Path
) -> None:
    """The run ends with cells missing and says so; the next run asks for what is missing and nothing else."""
    with FakeOpenAlex() as openalex, FakeCrossref() as crossref:
        online = (f'{{name: retrieved, provider: online, openalex_url: "{openalex.url}", '
                  f'crossref_url: "{crossref.url}", openalex_per_s: 50, crossref_per_s: 20}}')
        head, _, rest = SUITE.partition("  - {name: pool")
        judges = rest[rest.index("judge:"):rest.rindex("    - endpoint: phantom\n")]
        suite = place_suite(tmp_path, root, f"{head}  - {online}\n{judges}")
        (tmp_path / "ideas.jsonl").write_text("\n".join((tmp_path / "ideas.jsonl").read_text().splitlines()[:2]))
        for server in (openalex, crossref):
            server.behaviour.override["/works"] = (403, {}, b'{"message": "go away"}')
        ended = evenhand("run", str(suite), "--json")
        assert ended.code in (1, 3), ended.err
        for server in (openalex, crossref):
            server.behaviour.override.clear()
        for limits in (tmp_path / "a folder" / ".evenhand" / "limits").glob("*.json"):
            limits.unlink()
        ended = evenhand("run", str(suite), "--json")
        assert ended.code == 0, ended.err
        asked = len(openalex.log.urls) + len(crossref.log.urls)
        assert evenhand("run", str(suite), "--json").code == 0
        assert len(openalex.log.urls) + len(crossref.log.urls) == asked
    results = json.loads((tmp_path / "a folder/.evenhand/reports/phantoms/metrics.json").read_text())
    assert [row["works"] for row in results["sections"]["style"]["contexts"]] == [0, 100]


def test_the_oracle_by_command(evenhand: Callable[..., Any], tmp_path: Path, root: Path) -> None:
    oracle = json.loads((root / "tests/fixtures/oracles/style.json").read_text())
    path = tmp_path / "scores.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["idea", "variant", "dimension", "score"])
        for variant, ideas in oracle["scores"].items():
            for number, scores in enumerate(ideas):
                named = dict(zip(oracle["dimensions"], scores, strict=True))
                named["overall"] = oracle["overall"][variant][number]
                rows.writerows([f"i{number}", variant, name, score] for name, score in named.items())
    ended = evenhand("metrics", "style", str(path), "--json")
    assert ended.code == 0, ended.err
    numbers, wanted = ended.document["configurations"]["default"], oracle["expected"]
    assert numbers["sbi"]["value"] == pytest.approx(wanted["sbi_style_only_mean"], abs=1e-9)
    assert numbers["srr"]["value"] == pytest.approx(wanted["srr"], abs=1e-9)
    assert numbers["awr"]["value"] == pytest.approx(wanted["awr"], abs=1e-9)
    assert evenhand("metrics", "style", str(path)).code == 0


class Reader(BaseHTTPRequestHandler):
    """A model that finds an idea in every paper."""

    asked = 0

    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        type(self).asked += 1
        idea = {"title": "Reranking by overlap", "domain": "Computer Science", "research_question": "Does it help?",
                "problem": "P.", "mechanism": "It overlaps.", "variables": ["overlap"], "contribution": "C.",
                "evaluation": "E.", "limitations": "L.", "concepts": ["reranking"]}
        choice = {"index": 0, "message": {"role": "assistant", "content": json.dumps(idea)}, "finish_reason": "stop"}
        body = json.dumps({"id": "1", "model": "reader", "choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.mark.slow
def test_ideas_come_out_of_papers_too(evenhand: Callable[..., Any], tmp_path: Path, root: Path) -> None:
    shutil.copytree(root / "deployments/suites/papers/overlap-reranking", tmp_path / "papers" / "overlap-reranking")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Reader)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    text = SUITE.replace("source: jsonl, path: ideas.jsonl",
                         "source: folder, path: papers, extractor: {name: r, endpoint: reader, model: reader}")
    text = text.replace("endpoints: {phantom: {kind: phantom}}",
                        f'endpoints: {{phantom: {{kind: phantom}}, reader: {{base_url: "{url}"}}}}')
    suite = place_suite(tmp_path, root, text)
    for _ in range(2):
        ended = evenhand("run", str(suite), "--json")
        assert ended.code == 0, ended.err
    server.shutdown()
    assert Reader.asked == 1
    results = json.loads((tmp_path / "a folder/.evenhand/reports/phantoms/metrics.json").read_text())
    assert [(family["family"], family["source_kind"]) for family in results["families"]] == [
        ("overlap-reranking", "idea")]
    assert results["sections"]["style"]["ideas"] == 1


@pytest.mark.parametrize(("change", "said"), [
    ("producers: [{name: rules, kind: rules, seed: 1}]|producers: [{name: a}, {name: b}]", "exactly one producer"),
    ("provider: corpus, path: corpus.jsonl|provider: corpus", "needs path"),
    ("protocols: [idea_direct]|protocols: [standard]", "judges papers, and the items of sci_style are ideas"),
    ("model: phantom-signal|modell: phantom-signal", "options.signal.model: Field required"),
    ("signal: {endpoint: phantom, model: phantom-signal|signal: {endpoint: ghost, model: phantom-signal",
     "'ghost' is no endpoint of the suite"),
    ("{name: none}|{name: pool}", "two are named 'pool'"),
    ("rewrite:|rewrite:\n  conditions: [B9]", "unknown condition 'B9'"),
    ("source: jsonl, path: ideas.jsonl|source: folder, path: papers", "families.extractor"),
])
def test_wrong_suites_are_named(tmp_path: Path, root: Path, change: str, said: str) -> None:
    before, after = change.split("|")
    assert before in SUITE
    with pytest.raises(SuiteError, match=said):
        load_suite(str(place_suite(tmp_path, root, SUITE.replace(before, after, 1))))


@pytest.mark.slow
def test_the_papers_matrix_is_planned_whole_in_a_laptops_memory(root: Path, tmp_path: Path) -> None:
    """648,000 cells in under 1 GB, in a process of its own; how long it takes is the benchmark's matter."""
    ended = subprocess.run([sys.executable, str(root / "tests/benchmarks/bench_style.py"), "planning"], text=True,
                           capture_output=True, check=True, env=os.environ | {"EVENHAND_HOME": str(tmp_path)})
    cells, peak = re.search(r"([\d,]+) cells, peak ([\d.]+) GiB", ended.stdout).groups()
    assert cells == "648,000"
    assert float(peak) * 2**30 < 1e9
