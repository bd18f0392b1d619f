"""What a benchmark run consists of: the suite's schema, and how a YAML file becomes one.

Every wrong field is a ``SuiteError`` that names the file and the dotted path of the field. What the parts mean belongs
to the stages (``ProducerSpec``, ``EndpointSpec``, ``Configuration``); secrets are never in a suite, only the names of
variables.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field, ValidationError, ValidationInfo, field_validator, model_validator

from storage.errors import SuiteError
from storage.ideas import VARIANT_NAMES
from storage.keys import canonical_json, content_hash
from storage.records import Record
from storage.vocabulary import BIAS_NAMES, CONDITION_NAMES, NULL_ARM
from tasks.judge.protocols import PROTOCOLS, Configuration
from tasks.metrics.analyses.spec import AnalysisSpec, EmbeddingSeparation, configurations_of
from tasks.models.endpoints import EndpointSpec
from tasks.retrieve.spec import ContextSpec
from tasks.rewrite.fidelity import AuditSpec
from tasks.rewrite.injections.spec import VerifierSpec
from tasks.rewrite.spec import ProducerSpec

SHIPPED = Path(__file__).resolve().parent.parent / "deployments" / "suites"


class Sample(Record):
    """Stratified sampling by human score: edges of half-open strata (the last is closed) and how many from each."""

    strata: tuple[float, ...] = Field(min_length=2)
    per_stratum: int = Field(ge=1)


class FamiliesSpec(Record):
    """Where the items come from."""

    source: Literal["folder", "arxiv", "openreview", "release", "jsonl"]
    path: str
    """Folder or file, relative to the suite's file."""
    human_scores: str | None = None
    """CSV with ``family,score``, relative to the suite's file."""
    sample: Sample | None = None
    base_url: str | None = None
    """Of arxiv and openreview: another host than arXiv's (a mirror)."""
    extractor: VerifierSpec | None = None
    """Of sci_style with papers as source: the model that reads an idea out of each."""


class RewriteSpec(Record):
    """Which versions are made, and by whom."""

    conditions: Literal["all"] | tuple[str, ...] = "all"
    null_arm: tuple[str, ...] = ()
    """Of ``null_repeat``, ``null_recompile``, ``null_paraphrase``."""
    producers: tuple[ProducerSpec, ...] = ()
    captions: bool = True
    templates: tuple[Literal["tuned", "held_out"], ...] = Field(default=("tuned",), min_length=1)
    """Of judge_bias: the injection styles."""
    verifiers: tuple[VerifierSpec, ...] = ()
    """Of judge_bias: who votes on whether an injected pair keeps its order of quality. Of sci_style: the first is the
    auditor of the variants."""
    audit: AuditSpec | None = None
    """Of robust_review: a model that is neither producer nor judge says whether a version kept its science."""
    remakes: int = Field(default=2, ge=0, le=10)
    """Of sci_style: how often a variant that fails its audit is made anew before it is excluded."""

    @field_validator("null_arm")
    @classmethod
    def _known_null(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if unknown := [name for name in value if name not in NULL_ARM]:
            raise ValueError(f"unknown null arm {unknown[0]!r}; known are {', '.join(NULL_ARM)}")
        return value

    @field_validator("producers", "verifiers")
    @classmethod
    def _distinct(
        cls, value: tuple[ProducerSpec | VerifierSpec, ...], info: ValidationInfo
    ) -> tuple[ProducerSpec | VerifierSpec, ...]:
        names = [each.name for each in value]
        if doubled := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"two {info.field_name} are named {min(doubled)!r}")
        return value

    def names(self) -> tuple[str, ...]:
        """The conditions of RobustReview in their order, the null arm last."""
        return (CONDITION_NAMES if self.conditions == "all" else self.conditions) + self.null_arm


class MatrixRow(Record):
    """Shorthand: every model under every protocol."""

    endpoint: str
    models: tuple[str, ...] = Field(min_length=1)
    protocols: tuple[str, ...] = Field(min_length=1)
    parameters: dict[str, Any] = Field(default_factory=dict)
    options: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """By protocol: the options of its configurations."""
    name: str = "{model}/{protocol}"


def _with_readers(judge: dict[str, Any]) -> dict[str, Any]:
    """A judge section in which every ``options.signal`` holds the endpoint that it names."""

    def served(options: Any) -> Any:
        if not isinstance(options, dict) or not isinstance(options.get("signal"), dict):
            return options
        signal = options["signal"]
        place = judge["endpoints"].get(signal.get("endpoint"))
        return options if place is None else {**options, "signal": {**signal, "served": place}}

    filled = dict(judge)
    if isinstance(judge.get("configurations"), list):
        filled["configurations"] = [
            {**each, "options": served(each["options"])} if isinstance(each, dict) and "options" in each else each
            for each in judge["configurations"]
        ]
    if isinstance(judge.get("matrix"), list):
        filled["matrix"] = [
            {**row, "options": {name: served(options) for name, options in row["options"].items()}}
            if isinstance(row, dict) and isinstance(row.get("options"), dict) else row
            for row in judge["matrix"]
        ]
    return filled


