"""Tables for a paper: the leaderboard and the mean shifts as LaTeX ``tabular`` with booktabs rules."""

from __future__ import annotations

from storage.results import Results
from tasks.report.effects import heat_table
from tasks.report.numbers import MINUS, NO_VALUE, interval, number
from tasks.report.verdicts import Standing, estimate
from tasks.report.words import METRICS

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    MINUS: "$-$",
    NO_VALUE: "--",
    "ρ": r"$\rho$",
    "\n": " ",
    "\r": " ",
}


def latex(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return "".join(_SPECIAL.get(character, character) for character in text)


def leaderboard(where: Standing) -> str:
    """The leaderboard: seven metrics, intervals under them in small print."""
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{tabular}{l" + "r" * len(METRICS) + "}",
        r"\toprule",
        " & ".join(["Judge", *(latex(metric.short) for metric in METRICS)]) + r" \\",
        r"\midrule",
    ]
    for each in where.order:
        found = [estimate(each, metric.key) for metric in METRICS]
        mark = r"$^{\dagger}$" if each.false_robustness else ""
        lines.append(" & ".join([latex(each.name) + mark, *(latex(number(one.value)) for one in found)]) + r" \\")
        lines.append(" & ".join(["", *(r"{\scriptsize " + latex(interval(one)) + "}" for one in found)]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}", r"% \dagger: only looks stable (false robustness)"]
    return "\n".join(lines) + "\n"


def effects(results: Results, where: Standing) -> str:
    """Mean shift by condition and producer; bold where the interval leaves out 0. Empty without effects."""
    table = heat_table(results, where)
    if table is None:
        return ""
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{tabular}{l" + "r" * len(table.columns) + "}",
        r"\toprule",
        " & ".join(["Judge", *(rf"\multicolumn{{{span}}}{{c}}{{{latex(title)}}}" for title, span in table.groups)])
        + r" \\",
        " & ".join(["", *(latex(column.producer) for column in table.columns)]) + r" \\",
        r"\midrule",
    ]
    for row in table.rows:
        cells = [rf"\textbf{{{latex(cell.text)}}}" if cell.clear else latex(cell.text) for cell in row.cells]
        lines.append(" & ".join([latex(row.name), *cells]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"
