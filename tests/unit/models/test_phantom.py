"""Phantoms: the truth that is planted is the truth that comes out."""

from __future__ import annotations

import math

import httpx2
import numpy as np
import orjson
import pytest

from storage.vocabulary import ICLR_SCALE
from tasks.models import rhetoric
from tasks.models.evidence import evidence, fingerprint, index
from tasks.models.fence import fence
from tasks.models.phantom import PHANTOMS, Phantom
from tasks.models.phantom_transport import PhantomTransport
from tasks.models.scales import ICLR, TEN, TENTHS

HYPE = " This novel and unprecedented paradigm is a groundbreaking, pioneering departure from every prior approach."


def paper(seed: int, items: int = 60) -> str:
    """A paper-like text with numbers of its own."""
    rng = np.random.default_rng(seed)
    lines = ["We train a model on several data sets and report what was measured."]
    for place in range(items):
        lines.append(f"On set {place} it gives {rng.uniform(10, 99):.2f} ± {rng.uniform(0, 1):.3f} [{place % 17 + 1}].")
        if place % 9 == 0:
            lines.append(f"x = y + z ({place // 9 + 1})")
    return "\n".join(lines)


def ask(body: dict[str, object], path: str = "/chat/completions") -> httpx2.Response:
    """The transport's answer."""
    import asyncio

    request = httpx2.Request("POST", f"http://in-process.invalid/v1{path}", content=orjson.dumps(body))
    return asyncio.run(PhantomTransport().handle_async_request(request))


def test_thirty_phantoms_mirror_the_thirty_configurations() -> None:
    assert len(PHANTOMS) == 30
    protocols = [phantom.protocol for phantom in PHANTOMS.values()]
    assert {name: protocols.count(name) for name in set(protocols)} == {
        "standard": 8, "strict": 8, "persistent": 8, "decimal": 3, "rating": 3}
    scales = {"standard": ICLR, "strict": ICLR, "persistent": ICLR, "decimal": TENTHS, "rating": TEN}
    for phantom in PHANTOMS.values():
        assert set(phantom.scale.points) <= set(scales[phantom.protocol].points)
        assert set(phantom.sensitivities) <= set(rhetoric.RHETORIC)
    assert len({phantom.title for phantom in PHANTOMS.values()}) == 30


@pytest.mark.parametrize("name", ["phantom-01", "phantom-04", "phantom-24", "phantom-27"])
def test_rewording_leaves_the_latent_quality_alone(name: str) -> None:
    text = paper(1)
    reworded = text.replace("We train a model", "Notably, we pioneer a groundbreaking model") + HYPE * 5
    reworded = reworded.replace("it gives", "one sees")
    assert PHANTOMS[name].latent(reworded) == pytest.approx(PHANTOMS[name].latent(text), abs=1e-9)


def test_one_lost_item_hardly_moves_the_latent_quality() -> None:
    text = paper(2)
    lost = text.replace(text.split("\n")[5], "")
    for phantom in PHANTOMS.values():
        assert abs(phantom.latent(lost) - phantom.latent(text)) <= 0.25 * max(phantom.spread, 0.01)


def test_page_numbers_do_not_count() -> None:
    text = paper(3)
    paged = "\n12\n".join(text.split("\n"))
    found, again = evidence(text), evidence(paged)
    assert index(found) == index(again)
    assert list(found.items) == list(again.items)


def test_papers_differ_and_phantoms_have_tastes_of_their_own() -> None:
    texts = [paper(seed, items) for seed, items in enumerate((5, 10, 20, 40, 80, 160))]
    first = [PHANTOMS["phantom-25"].latent(text) for text in texts]
    assert np.std(first) > 0.5
    assert first[-1] > first[0]
    tastes = np.array([[fingerprint(evidence(text), seed) for text in texts] for seed in range(200)])
    assert abs(np.mean(tastes)) < 0.15
    assert 0.85 < np.std(tastes) < 1.15


