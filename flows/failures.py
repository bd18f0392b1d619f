"""What can go wrong with a version or a cell, in words for an operator: what it means, and what to press.

RUNBOOK.md says the same with what it looks like in the UI; a test keeps both complete.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from prefect.artifacts import create_table_artifact

from storage.results import Results
from tasks.report.artifacts import artifact_key


class Kind(NamedTuple):
    """One kind of failure."""

    means: str
    do: str


_AGAIN = "Run the deployment again (or Retry): it asks only these."
_ONLY_FAILED = "After the cause is mended: run with only_failed = true."
KINDS: dict[str, Kind] = {
    "rate_limited": Kind("The provider said 'too fast' until all attempts were used.", f"Lower its limit. {_AGAIN}"),
    "quota_gone": Kind("The account is empty; the endpoint was closed at once.", f"Top the account up. {_AGAIN}"),
    "provider_error": Kind("The provider failed (5xx, dropped connection) at every attempt.", _AGAIN),
    "timed_out": Kind("No answer within timeout_s at any attempt.", f"Raise timeout_s if it is short. {_AGAIN}"),
    "unauthorised": Kind("The key was refused.", f"Put a valid key into the worker's environment. {_AGAIN}"),
    "over_budget": Kind("The suite's or the night's budget is spent; nothing more was sent.", f"Raise it. {_AGAIN}"),
    "cancelled": Kind("The run was stopped while this was in flight.", _AGAIN),
    "truncated": Kind("The answer was cut off at the token cap.", f"Raise max_tokens. {_ONLY_FAILED}"),
    "refused": Kind("The model declined.", f"Final. {_ONLY_FAILED}"),
    "filtered": Kind("The provider's content filter stopped it.", f"Final. {_ONLY_FAILED}"),
    "empty": Kind("Nothing was answered (often: reasoning took all tokens).", f"Raise max_tokens. {_ONLY_FAILED}"),
    "unparsable": Kind("No score could be read from the answer; the answer is kept.", _ONLY_FAILED),
    "out_of_range": Kind("The score is not on the scale; the answer is kept.", _ONLY_FAILED),
    "context_too_long": Kind("The paper exceeds the window; nothing is cut silently.", "Choose another model."),
    "bad_request": Kind("The provider refused the request as such.", f"Mend the suite's parameters. {_ONLY_FAILED}"),
    "does_not_build": Kind("The LaTeX does not build here.", f"See the log blob; mend the source. {_ONLY_FAILED}"),
    "sets_differ": Kind("A rewrite lost or added a label, citation, figure or reference.", f"Final. {_ONLY_FAILED}"),
    "nothing_changed": Kind("No rewrite of any segment passed its checks.", f"Final. {_ONLY_FAILED}"),
    "parent_excluded": Kind("The round before was excluded.", f"Mend that one. {_ONLY_FAILED}"),
    "no_output": Kind("The builder ended without a PDF.", f"Check TeX with `evenhand doctor`. {_ONLY_FAILED}"),
    "not_run": Kind("Nobody has come to it yet.", "Run the deployment again."),
}
OTHER = Kind("See the detail in the report.", "RUNBOOK.md, `any other reason`.")


def failure_rows(results: Results) -> list[dict[str, str | int]]:
    """What is missing of a suite by kind, the most frequent first: kind, stage, count, what it means, what to do."""
    cells: Counter[str] = Counter()
    for entry in results.configurations:
        cells.update(entry.cells.missing)
    excluded = Counter(entry.reason for entry in results.exclusions)
    counted = [("judge", kind, count) for kind, count in cells.items()]
    counted += [("ingest, rewrite", kind, count) for kind, count in excluded.items()]
    return [
        {"kind": kind, "stage": stage, "count": count, **KINDS.get(kind, OTHER)._asdict()}
        for stage, kind, count in sorted(counted, key=lambda row: -row[2])
    ]


def cost_rows(results: Results) -> list[dict[str, str | int]]:
    """What each configuration took: calls, retries, rate, tokens, dollars."""
    return [
        {
            "configuration": entry.name,
            "answered": f"{entry.cells.answered} of {entry.cells.wanted}",
            "calls": entry.spend.calls,
            "retries": entry.spend.attempts - entry.spend.calls,
            "seconds a call": f"{entry.spend.seconds / entry.spend.attempts:.2f}" if entry.spend.attempts else "-",
            "tokens": entry.spend.input_tokens + entry.spend.output_tokens,
            "usd": "unknown" if entry.spend.usd is None else f"{entry.spend.usd:.4f}",
        }
        for entry in results.configurations
    ]


def publish_operations(results: Results) -> None:
    """Puts the two tables an operator looks for onto the running flow's page: failures by kind, and cost."""
    create_table_artifact(
        table=failure_rows(results) or [{"kind": "none", "count": 0, "means": "Nothing is missing.", "do": "-"}],
        key=artifact_key("failures", results.suite),
        description="What is missing, by kind, and what to do",
    )
    create_table_artifact(
        table=cost_rows(results),
        key=artifact_key("cost", results.suite),
        description="Calls, retries, rates and cost by configuration",
    )
