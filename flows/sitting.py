"""One sitting at a suite: the suite, its store, the run it belongs to; what every stage flow begins with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flows.families import exclusions_in, families_in, remembered, sources_of
from flows.grid import Grid, look_up
from flows.home import default_store
from flows.ideas import idea_families, idea_grid, named_ideas
from flows.pairs import named_pairs, pair_families, pair_grid
from flows.suites import Suite, load_suite
from storage.records import Family, new_id
from storage.results import Exclusion
from storage.store import Store, open_store
from tasks.models.budget import Budget, spent
from tasks.models.engine import Engine, engine_for

_ENDED_WELL = ("complete", "complete_with_gaps")


@dataclass(frozen=True)
class Sitting:
    """A suite, the store it is remembered in, and the run this work belongs to."""

    suite: Suite
    store: Store
    run_id: str

    def families(self) -> list[Family]:
        """The suite's families that are ingested and not excluded, in their order."""
        if self.suite.benchmark == "judge_bias":
            return pair_families(self.suite, self.store)
        if self.suite.benchmark == "sci_style":
            return idea_families(self.suite, self.store)
        return families_in(remembered(self.suite, self.store))

    def looked_at(self) -> tuple[Grid, list[Exclusion]]:
        """What of the suite is there, and its excluded sources with their reasons, from one look at the sources.

        A wrong pair or idea is an error, never an exclusion.
        """
        if self.suite.benchmark != "robust_review":
            return self.grid(), []
        known = remembered(self.suite, self.store)
        return look_up(self.suite, self.store, families_in(known)), exclusions_in(known)

    def wanted(self) -> int:
        """How many items the suite names, taken in or not."""
        if self.suite.benchmark == "judge_bias":
            return len(named_pairs(self.suite))
        if self.suite.benchmark == "sci_style":
            return len(named_ideas(self.suite))
        return len(sources_of(self.suite))

    def grid(self) -> Grid:
        """What of the suite is there."""
        if self.suite.benchmark == "judge_bias":
            return pair_grid(self.suite, self.store, self.families())
        if self.suite.benchmark == "sci_style":
            return idea_grid(self.suite, self.store, self.families())
        return look_up(self.suite, self.store, self.families())

    def companions(self) -> list[Sitting]:
        """Sittings at the suites that run along, in the same store and run.

        Raises:
            SuiteError: when one of them is wrong.
        """
        paths = [str(self.suite.path(name)) for name in self.suite.companions]
        return [Sitting(load_suite(path), self.store, self.run_id) for path in paths]

    def engine(self) -> Engine:
        """The process's engine for this run, with the suite's budget less what unfinished sittings have spent."""
        limits = self.suite.budget
        usd, tokens = spent(self.store, unfinished_runs(self.store, self.suite.name))
        budget = Budget(limits.usd, limits.tokens, spent_usd=usd, spent_tokens=tokens)
        return engine_for(self.store, self.run_id, budget)


def unfinished_runs(store: Store, suite: str) -> list[str]:
    """The runs of a suite since it last came to its end: together they are one run with one budget."""
    rows = store.query('SELECT run_id, event, state FROM runs WHERE suite = ? ORDER BY "at"', [suite])
    runs: list[str] = []
    for run_id, event, state in rows.iter_rows():
        if event == "ended" and state in _ENDED_WELL:
            runs.clear()
        elif run_id not in runs:
            runs.append(run_id)
    return runs


def sit(suite: str, set_fields: Sequence[str] | None, store_url: str | None, run_id: str | None) -> Sitting:
    """Load the suite and open its store.

    Raises:
        SuiteError: when the suite is wrong.
        StoreError: when the store cannot be used.
    """
    return Sitting(load_suite(suite, set_fields or ()), open_store(store_url or default_store()), run_id or new_id())
