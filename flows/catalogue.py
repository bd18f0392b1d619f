"""The flows that are deployed: one typed entry each, which deployments/prefect.yaml and the set-up are checked against.

Names and places only; what a flow does stands in its module, when it runs stands in deployments/prefect.yaml.
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any, NamedTuple

from prefect import Flow

POOL = "evenhand"
"""The work pool of every deployment."""
QUEUE = "store"
"""The pool's queue of everything that writes to the one store: it lets one run through at a time."""


class Entry(NamedTuple):
    """One deployed flow."""

    flow: str
    """The flow's name, as Prefect shows it."""
    entrypoint: str
    """``module:function``, importable from the checkout's root."""
    tags: tuple[str, ...]
    help: str
    """One line for the table of deployments."""

    def load(self) -> Flow[Any, Any]:
        """The flow itself.

        Raises:
            LookupError: when the place holds no flow of that name.
        """
        module, _, attribute = self.entrypoint.partition(":")
        found = getattr(importlib.import_module(module), attribute, None)
        if not isinstance(found, Flow) or found.name != self.flow:
            raise LookupError(f"{self.entrypoint} holds no flow named {self.flow!r}")
        return found

    def parameters(self) -> dict[str, str]:
        """Every parameter of the flow with its help from the docstring; empty where it has none."""
        doc = inspect.getdoc(self.load().fn) or ""
        block = doc.partition("Args:")[2].partition("\n\n")[0]
        helps = {line.strip().partition(":")[0]: line.partition(":")[2].strip() for line in block.splitlines()}
        return {name: helps.get(name, "") for name in inspect.signature(self.load().fn).parameters}


CATALOGUE: tuple[Entry, ...] = (
    Entry("ingest", "flows.ingest:ingest", ("evenhand", "stage", "no-calls"), "Sources become families."),
    Entry("rewrite", "flows.rewrite:rewrite", ("evenhand", "stage", "calls"), "Families in other words."),
    Entry("retrieve", "flows.retrieve:retrieve", ("evenhand", "stage", "no-calls"), "The literature beside each idea."),
    Entry("judge", "flows.judge:judge", ("evenhand", "stage", "calls"), "Every version, every configuration."),
    Entry("aggregate", "flows.aggregate:aggregate", ("evenhand", "stage", "no-calls"), "Every number of a suite."),
    Entry("publish", "flows.publish:publish", ("evenhand", "stage", "no-calls"), "Page, exports, artifacts."),
    Entry("benchmark", "flows.benchmark:benchmark", ("evenhand", "benchmark", "calls"), "A suite from end to end."),
    Entry("nightly", "flows.nightly:nightly", ("evenhand", "nightly", "calls"), "All suites, and what moved."),
    Entry("set-up", "flows.setup:set_up", ("evenhand", "operations", "no-calls"), "Pool, limits, deployments."),
)


def entry(flow: str) -> Entry:
    """The entry of a flow by its name.

    Raises:
        KeyError: when there is none.
    """
    return {each.flow: each for each in CATALOGUE}[flow]