def test_the_shift_of_a_rewrite_is_sensitivity_times_the_change_of_the_rate() -> None:
    text = paper(4)
    hyped = text + HYPE * 4
    change = rhetoric.features(hyped)["novelty"] - rhetoric.features(text)["novelty"]
    moved = PHANTOMS["phantom-07"]
    assert moved.title.startswith("moved by novelty claims only")
    assert change > 1
    assert moved.expected(hyped) - moved.expected(text) == pytest.approx(0.9 * change)
    unmoved = PHANTOMS["phantom-10"]
    assert unmoved.expected(hyped) == pytest.approx(unmoved.expected(text), abs=1e-9)


def test_protocols_change_a_phantom_as_they_change_a_judge() -> None:
    standard, strict, persistent = (PHANTOMS[f"phantom-{number:02}"] for number in (4, 5, 6))
    assert strict.level < persistent.level < standard.level
    assert abs(persistent.sensitivities["novelty"]) < abs(standard.sensitivities["novelty"])


def test_noise_has_the_planted_spread_and_is_fixed_by_prompt_and_repeat() -> None:
    phantom = PHANTOMS["phantom-28"].model_copy(update={"noise_sd": 1.0, "scale": TENTHS})
    scores = np.array([phantom.score(5.5, phantom.noise_seed(f"prompt {n}", 0)) for n in range(4000)])
    assert np.mean(scores) == pytest.approx(5.5, abs=0.06)
    assert np.std(scores) == pytest.approx(1.0, abs=0.05)
    assert phantom.noise_seed("p", 0) == phantom.noise_seed("p", 0)
    assert len({phantom.noise_seed("p", 0), phantom.noise_seed("p", 1), phantom.noise_seed("q", 0)}) == 3
    drawn = phantom.simulate(np.full((2000, 2), 5.5), np.random.default_rng(1))
    assert np.std(drawn) == pytest.approx(np.std(scores), abs=0.06)


def test_probabilities_are_those_of_the_scores() -> None:
    phantom = PHANTOMS["phantom-30"]
    chances = phantom.probabilities(5.2)
    assert sum(chances.values()) == pytest.approx(1)
    scores = phantom.simulate(np.full(20000, 5.2), np.random.default_rng(2))
    for value, chance in chances.items():
        assert np.mean(scores == value) == pytest.approx(chance, abs=0.015)


SCHEMA = {"type": "object", "properties": {
    "summary": {"type": "string"}, "soundness": {"type": "integer", "minimum": 1, "maximum": 4},
    "strengths": {"type": "array", "items": {"type": "string"}}, "ethics_flag": {"type": "boolean"},
    "rating": {"type": "integer", "enum": list(ICLR_SCALE)}}}


def said(text: str) -> list[dict[str, str]]:
    """Messages with a fenced paper."""
    lines = fence(text)
    user = f"Here:\n{lines.opening}{text}{lines.closing}Go."
    return [{"role": "system", "content": "Review it."}, {"role": "user", "content": user}]


def test_a_phantom_scores_the_fenced_paper_and_nothing_around_it() -> None:
    text = paper(5)
    phantom = PHANTOMS["phantom-01"].model_copy(update={"noise_sd": 0.0})
    form = {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}}
    response = ask({"model": "phantom-01", "messages": said(text), "response_format": form})
    body = response.json()
    review = orjson.loads(body["choices"][0]["message"]["content"])
    assert set(review) == set(SCHEMA["properties"])  # type: ignore[arg-type]
    assert abs(review["rating"] - phantom.expected(text)) < 3
    assert 1 <= review["soundness"] <= 4
    assert body["usage"]["prompt_tokens"] > 100
    again = ask({"model": "phantom-01", "messages": said(text), "response_format": form}).json()
    assert again["choices"] == body["choices"]


