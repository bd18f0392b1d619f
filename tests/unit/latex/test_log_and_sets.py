"""Reading logs and auxiliary files: typed faults, sets, what settles."""


from __future__ import annotations

import pytest

from tasks.latex.log import (
    asked_for_shell,
    bibliography_refused,
    decode_log,
    first_fault,
    page_count,
    undefined_citations,
    undefined_references,
)
from tasks.latex.sets import Sets, read_sets, set_differences, settled_form, uses_pages


@pytest.mark.parametrize(
    "log, reason, missing",
    [
        ("! LaTeX Error: File `nosuchjournal.cls' not found.\n\nl.1 \\x\n", "missing_package", "nosuchjournal.cls"),
        ("./main.tex:26: LaTeX Error: File `fig.png' not found.\n\nl.26 \\x\n", "missing_file", "fig.png"),
        ("! LaTeX Error: File `/etc/passwd' not found.\nl.2 x\n", "outside_project", "/etc/passwd"),
        (
            "! Package pdftex.def Error: File `../a/b.png' not found: using draft setting.\nl.3 x\n",
            "outside_project",
            "../a/b.png",
        ),
        ("./m.tex:4: Undefined control sequence.\nl.4 We \\citet\n   {smith}\n", "undefined_macro", None),
        ("! LaTeX Error: Environment foo undefined.\nl.4\n", "undefined_macro", None),
        (
            "! Package minted Error: You must invoke LaTeX with the -shell-escape flag.\nl.5\n",
            "needs_shell_escape",
            None,
        ),
        ("! TeX capacity exceeded, sorry [main memory size=5000000].\nl.5\n", "tex_capacity", None),
        ("! Missing $ inserted.\nl.7 x\n", "tex_error", None),
        ("No pages of output.\n", "no_output", None),
    ],
)
def test_faults_are_typed(log: str, reason: str, missing: str | None) -> None:
    fault = first_fault("This is pdfTeX\nsome line: 5: text\n" + log)
    assert fault is not None
    assert (fault.reason, fault.missing) == (reason, missing)


def test_a_clean_log_has_no_fault() -> None:
    assert (
        first_fault(
            "(./main.tex)\nLaTeX Warning: Reference `x' on page 1 undefined on input line 3.\nOutput written on m.pdf (3 pages, 5 bytes)."
        )
        is None
    )


def test_undefined_macro_is_named() -> None:
    fault = first_fault("./m.tex:4: Undefined control sequence.\nl.4 We \\citet\n             {smith} say\n")
    assert fault is not None and fault.detail == "m.tex:4: Undefined control sequence: \\citet"


def test_b29_logs_in_latin1() -> None:
    assert decode_log(b"Overfull \\hbox \xf6") == "Overfull \\hbox ö"


def test_undefined_names_pages_and_flags() -> None:
    log = (
        "LaTeX Warning: Reference `sec:gone' on page 1 undefined on input line 4.\n"
        "LaTeX Warning: Citation `nope' on page 1 undefined on input line 4.\n"
        "Package natbib Warning: Citation `other' on page 2 undefined on input line 9.\n"
        "Package biblatex Warning: File 'main.bbl' is wrong format version - expected 3.2.\n"
        "runsystem(rm -rf x)...disabled.\nOutput written on main.pdf (12 pages, 100 bytes).\n"
    )
    assert undefined_references(log) == {"sec:gone"}
    assert undefined_citations(log) == {"nope", "other"}
    assert (bibliography_refused(log), asked_for_shell(log), page_count(log)) == (True, True, 12)


AUX = """\\relax
\\citation{a,b}
\\abx@aux@cite{0}{c}
\\newlabel{sec:x}{{1}{3}{Intro}{section.1}{}}
\\newlabel{sec:x@cref}{{[section][1][]1}{[1][3][]3}}
\\bibcite{a}{1}
"""


def test_sets() -> None:
    found = read_sets({"m.aux": AUX, "m.bbl": "    \\entry{c}{article}{}\n"}, "", ["fig/a.pdf", "./b.png", "m.tex"])
    assert found == Sets(
        labels=("sec:x",), citations=("a", "b", "c"), figures=("b.png", "fig/a.pdf"), bibitems=("a", "c")
    )
    assert set_differences(found, found.model_copy(update={"labels": ("sec:y",)})) == ["labels: lost sec:x; new sec:y"]


def test_settled_ignores_pages_titles_and_order_unless_pages_are_printed() -> None:
    moved = AUX.replace("{{1}{3}{Intro}", "{{1}{4}{Start}").replace("[1][3][]3", "[1][4][]4")
    shuffled = "\n".join(reversed(moved.splitlines()))
    assert settled_form(AUX, with_pages=False) == settled_form(shuffled, with_pages=False)
    assert settled_form(AUX, with_pages=True) != settled_form(moved, with_pages=True)
    renumbered = AUX.replace("{{1}{3}", "{{2}{3}")
    assert settled_form(AUX, with_pages=False) != settled_form(renumbered, with_pages=False)
    assert uses_pages(["see page~\\pageref{x}"]) and not uses_pages(["see \\ref{x}"])
