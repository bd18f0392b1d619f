"""Rating scales: which numbers are legal answers, how they are written in a JSON schema, and the nearest legal one.

Here belongs what a scale is. Which protocol uses which belongs to the judge stage; mapping one scale onto another does
not belong here (it is done only where an analysis says so).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from storage.records import Record
from storage.vocabulary import ICLR_SCALE


class Scale(Record):
    """The legal values of a rating: either listed, or everything from ``low`` to ``high`` in steps."""

    name: str
    values: tuple[float, ...] = ()
    """Ascending. Empty for a stepped scale."""
    low: float = 1.0
    high: float = 10.0
    step: float = 1.0

    @model_validator(mode="after")
    def _ordered(self) -> Scale:
        if list(self.values) != sorted(set(self.values)) or len(self.values) == 1:
            raise ValueError(f"scale {self.name}: give at least two different values, in ascending order")
        if not self.values and not (self.low < self.high and self.step > 0):
            raise ValueError(f"scale {self.name}: low must be under high, and the step positive")
        return self

    @cached_property
    def points(self) -> NDArray[np.float64]:
        """All legal values, ascending."""
        if self.values:
            return np.asarray(self.values, dtype=np.float64)
        steps = round((self.high - self.low) / self.step)
        return np.round(self.low + self.step * np.arange(steps + 1), 6)

    @cached_property
    def _listed(self) -> tuple[float, ...]:
        return tuple(self.points.tolist())

    @cached_property
    def whole(self) -> bool:
        """Whether every legal value is an integer."""
        return all(float(value).is_integer() for value in self.points)

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest legal value."""
        return float(self.points[0]), float(self.points[-1])

    def contains(self, value: float) -> bool:
        """Whether a number is a legal answer (to within a millionth)."""
        return any(abs(point - value) < 1e-6 for point in self._listed)

    def snap(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The nearest legal value of each number; halfway goes up, beyond the ends to the end."""
        points = self.points
        cuts = (points[:-1] + points[1:]) / 2
        return points[np.searchsorted(cuts, np.round(values, 9), side="right")]

    def json_schema(self) -> dict[str, Any]:
        """The JSON schema of one legal answer."""
        if self.values:
            return {"type": "integer" if self.whole else "number",
                    "enum": [int(value) if self.whole else value for value in self.values]}
        low, high = (int(bound) if self.whole else bound for bound in self.bounds)
        return {"type": "integer" if self.whole else "number", "minimum": low, "maximum": high}

    def words(self) -> str:
        """The scale as a prompt says it."""
        if self.values:
            shown = [f"{value:g}" for value in self.values]
            return f"one of {', '.join(shown[:-1])} and {shown[-1]}"
        kind = "whole number" if self.whole else f"number in steps of {self.step:g}"
        return f"a {kind} from {self.low:g} to {self.high:g}"


ICLR = Scale(name="iclr", values=tuple(float(value) for value in ICLR_SCALE))
TEN = Scale(name="ten", low=1, high=10, step=1)
TENTHS = Scale(name="tenths", low=1, high=10, step=0.1)
FOUR = Scale(name="four", low=1, high=4, step=1)
FIVE = Scale(name="five", low=1, high=5, step=1)
