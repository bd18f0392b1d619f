"""SciCore and its ablations as protocols. Manuscript-* rows are the single-call protocols under another name."""

from __future__ import annotations

from typing import Final

from tasks.judge.protocol import Protocol
from tasks.judge.reviews import PERSISTENT, REVIEW, STANDARD, STRICT
from tasks.judge.scicore.branch import CoreReview, ReconstructReview
from tasks.judge.scicore.fusion import SciCore
from tasks.judge.single_call import SingleCall
from tasks.judge.wording import shipped_prompt

ADAPTED: Final = SingleCall(
    "adapted", shipped_prompt("adapted", "tasks.judge.scicore"), REVIEW, output_tokens=(350, 700, 3000))
CORE_ADAPTED: Final = CoreReview("core_adapted", ADAPTED)
SCICORE: Final[tuple[Protocol, ...]] = (
    CoreReview("core_standard", STANDARD),
    CoreReview("core_strict", STRICT),
    CoreReview("core_persistent", PERSISTENT),
    CORE_ADAPTED,
    ReconstructReview("reconstruct_review", STANDARD),
    SciCore("scicore", CORE_ADAPTED),
)
