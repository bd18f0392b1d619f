"""The native reviewers as protocols, in the order of the paper's table."""

from __future__ import annotations

from typing import Final

from tasks.judge.native.ai_scientist import AIScientist
from tasks.judge.native.cyclereviewer import CycleReviewer
from tasks.judge.native.deepreviewer import DeepReviewer
from tasks.judge.native.openjudge import OpenJudge
from tasks.judge.native.openreviewer import OpenReviewer
from tasks.judge.native.proreviewer import ProReviewer
from tasks.judge.native.reviewer import Reviewer

NATIVE: Final[tuple[Reviewer, ...]] = (
    OpenReviewer(), CycleReviewer(), DeepReviewer(), AIScientist(), OpenJudge(), ProReviewer(),
)
