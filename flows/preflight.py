"""What must hold before a run begins: said in one line, before anything is done or paid for."""

from __future__ import annotations

from flows.families import human_scores, sources_of
from flows.ideas import check_contexts
from flows.pairs import named_pairs
from flows.suites import Suite
from tasks.latex.engines import tex_available
from tasks.models.endpoints import EndpointSpec, api_key


def used_endpoints(suite: Suite) -> list[EndpointSpec]:
    """The endpoints that some configuration, producer or verifier of the suite asks, in the suite's order."""
    names = {configuration.endpoint for configuration in suite.judge.all_configurations()}
    for producer in suite.rewrite.producers:
        names |= {name for name in (producer.endpoint, producer.review_endpoint) if name}
    names |= {verifier.endpoint for verifier in suite.rewrite.verifiers}
    signals = [configuration.options.get("signal") for configuration in suite.judge.all_configurations()]
    names |= {signal["endpoint"] for signal in signals if isinstance(signal, dict)}
    return [endpoint for name, endpoint in suite.judge.endpoints.items() if name in names]


def check(suite: Suite) -> None:
    """Check keys, files and TeX.

    Raises:
        EnvironmentProblem: a key variable is not set, or there is no TeX for LaTeX sources.
        InputError: a folder, file or score is missing or wrong.
        SuiteError: the suite asks for what cannot be.
    """
    for endpoint in used_endpoints(suite):
        api_key(endpoint)
    if suite.benchmark == "judge_bias":
        named_pairs(suite)
    if suite.benchmark == "sci_style":
        check_contexts(suite)
    if suite.benchmark != "robust_review":
        return
    human_scores(suite)
    sources_of(suite)
    if suite.families.source in ("folder", "arxiv"):
        tex_available()