class JudgeSpec(Record):
    """Who judges, and how."""

    endpoints: dict[str, EndpointSpec] = Field(default_factory=dict)
    configurations: tuple[Configuration, ...] = ()
    matrix: tuple[MatrixRow, ...] = ()
    repeats: int = Field(default=1, ge=1)
    families_per_shard: int = Field(default=20, ge=1)
    both_orders: bool = True
    """Of judge_bias: injected pairs are shown in both orders too (originals always are)."""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, data: Any) -> Any:
        if isinstance(data, dict) and isinstance(data.get("endpoints"), dict):
            endpoints = {
                name: {**spec, "name": name} if isinstance(spec, dict) else spec
                for name, spec in data["endpoints"].items()
            }
            return _with_readers({**data, "endpoints": endpoints})
        return data

    @model_validator(mode="after")
    def _consistent(self) -> JudgeSpec:
        names = [configuration.name for configuration in self.all_configurations()]
        if doubled := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"two configurations are named {min(doubled)!r}")
        for configuration in self.all_configurations():
            if configuration.endpoint not in self.endpoints:
                known = ", ".join(sorted(self.endpoints)) or "none"
                raise ValueError(
                    f"configuration {configuration.name!r} names endpoint {configuration.endpoint!r}; known are {known}"
                )
        return self

    def most_repeats(self) -> int:
        """The most often that any configuration asks: repeats of the original's null arm are counted from there."""
        return max([self.repeats, *(each.repeats or 1 for each in self.configurations)])

    def all_configurations(self) -> tuple[Configuration, ...]:
        """The written configurations, then those of the matrix."""
        made = [
            Configuration(
                name=row.name.format(endpoint=row.endpoint, model=model, protocol=protocol),
                endpoint=row.endpoint,
                model=model,
                protocol=protocol,
                parameters=row.parameters,
                options=row.options.get(protocol, {}),
            )
            for row in self.matrix
            for model in row.models
            for protocol in row.protocols
        ]
        return (*self.configurations, *made)


class BudgetSpec(Record):
    """The hard stop of a run."""

    usd: float | None = Field(default=None, ge=0)
    tokens: int | None = Field(default=None, ge=0)


class Suite(Record):
    """One benchmark run, as its YAML file says."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")
    title: str = ""
    benchmark: Literal["robust_review", "sci_style", "judge_bias"]
    seed: int = 42
    draws: int = Field(default=5000, ge=100)
    families: FamiliesSpec
    rewrite: RewriteSpec = RewriteSpec()
    contexts: tuple[ContextSpec, ...] = Field(default=(ContextSpec(name="none"),), min_length=1)
    """Of sci_style: the settings in which every idea is judged."""
    judge: JudgeSpec = JudgeSpec()
    analyses: tuple[AnalysisSpec, ...] = ()
    """Of robust_review: further questions to the scores; each has a part of the report."""
    budget: BudgetSpec = BudgetSpec()
    companions: tuple[str, ...] = ()
    """Suites of other benchmarks that run along and share the page: files beside this one."""
    folder: str = "."
    """Absolute folder of the suite's file: other paths are relative to it."""

    @model_validator(mode="after")
    def _fits_benchmark(self) -> Suite:
        known = {"judge_bias": BIAS_NAMES, "sci_style": VARIANT_NAMES}.get(self.benchmark, CONDITION_NAMES)
        wanted = () if self.rewrite.conditions == "all" else self.rewrite.conditions
        if unknown := [name for name in wanted if name not in known]:
            raise ValueError(f"rewrite.conditions: unknown condition {unknown[0]!r}; known are {', '.join(known)}")
        items = {"judge_bias": "pairs", "sci_style": "ideas"}.get(self.benchmark, "papers")
        for configuration in self.judge.all_configurations():
            protocol = PROTOCOLS[configuration.protocol]
            judged = "pairs" if protocol.is_about_pairs else "ideas" if protocol.is_about_ideas else "papers"
            if judged != items:
                raise ValueError(
                    f"judge: configuration {configuration.name!r}: protocol {configuration.protocol!r} judges "
                    f"{judged}, and the items of {self.benchmark} are {items}"
                )
        return self

    @model_validator(mode="after")
    def _known_in_analyses(self) -> Suite:
        known = {configuration.name for configuration in self.judge.all_configurations()}
        if self.analyses and self.benchmark != "robust_review":
            raise ValueError(f"analyses: {self.benchmark} has none")
        for place, spec in enumerate(self.analyses):
            if missing := [name for name in configurations_of(spec) if name not in known]:
                raise ValueError(f"analyses.{place}: there is no configuration {missing[0]!r}")
            if isinstance(spec, EmbeddingSeparation) and spec.endpoint is not None:
                endpoint = self.judge.endpoints.get(spec.endpoint)
                if endpoint is None or endpoint.api != "embeddings":
                    raise ValueError(f"analyses.{place}: {spec.endpoint!r} is no endpoint with api: embeddings")
        return self

    @model_validator(mode="after")
    def _whole_ideas(self) -> Suite:
        names = [context.name for context in self.contexts]
        if doubled := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"contexts: two are named {min(doubled)!r}")
        if self.benchmark == "sci_style" and len(self.rewrite.producers) != 1:
            raise ValueError("rewrite.producers: the fifteen variants of sci_style are made by exactly one producer")
        if self.benchmark == "sci_style" and (self.families.source == "jsonl") != (self.families.extractor is None):
            raise ValueError("families.extractor: ideas out of papers, and only those, need a model that reads them")
        if self.benchmark == "sci_style" and len(self.rewrite.verifiers) > 1:
            raise ValueError("rewrite.verifiers: the variants of sci_style have one auditor")
        return self

    def path(self, relative: str) -> Path:
        """A path of the suite, made absolute."""
        return (Path(self.folder) / relative).resolve()

    def hash(self) -> str:
        """Content hash of the suite without the place it lies in."""
        return content_hash(canonical_json(self.model_dump(mode="json", exclude={"folder"})))


