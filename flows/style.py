"""Every number of a sci_style suite, from what is stored: the section ``style`` of its results, and its rows.

Puts together; frames are ``style_frames``'s, formulas ``tasks.metrics``'s. Makes no call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from flows.grid import Grid, LabelledVersion, judged_by
from flows.ideas import shelf_of, variant_plan
from flows.numbers import cell_counts, spending
from flows.sitting import Sitting
from flows.style_frames import style_cells, style_scores
from flows.suites import Suite
from storage.ideas import STYLE_VARIANT
from storage.records import Step
from storage.results import ConfigurationResult, Estimate, Spend
from storage.store import Store
from tasks.judge.protocols import PROTOCOLS, Configuration
from tasks.metrics.style_frame import DIMENSIONS, OVERALL, VARIANTS
from tasks.metrics.style_planted import planted
from tasks.metrics.style_results import style_json
from tasks.models.phantom_idea_wire import REFLECTION
from tasks.models.phantom_ideas import IDEA_PHANTOMS, IDEA_READERS, Circumstances, IdeaPhantom, seen

RATES = ("sbi", "sbi_plain", "sbi_net", "srr", "awr", "awr_enriched", "adr")
NO_CELL = "no cell has been answered"
METHODS = {"idea_direct": "direct", "idea_style_cot": "style_cot", "idea_llm_injection": "llm_injection",
           "idea_extractor": "extractor", "idea_rating": "rating only"}


def style_results(sitting: Sitting, grid: Grid) -> tuple[dict[str, Any], list[ConfigurationResult], pl.DataFrame]:
    """The section ``style``, one row a configuration, and the cells they rest on.

    Args:
        sitting: the suite and its store.
        grid: what of the suite is there.
    """
    suite, store = sitting.suite, sitting.store
    cells = style_cells(suite, store, grid)
    scores = style_scores(store, cells)
    document = style_json(scores, draws=suite.draws, seed=suite.seed) if scores.height else _nothing(suite)
    implied = planted_by_context(suite, store, grid)
    for name, contexts in implied.items():
        for context, values in contexts.items():
            numbers = document["configurations"].get(name, {}).get("contexts", {}).get(context)
            if numbers is not None:
                numbers["planted"] = values
    section = {
        **document,
        "methods": _methods(suite, scores),
        "titles": {variant.name: variant.title for variant in STYLE_VARIANT.values()},
        "contexts": _contexts(sitting, grid),
        "audit": _audit(sitting, grid),
        "judged_with": {c.name: METHODS.get(c.protocol, c.protocol) for c in suite.judge.all_configurations()},
    }
    spends, by_name = spending(store, cells), dict(cells.group_by("configuration"))
    rows = [
        _row(suite, c, document, by_name.get((c.name,), cells.clear()), spends.get(c.name, Spend()))
        for c in suite.judge.all_configurations()
    ]
    return section, rows, cells


def _nothing(suite: Suite) -> dict[str, Any]:
    return {"configurations": {}, "aggregate": {"judges": []}, "agreement": [], "ideas": 0, "draws": suite.draws,
            "seed": suite.seed}


def _methods(suite: Suite, scores: pl.DataFrame) -> list[dict[str, Any]]:
    """One row a method: its judges averaged with equal weight, contexts within each; phantoms on a row of their own."""
    rows = []
    groups: dict[tuple[str, bool], list[str]] = {}
    for configuration in suite.judge.all_configurations():
        is_phantom = suite.judge.endpoints[configuration.endpoint].kind == "phantom"
        groups.setdefault((configuration.protocol, is_phantom), []).append(configuration.name)
    for (protocol, is_phantom), names in groups.items():
        own = scores.filter(pl.col("configuration").is_in(names))
        if own.height:
            found = style_json(own, draws=suite.draws, seed=suite.seed, details=False)["aggregate"]
            rows.append({"method": METHODS.get(protocol, protocol), "phantoms": is_phantom, **found})
    return rows


def _contexts(sitting: Sitting, grid: Grid) -> list[dict[str, Any]]:
    """What literature each context shows: works, shortfalls, providers."""
    shelf = shelf_of(sitting.suite, sitting.store, grid.families)
    rows: list[dict[str, Any]] = []
    for context in sitting.suite.contexts:
        steps = [step for family in grid.families if (step := shelf.step(family, context.name)) is not None]
        done = [step for step in steps if step.outcome == "done"]
        records: Counter[str] = Counter()
        for step in done:
            for provider, told in step.output["providers"].items():
                records[provider] += told["records"]
        rows.append({
            "name": context.name, "provider": context.provider, "wanted": context.works if done else 0,
            "ideas": len(done), "works": sum(step.output["works"] for step in done),
            "short": sum(step.output["shortfall"] > 0 for step in done),
            "without_abstract": sum(step.output["without_abstract"] for step in done),
            "failed": sum(step.outcome == "failed" for step in steps), "records": dict(records),
        })
    return rows


def _audit(sitting: Sitting, grid: Grid) -> list[dict[str, Any]]:
    """By variant: how many passed at once, after a remake, or never; and which styles the auditor saw."""
    plan = variant_plan(sitting.suite)
    wanted = {plan.key(family, name): name for family in grid.families for name in plan.variants}
    by_variant: dict[str, list[Step]] = {}
    for step in sitting.store.load(Step, list(wanted)):
        by_variant.setdefault(wanted[step.key], []).append(step)
    rows = []
    for name in plan.variants:
        steps = by_variant.get(name, [])
        done = [step for step in steps if step.outcome == "done"]
        audits = [step.output["audit"] for step in done if step.output.get("audit")]
        rows.append({
            "variant": name, "title": STYLE_VARIANT[name].title, "made": len(done),
            "at_once": sum(step.output["attempts"] == 1 for step in done), "audited": len(audits),
            "excluded": dict(Counter(step.reason or step.outcome for step in steps if step.outcome != "done")),
            "styles_seen": dict(Counter(audit["style"] for audit in audits)),
        })
    return rows


def planted_by_context(suite: Suite, store: Store, grid: Grid) -> dict[str, dict[str, dict[str, float | None]]]:
    """What the idea phantoms' parameters imply for exactly these ideas and variants, by configuration and context."""
    found: dict[str, dict[str, dict[str, float | None]]] = {}
    phantoms = [(c, IDEA_PHANTOMS[c.model]) for c in suite.judge.all_configurations() if c.model in IDEA_PHANTOMS]
    if not phantoms:
        return found
    texts = store.get_texts({version.version.text_hash for version in grid.versions})
    for configuration, phantom in phantoms:
        by_context: dict[str, list[LabelledVersion]] = {}
        for version in judged_by(configuration, grid):
            by_context.setdefault(version.producer, []).append(version)
        for context, versions in by_context.items():
            shows = next(each.provider != "none" for each in suite.contexts if each.name == context)
            found.setdefault(configuration.name, {})[context] = _implied(configuration, phantom, versions, texts, shows)
    return found


