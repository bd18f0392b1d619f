"""A stratified sample of submissions of which each has its paper on arXiv.

Here belongs the order of drawing. A submission that is not there gives its place to the next one of its stratum, so
that strata fill up; which ones are tried, and in which order, depends on the seed and the scores alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from storage.records import Step
from tasks.ingest.openreview.match import Match
from tasks.ingest.openreview.submissions import Submission
from tasks.ingest.sample import lot


def draw_matched(
    submissions: Sequence[Submission],
    find: Callable[[Submission], Step],
    *,
    strata: Sequence[float],
    per_stratum: int,
    seed: int,
) -> tuple[list[Submission], dict[str, int]]:
    """Draw submissions that are on arXiv.

    Args:
        submissions: with an overall score each.
        find: matches one; a ``failed`` step ends the draw of its stratum, so that another run goes on from there.
        strata: rising edges; ``[a, b)`` each, the last one closed.
        per_stratum: how many from each.
        seed: of the draw.

    Returns:
        The drawn ones with their arXiv identifiers, and how many are lacking by stratum.
    """
    drawn: list[Submission] = []
    lacking: dict[str, int] = {}
    for low, high in pairwise(strata):
        closed = high == strata[-1]
        scored = [(one, one.means["overall_assessment"]) for one in submissions if "overall_assessment" in one.means]
        inside = [one for one, score in scored if low <= score < high or (closed and score == high)]
        found: list[Submission] = []
        for one in sorted(inside, key=lambda each: lot(seed, each.id)):
            if len(found) == per_stratum:
                break
            step = find(one)
            if step.outcome == "failed":
                break
            if step.outcome == "done":
                found.append(one.model_copy(update={"arxiv_id": Match.model_validate(step.output).arxiv_id}))
        drawn += found
        if len(found) < per_stratum:
            lacking[f"[{low:g},{high:g}{']' if closed else ')'}"] = per_stratum - len(found)
    return drawn, lacking