def _where(error: ValidationError) -> str:
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"]) or "the suite"
    if first["type"] == "extra_forbidden":
        return f"{place}: unknown field"
    return f"{place}: {first['msg'].removeprefix('Value error, ')}"


def _set(tree: dict[str, Any], assignment: str) -> None:
    dotted, equals, text = assignment.partition("=")
    if not equals or not dotted:
        raise SuiteError(f"--set {assignment!r}: write it as a.b=value")
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise SuiteError(f"--set {dotted}: {text!r} is not a YAML value") from error
    node: Any = tree
    *parents, last = dotted.split(".")
    for part in parents:
        if isinstance(node, list):
            node = _item(node, part, dotted)
            continue
        node = node.setdefault(part, {})
        if not isinstance(node, dict | list):
            raise SuiteError(f"--set {dotted}: {part} is not a group of fields")
    if isinstance(node, list):
        _item(node, last, dotted)
        node[int(last)] = value
    else:
        node[last] = value


def _item(node: list[Any], part: str, dotted: str) -> Any:
    if not part.isdigit() or int(part) >= len(node):
        raise SuiteError(f"--set {dotted}: {part!r} is not a place in a list of {len(node)}")
    return node[int(part)]


def _inline(node: Any, folder: Path) -> None:
    """Puts the texts of files in the places of ``NAME_file`` fields of options, so that content and no path counts."""
    if isinstance(node, list):
        for each in node:
            _inline(each, folder)
    if not isinstance(node, dict):
        return
    for name, value in node.items():
        if name == "options" and isinstance(value, dict):
            for options in (value, *(each for each in value.values() if isinstance(each, dict))):
                _read_files(options, folder)
        else:
            _inline(value, folder)


def _read_files(options: dict[str, Any], folder: Path) -> None:
    for name in [name for name in options if str(name).endswith("_file")]:
        place = folder / str(options.pop(name))
        try:
            options[name.removesuffix("_file")] = place.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SuiteError(f"options.{name}: {place} cannot be read as text: {error}") from error


def find_suite(name: str) -> Path:
    """The file of a suite: a path, or the name of a shipped one.

    Raises:
        SuiteError: when there is neither; says which are shipped.
    """
    given = Path(name).expanduser()
    for candidate in (given, SHIPPED / f"{name}.yaml"):
        if candidate.is_file():
            return candidate.resolve()
    shipped = ", ".join(sorted(path.stem for path in SHIPPED.glob("*.yaml")))
    raise SuiteError(f"no suite {name!r}: give a YAML file, or one of {shipped}")


def load_suite(name: str, assignments: Sequence[str] = ()) -> Suite:
    """Read and check a suite.

    Args:
        name: a path, or the name of a shipped suite.
        assignments: ``a.b=value`` overrides by dotted path.

    Raises:
        SuiteError: one line that names the file and the field.
    """
    path = find_suite(name)
    try:
        tree = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
        reason = " ".join(str(error).split())
        raise SuiteError(f"{path}: not a readable YAML file: {reason}") from error
    if not isinstance(tree, dict):
        raise SuiteError(f"{path}: a suite is a group of named fields")
    for assignment in assignments:
        _set(tree, assignment)
    _inline(tree, path.parent)
    tree["folder"] = str(path.parent)
    try:
        return Suite.model_validate(tree)
    except ValidationError as error:
        raise SuiteError(f"{path}: {_where(error)}") from error