def _implied(
    configuration: Configuration, phantom: IdeaPhantom, versions: Sequence[LabelledVersion], texts: dict[str, str],
    shows_literature: bool,
) -> dict[str, float | None]:
    names = list(dict.fromkeys(version.family.family for version in versions))
    cube = np.full((len(names), len(VARIANTS), len(DIMENSIONS) + 1), np.nan)
    first: dict[tuple[int, str], int] = {}
    same: list[tuple[int, int, int]] = []
    for version in versions:
        idea, place = names.index(version.family.family), VARIANTS.index(version.condition)
        text = texts[version.version.text_hash]
        scores = phantom.expected(text, _circumstances(configuration, text, shows_literature))
        cube[idea, place] = [scores[name] for name in (*DIMENSIONS, OVERALL)]
        earlier = first.setdefault((idea, version.version.text_hash), place)
        if earlier != place:
            same.append((idea, earlier, place))
    return planted(cube, phantom.noise_sd, phantom.scale.snap, same)


def _circumstances(configuration: Configuration, text: str, shows_literature: bool) -> Circumstances:
    signal = configuration.options.get("signal")
    reader = IDEA_READERS.get(signal["model"]) if isinstance(signal, dict) else None
    form = getattr(PROTOCOLS[configuration.protocol], "form", None)
    reflects = form is not None and any(field.name == REFLECTION for field in form.fields)
    return Circumstances(shows_literature, reflects, seen(reader, text).deviation if reader is not None else 0.0)


def _row(
    suite: Suite, configuration: Configuration, document: dict[str, Any], cells: pl.DataFrame, spend: Spend
) -> ConfigurationResult:
    numbers = document["configurations"].get(configuration.name)
    fields = Estimate.model_fields
    metrics = (
        {name: Estimate(**{key: value for key, value in numbers[name].items() if key in fields}) for name in RATES}
        if numbers is not None
        else dict.fromkeys(RATES, Estimate(value=None, reason=NO_CELL))
    )
    return ConfigurationResult(
        name=configuration.name, endpoint=configuration.endpoint, model=configuration.model,
        protocol=configuration.protocol, kind=suite.judge.endpoints[configuration.endpoint].kind, metrics=metrics,
        cells=cell_counts(cells), spend=spend,
    )
