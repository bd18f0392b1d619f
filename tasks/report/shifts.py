"""The shifts worth reading, for the page's script: links to word diffs, and both reviews of a judge in readable form.

Reviews and links come with the results (``sections``); which file a link may name is checked here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from storage.results import Results, ReviewPair
from tasks.report.version_page import page_file
from tasks.report.words import condition_title, plain, version_label

_PAGE = re.compile(r"versions/[A-Za-z0-9._-]+(?:/[A-Za-z0-9._-]+)*\.html")
_DEEPEST = 3


def version_pages(results: Results, beside: Mapping[str, Mapping[str, str]]) -> dict[tuple[str, str], str]:
    """Family and version label -> path of the word diff, relative to the page.

    Named by what lies beside the report, by ``sections["version_pages"]`` (both family -> label -> path), or by the
    version's own ``facts["page"]``.
    Anything but a plain path under ``versions/`` is no link.
    """
    found: dict[tuple[str, str], str] = {}
    section = results.sections.get("version_pages")
    for family, row in [*beside.items(), *(section.items() if isinstance(section, dict) else ())]:
        for label, path in row.items() if isinstance(row, Mapping) else ():
            found[str(family), str(label)] = str(path)
    for each in results.versions:
        if isinstance(page := each.facts.get("page"), str):
            found[each.family, version_label(each.condition, each.producer)] = page
    return {place: path for place, path in found.items() if _is_page(path)}


def pages_beside(results: Results, out: Path) -> dict[str, dict[str, str]]:
    """The version pages that lie in ``out/versions``: family -> label -> path, as ``sections["version_pages"]``."""
    found: dict[str, dict[str, str]] = {}
    for each in results.versions:
        file = page_file(each.family, condition_title(each.condition), each.producer)
        if (out / "versions" / file).is_file():
            row = found.setdefault(each.family, {})
            row[version_label(each.condition, each.producer)] = f"versions/{file}"
            if not each.producer:
                row[f"{each.condition}/-"] = f"versions/{file}"
    return found


def _is_page(path: str) -> bool:
    return _PAGE.fullmatch(path) is not None and ".." not in path


def review_pairs(results: Results) -> list[ReviewPair]:
    """The reviews that came with the results; none where the section is missing or of another shape."""
    section = results.sections.get("reviews")
    found = []
    for each in section if isinstance(section, list) else ():
        try:
            found.append(ReviewPair.model_validate(each))
        except ValidationError:
            continue
    return found


def shift_parts(
    results: Results, beside: Mapping[str, Mapping[str, str]], columns: list[str], place: dict[str, int]
) -> dict[str, Any]:
    """``pages`` (family place -> column -> path) and ``reviews`` (judge place -> rows), for the script.

    Args:
        results: what ``aggregate`` made.
        beside: pages of versions, family -> label -> path.
        columns: the version labels in the page's order.
        place: judge -> its place in the page's order.
    """
    families = {each.family: index for index, each in enumerate(results.families)}
    column = {label: index for index, label in enumerate(columns)}
    pages: dict[int, dict[int, str]] = {}
    for (family, label), path in version_pages(results, beside).items():
        if family in families and label in column:
            pages.setdefault(families[family], {})[column[label]] = path
    reviews: dict[int, list[list[Any]]] = {}
    for each in review_pairs(results):
        label = version_label(each.condition, each.producer)
        if each.configuration in place and each.family in families and label in column:
            texts = [readable(each.original), readable(each.reworded)]
            reviews.setdefault(place[each.configuration], []).append(
                [families[each.family], column[label], *texts, each.is_cut]
            )
    return {"pages": pages, "reviews": reviews}


def readable(answer: str) -> str:
    """A judge's answer as lines for a reader: a JSON answer by field, anything else as it is."""
    start, end = answer.find("{"), answer.rfind("}")
    try:
        value = json.loads(answer[start : end + 1]) if 0 <= start < end else None
    except ValueError:
        value = None
    return "\n".join(_lines(value, 0)) if isinstance(value, dict) and value else answer


def _lines(value: dict[str, Any], depth: int) -> list[str]:
    out = []
    for key, each in value.items():
        name = "  " * depth + plain(str(key))
        if isinstance(each, dict) and depth < _DEEPEST:
            out += [f"{name}:", *_lines(each, depth + 1)]
        elif isinstance(each, list):
            out += [f"{name}:", *("  " * depth + f"– {one}" for one in each)] if each else [f"{name}: none"]
        else:
            out.append(f"{name}: {each}")
    return out
