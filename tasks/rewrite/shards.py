"""One family and one producer as a shard: which versions are wanted, which are there, which are made now.

Here belongs resuming; the making of one version is ``variants.py``'s matter, Prefect's side of it is ``tasks.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from storage.records import Family, Step, Version
from storage.store import Store
from storage.vocabulary import ORIGINAL
from tasks.rewrite.fitting import Paper
from tasks.rewrite.keys import PARENTS, rewrite_key
from tasks.rewrite.spec import Producer
from tasks.rewrite.variants import Bench, make_variant

AT_ONCE = 2
"""Versions of one shard that are made at a time; how many builds run is limited for the whole process."""


@dataclass(frozen=True)
class Shard:
    """One family by one producer."""

    family: Family
    producer: Producer
    conditions: tuple[str, ...]
    captions: bool = True
    retry: frozenset[str] = frozenset()
    """Reasons of exclusions that settle nothing this time."""

    def keys(self) -> dict[str, str]:
        """Condition -> key of its version, parents of wanted rounds included, in the order of making."""
        wanted: dict[str, str] = {}
        for condition in self.conditions:
            for name in _with_parents(condition):
                wanted.setdefault(name, rewrite_key(self.family, name, self.producer, captions=self.captions))
        return wanted


@dataclass
class ShardResult:
    """What became of a shard, by condition."""

    made: list[str] = field(default_factory=list)
    cached: list[str] = field(default_factory=list)
    excluded: dict[str, str] = field(default_factory=dict)
    """Condition -> reason."""
    failed: dict[str, str] = field(default_factory=dict)


def _with_parents(condition: str) -> list[str]:
    parent = PARENTS[condition]
    return [condition] if parent == ORIGINAL else [*_with_parents(parent), condition]


def wanting(store: Store, keys: Sequence[str], retry: Collection[str] = ()) -> set[str]:
    """Which of these versions are to be made: no final step, or a finished one whose version is gone.

    Args:
        store: the ledger.
        keys: keys of versions.
        retry: reasons of exclusions that settle nothing this time.
    """
    unsettled = set(store.missing("steps", keys, retry=retry))
    settled = [key for key in keys if key not in unsettled]
    done = {step.key for step in store.load(Step, settled) if step.outcome == "done"}
    return unsettled | set(store.missing("versions", sorted(done)))


def missing_of(store: Store, shards: Sequence[Shard]) -> list[list[str]]:
    """The conditions that each shard lacks, in two queries for all of them.

    Args:
        store: the ledger.
        shards: with one set of ``retry`` reasons.
    """
    keys = [shard.keys() for shard in shards]
    retry = frozenset().union(*(shard.retry for shard in shards))
    open_keys = wanting(store, list(dict.fromkeys(key for wanted in keys for key in wanted.values())), retry)
    return [[condition for condition, key in wanted.items() if key in open_keys] for wanted in keys]


def missing_versions(store: Store, shard: Shard) -> list[str]:
    """The conditions that one shard lacks; makes nothing. For many shards use ``missing_of``."""
    return missing_of(store, [shard])[0]


def rewrite_shard(
    store: Store, shard: Shard, paper: Callable[[], Paper], *, run_id: str | None = None,
    tell: Callable[[Step], None] = lambda _: None, missing: Collection[str] | None = None,
) -> ShardResult:
    """Make what a shard lacks.

    Args:
        store: where versions and steps go.
        shard: what is wanted.
        paper: gives the original's project and build; called only when something is to be made of a LaTeX source.
        run_id: enters the step rows.
        tell: called with each step that ended, for progress.
        missing: the conditions that are not there, where they were looked up for many shards at once.

    Raises:
        EnvironmentProblem: this machine has no TeX, or an endpoint's key variable is not set.
    """
    lacking = set(missing_versions(store, shard) if missing is None else missing)
    wanted = list(shard.keys())
    todo = [condition for condition in wanted if condition in lacking]
    result = ShardResult(cached=[condition for condition in wanted if condition not in lacking])
    if not todo:
        return result
    given = paper() if shard.family.source_kind == "latex" else None
    bench = Bench(store, shard.family, given, run_id, shard.captions)
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="rewrite") as pool:
        for wave in _waves(todo):
            steps = pool.map(lambda name: make_variant(bench, name, shard.producer), wave)
            for step, condition in zip(steps, wave, strict=True):
                tell(step)
                _note(result, condition, step)
    return result


def _waves(conditions: Sequence[str]) -> list[list[str]]:
    """Conditions that can be made at once, rounds after what they are made from."""
    waves: dict[int, list[str]] = {}
    for condition in conditions:
        waves.setdefault(len(_with_parents(condition)), []).append(condition)
    return [waves[depth] for depth in sorted(waves)]


def _note(result: ShardResult, condition: str, step: Step) -> None:
    if step.outcome == "done":
        result.made.append(condition)
    elif step.outcome == "excluded":
        result.excluded[condition] = step.reason or "excluded"
    else:
        result.failed[condition] = step.reason or "failed"


def versions_of(store: Store, shard: Shard) -> dict[str, Version]:
    """The versions of a shard that are there, by condition."""
    keys = shard.keys()
    found = {version.key: version for version in store.load(Version, list(keys.values()))}
    return {condition: found[key] for condition, key in keys.items() if key in found and condition in shard.conditions}
