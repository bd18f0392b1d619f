"""JudgeBiasBench from pairs to report: planted flips recovered, the reversal exposed, nothing bought twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flows.planning import expected_grid, judging
from flows.suites import load_suite
from storage.errors import SuiteError
from storage.store import open_store
from tests.fakes.mock_server import MockServer

PHANTOMS = """
name: phantoms
benchmark: judge_bias
draws: 200
families: {source: jsonl, path: pairs.jsonl}
rewrite:
  conditions: [authority, race, bandwagon, position]
  templates: [tuned, held_out]
  producers: [{name: rules-a, kind: rules, seed: 1}]
  verifiers: [{name: v, endpoint: phantom, model: phantom-verifier-a}]
judge:
  endpoints:
    phantom: {kind: phantom}
    reward: {kind: phantom, api: reward}
  configurations:
    - {name: even, endpoint: phantom, model: phantom-pair-even, protocol: pair_explained}
    - {name: crowd, endpoint: phantom, model: phantom-pair-crowd, protocol: pair_structured}
    - {name: first, endpoint: phantom, model: phantom-pair-first, protocol: pair_direct}
    - {name: reverser, endpoint: phantom, model: phantom-pair-reverser, protocol: pair_think}
    - {name: drilled, endpoint: phantom, model: phantom-pair-drilled, protocol: pair_explained}
    - {name: mumbler, endpoint: phantom, model: phantom-pair-mumbler, protocol: pair_explained}
    - {name: reward, endpoint: reward, model: phantom-pair-reward, protocol: reward}
    - {name: rater, endpoint: phantom, model: phantom-pair-rater, protocol: pointwise}
"""
FAULTY = """
name: faulty
benchmark: judge_bias
draws: 200
families: {{source: jsonl, path: pairs.jsonl}}
rewrite: {{conditions: [length, bandwagon, position], producers: [{{name: rules-a}}]}}
judge:
  endpoints: {{mock: {{base_url: "{url}", max_in_flight: 16, attempts: 5}}}}
  matrix: [{{endpoint: mock, models: [m1], protocols: [pair_structured, pair_explained, pointwise]}}]
