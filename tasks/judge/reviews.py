"""The single-call reviews: five prompts, three forms.

Here belongs which prompt goes with which form. What a protocol of one call does is ``single_call``.
"""

from __future__ import annotations

from typing import Final

from tasks.judge.form import rating_form, review_form
from tasks.judge.single_call import SingleCall
from tasks.judge.wording import shipped_prompt
from tasks.models.scales import ICLR, TEN, TENTHS

REVIEW: Final = review_form("review", ICLR)
STANDARD: Final = SingleCall("standard", shipped_prompt("standard"), REVIEW, output_tokens=(500, 1100, 3500))
STRICT: Final = SingleCall("strict", shipped_prompt("strict"), REVIEW, output_tokens=(350, 700, 3000))
PERSISTENT: Final = SingleCall("persistent", shipped_prompt("persistent"), REVIEW, output_tokens=(500, 1100, 3500))
DECIMAL: Final = SingleCall(
    "decimal", shipped_prompt("decimal"), review_form("tenths", TENTHS), output_tokens=(400, 900, 3000))
RATING: Final = SingleCall("rating", shipped_prompt("rating"), rating_form("rating", TEN), output_tokens=(8, 12, 64))
REVIEWS: Final = (STANDARD, STRICT, PERSISTENT, DECIMAL, RATING)