def test_both_apis_give_the_same_score() -> None:
    text = paper(6)
    form = {"type": "json_schema", "name": "a", "schema": SCHEMA}
    chat = ask({"model": "phantom-08", "messages": said(text),
                "response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}}}).json()
    turns = [{"role": turn["role"], "content": [{"type": "input_text", "text": turn["content"]}]}
             for turn in said(text)]
    responses = ask({"model": "phantom-08", "input": turns, "text": {"format": form}}, "/responses").json()
    assert responses["output"][0]["content"][0]["text"] == chat["choices"][0]["message"]["content"]


def test_repeats_differ_by_their_seed_only() -> None:
    answers = {orjson.dumps(ask({"model": "phantom-30", "messages": said(paper(7)), "seed": seed}).json()["choices"])
               for seed in (0, 1, 2, 3, 4, 5)}
    assert len(answers) > 1


def test_token_probabilities_are_the_planted_ones() -> None:
    schema = {"type": "object", "properties": {"rating": {"type": "integer", "minimum": 1, "maximum": 10}}}
    text = paper(8)
    body = ask({"model": "phantom-29", "messages": said(text), "logprobs": True, "top_logprobs": 20,
                "response_format": {"type": "json_schema", "json_schema": {"schema": schema}}}).json()["choices"][0]
    tokens = body["logprobs"]["content"]
    assert "".join(token["token"] for token in tokens) == body["message"]["content"]
    chances = {top["token"]: math.exp(top["logprob"]) for top in tokens[1]["top_logprobs"]}
    planted = PHANTOMS["phantom-29"].probabilities(PHANTOMS["phantom-29"].expected(text))
    for value, chance in planted.items():
        assert chances.get(f"{value:g}", 0.0) == pytest.approx(chance, abs=1e-9)


def test_without_a_schema_a_phantom_writes_a_review() -> None:
    content = ask({"model": "phantom-01", "messages": said(paper(9))}).json()["choices"][0]["message"]["content"]
    assert "## Rating" in content


def test_a_scale_the_phantom_does_not_have_gets_the_nearest_legal_score() -> None:
    schema = {"type": "object", "properties": {"rating": {"type": "integer", "minimum": 1, "maximum": 4}}}
    body = {"model": "phantom-01", "messages": said(paper(10)),
            "response_format": {"type": "json_schema", "json_schema": {"schema": schema}}}
    assert 1 <= orjson.loads(ask(body).json()["choices"][0]["message"]["content"])["rating"] <= 4


@pytest.mark.parametrize(("body", "path"), [({"model": "gpt-5.5", "messages": []}, "/chat/completions"),
                                            ({"model": "phantom-01"}, "/embeddings")])
def test_what_a_phantom_does_not_serve_is_a_404(body: dict[str, object], path: str) -> None:
    assert ask(body, path).status_code == 404


def recovered(phantom: Phantom, families: int, variants: int) -> tuple[float, float]:
    """``(mean shift, SD of residual noise)`` over simulated scores of real texts."""
    texts = [[paper(seed) + HYPE * k for k in range(variants)] for seed in range(families)]
    expected = np.array([[phantom.expected(text) for text in row] for row in texts])
    seeds = [[phantom.noise_seed(text, 0) for text in row] for row in texts]
    scores = np.array([list(map(phantom.score, *pair)) for pair in zip(expected.tolist(), seeds, strict=True)])
    return float(np.mean(scores[:, -1] - scores[:, 0])), float(np.std(scores - expected))


def test_a_fine_scaled_phantom_shows_its_planted_effect_and_noise() -> None:
    phantom = PHANTOMS["phantom-25"].model_copy(update={"sensitivities": {"novelty": 0.5}, "noise_sd": 0.3})
    shift, noise = recovered(phantom, 40, 3)
    base = paper(0)
    planted = 0.5 * (rhetoric.features(base + HYPE * 2)["novelty"] - rhetoric.features(base)["novelty"])
    assert shift == pytest.approx(planted, abs=0.2)
    assert noise == pytest.approx(0.3, abs=0.07)
