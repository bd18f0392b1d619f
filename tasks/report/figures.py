"""The report's figures, drawn once: for the page (two widths, the page's colours) and as files (SVG, PNG)."""

from __future__ import annotations

from typing import Any, NamedTuple

import vl_convert

from storage.results import Results
from tasks.report.charts import drift_by_condition, planted_against_recovered
from tasks.report.joint import Size, joint
from tasks.report.theme import drawn, for_file, inline
from tasks.report.verdicts import Standing


class Figure(NamedTuple):
    """One plot in both widths, as SVG text in sentinel colours."""

    name: str
    label: str
    wide: str
    narrow: str

    def on_page(self, which: str) -> str:
        """The SVG for the page; ``which`` is ``wide`` or ``narrow``."""
        return inline(self.wide if which == "wide" else self.narrow, name=f"{self.name}-{which}", label=self.label)

    def svg(self) -> bytes:
        """The figure as a file of its own."""
        return for_file(self.wide).encode("utf-8")

    def png(self) -> bytes:
        """The figure as a picture at twice the size."""
        return bytes(vl_convert.svg_to_png(for_file(self.wide), scale=2))


def figures(results: Results, where: Standing) -> dict[str, Figure]:
    """The figures that these results allow, by name."""
    found: dict[str, tuple[str, Any, Any]] = {
        "stability": (
            "Discriminability against mean absolute drift, with intervals; every point links to its judge",
            joint(where, "mad", Size(860, 460)),
            joint(where, "mad", Size(268, 340)),
        ),
        "agreement": (
            "Discriminability against ICC, with intervals; every point links to its judge",
            joint(where, "icc_a1", Size(860, 460)),
            joint(where, "icc_a1", Size(268, 340)),
        ),
        "conditions": (
            "Mean shift of the score by condition and producer; every dot is a judge",
            drift_by_condition(results, 680),
            drift_by_condition(results, 172),
        ),
        "calibration": (
            "Recovered against planted values of the phantom judges",
            planted_against_recovered(results, 178, 4),
            planted_against_recovered(results, 255, 1),
        ),
    }
    return {
        name: Figure(name, label, drawn(wide), drawn(narrow))
        for name, (label, wide, narrow) in found.items()
        if wide is not None
    }
