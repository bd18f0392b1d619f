"""All that is drawn for one report, drawn once: the page and the files beside it show the same figures."""

from __future__ import annotations

from dataclasses import dataclass

from storage.results import Results
from tasks.report.analyses import Part, analyses_part, analysis_figures
from tasks.report.bias import section_of
from tasks.report.bias_charts import bias_figures
from tasks.report.figures import Figure, figures
from tasks.report.style import style_section
from tasks.report.style_charts import style_figures
from tasks.report.verdicts import standing


@dataclass(frozen=True)
class Drawings:
    """The figures of a report by where they stand, each by name."""

    main: dict[str, Figure]
    pairs: dict[str, Figure]
    ideas: dict[str, Figure]
    analyses: list[Part]

    @property
    def files(self) -> dict[str, Figure]:
        """Every figure."""
        return self.main | self.pairs | self.ideas | analysis_figures(self.analyses)


def drawings(results: Results) -> Drawings:
    """Draws what these results allow."""
    section, ideas = section_of(results), style_section(results)
    return Drawings(
        main=figures(results, standing(results)),
        pairs=bias_figures(section) if section else {},
        ideas=style_figures(ideas) if ideas else {},
        analyses=analyses_part(results),
    )