"""
FAULTS = {"429-noheader": 0.05, "500": 0.05, "reset": 0.05, "truncated": 0.05, "empty": 0.05, "refusal": 0.02,
          "prose": 0.05, "badschema": 0.05}


def _suite(folder: Path, root: Path, text: str, pairs: int) -> Path:
    lines = (root / "deployments" / "suites" / "pairs" / "pairs.jsonl").read_text("utf-8").splitlines()
    (folder / "pairs.jsonl").write_text("\n".join(lines[:pairs]) + "\n", encoding="utf-8")
    path = folder / "suite.yaml"
    path.write_text(text)
    return path


def _rates(numbers: dict[str, Any]) -> dict[str, float]:
    return {name: numbers[name]["value"] for name in ("acc_ori", "acc_inj", "bsr", "symmetric_flip_rate", "reversal")}


@pytest.mark.slow
def test_planted_biases_are_recovered_and_the_reversal_is_exposed(
    evenhand: Callable[..., Any], tmp_path: Path, root: Path
) -> None:
    suite = _suite(tmp_path, root, PHANTOMS, 64)
    ended = evenhand("run", str(suite), "--out", str(tmp_path / "out"), "--json")
    assert ended.code == 0, ended.err
    section = json.loads((tmp_path / "out" / "metrics.json").read_text())["sections"]["bias"]
    tuned, held_out = section["arms"]
    assert (tuned["style"], held_out["style"]) == ("tuned", "held_out")
    for arm in (tuned, held_out):
        for name in ("even", "crowd", "first", "reverser", "drilled", "reward"):
            numbers = arm["configurations"][name]
            for rate, found in _rates(numbers).items():
                planted, n = numbers["planted"][rate], 64
                room = 4.5 * (max(planted * (1 - planted), 0.02) / n) ** 0.5
                assert abs(found - planted) < room, (arm["style"], name, rate, found, planted)
    assert tuned["configurations"]["even"]["symmetric_flip_rate"]["value"] == 0.0
    reverser = tuned["configurations"]["reverser"]
    assert reverser["bsr"]["value"] == 0.0
    assert reverser["symmetric_flip_rate"]["low"] > 0.08
    assert reverser["one_way"]["reverses"] is True
    page = (tmp_path / "out" / "index.html").read_text()
    assert "Its BSR looks good (0\u00a0%) because" in page
    drilled = (arm["configurations"]["drilled"]["symmetric_flip_rate"] for arm in (tuned, held_out))
    assert next(drilled)["value"] == 0.0 < next(drilled)["low"]
    assert section["position"]["first"]["p_first"]["value"] > 0.65
    assert section["position"]["even"]["consistency"]["value"] == 1.0
    assert "reward" not in section["position"]
    assert set(tuned["configurations"]["reward"]["biases"]) == {"authority", "race"}
    assert tuned["configurations"]["mumbler"]["counts"]["unparsed"] > 0
    assert section["verifiers"]["pooled"]["pairs"] > 200
    assert evenhand("run", str(suite), "--out", str(tmp_path / "out"), "--json").code == 0


@pytest.mark.slow
def test_every_pair_ends_with_a_verdict_or_a_typed_reason_and_nothing_is_bought_twice(
    evenhand: Callable[..., Any], tmp_path: Path, root: Path
) -> None:
    with MockServer(latency_ms=2, faults=FAULTS, seed=7) as mock:
        suite = _suite(tmp_path, root, FAULTY.format(url=mock.base_url), 6)
        url = str(tmp_path / "s.duckdb")
        first = evenhand("run", str(suite), "--store", url, "--json")
        assert first.code in (0, 3), first.err
        mock.faults()
        second = evenhand("run", str(suite), "--store", url, "--out", str(tmp_path / "out"), "--json")
        assert second.code in (0, 3), second.err
        served = mock.stats()["requests"]
        evenhand("run", str(suite), "--store", url, "--json")
        assert mock.stats()["requests"] == served, "a third run asks nothing"
    results = json.loads((tmp_path / "out" / "metrics.json").read_text())
    for row in results["configurations"]:
        cells = row["cells"]
        assert cells["answered"] + sum(cells["missing"].values()) == cells["wanted"] > 0
        assert set(cells["missing"]) <= {"unparsable", "truncated", "refused", "filtered", "empty", "out_of_range"}
    structured = next(row for row in results["configurations"] if row["protocol"] == "pair_structured")
    assert structured["cells"]["answered"] > 0.9 * structured["cells"]["wanted"]
    store = open_store(url)
    held_a_verdict = "outcome = 'answered' AND (answer LIKE '%\"[[A]]\"%' OR answer LIKE '%\"[[B]]\"%')"
    bought = store.query(f"SELECT count(*) AS n, count(DISTINCT key) AS keys FROM calls WHERE {held_a_verdict}")
    lines = results["sections"]["bias"]["arms"][0]["configurations"]["m1/pair_structured"]["counts"]
    assert lines["n"] + lines["missing"] == 6 * 3
    assert bought["n"][0] == bought["keys"][0] > 0, "a verdict is paid for once"
    store.close()


def test_a_plan_counts_what_the_run_will_ask(tmp_path: Path, root: Path) -> None:
    suite = load_suite(str(_suite(tmp_path, root, PHANTOMS, 4)))
    store = open_store(tmp_path / "s.duckdb")
    rows = {row.configuration: row for row in judging(suite, store, expected_grid(suite, store))}
    # Originals in both orders, three biases in two styles and both orders; position is one of the originals again.
    assert rows["even"].wanted == 4 * (2 + 3 * 2 * 2)
    assert (rows["reward"].wanted, rows["reward"].calls) == (4 * (1 + 2 * 2), 2 * 4 * (1 + 2 * 2))
    store.close()


@pytest.mark.parametrize(("changes", "said"), [
    (["rewrite.conditions=[novelty_stance]"], "unknown condition 'novelty_stance'"),
    (["judge.configurations.0.protocol=strict"], "the items of judge_bias are pairs"),
    (["rewrite.templates=[mine]"], "rewrite.templates"),
    (["benchmark=robust_review", "rewrite.conditions=all"], "protocol 'pair_explained' judges pairs"),
])
def test_a_suite_that_mixes_benchmarks_is_refused(tmp_path: Path, root: Path, changes: list[str], said: str) -> None:
    with pytest.raises(SuiteError) as error:
        load_suite(str(_suite(tmp_path, root, PHANTOMS, 4)), changes)
    assert said in str(error.value)
