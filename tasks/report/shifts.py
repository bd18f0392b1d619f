"""The shifts worth reading, for the page's script: links to word diffs, and both reviews of a judge in readable form.

Reviews and links come with the results (``sections``); which file a link may name is checked here.
"""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic import ValidationError

from storage.results import Results, ReviewPair
from tasks.report.words import plain, version_label

_PAGE = re.compile(r"versions/[A-Za-z0-9._-]+(?:/[A-Za-z0-9._-]+)*\.html")
_DEEPEST = 3


def version_pages(results: Results) -> dict[tuple[str, str], str]:
    """Family and version label -> path of the word diff, relative to the page.

    A version names its page in ``facts["page"]``, or ``sections["version_pages"]`` does (family -> label -> path).
    Anything but a plain path under ``versions/`` is no link.
    """
    found: dict[tuple[str, str], str] = {}
    section = results.sections.get("version_pages")
    named = section if isinstance(section, dict) else {}
    for family, row in named.items():
        for label, path in row.items() if isinstance(row, dict) else ():
            found[str(family), str(label)] = str(path)
    for each in results.versions:
        if isinstance(page := each.facts.get("page"), str):
            found[each.family, version_label(each.condition, each.producer)] = page
    return {place: path for place, path in found.items() if _is_page(path)}


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


def shift_parts(results: Results, columns: list[str], place: dict[str, int]) -> dict[str, Any]:
    """``pages`` (family place -> column -> path) and ``reviews`` (judge place -> rows), for the script.

    Args:
        results: what ``aggregate`` made.
        columns: the version labels in the page's order.
        place: judge -> its place in the page's order.
    """
    families = {each.family: index for index, each in enumerate(results.families)}
    column = {label: index for index, label in enumerate(columns)}
    pages: dict[int, dict[int, str]] = {}
    for (family, label), path in version_pages(results).items():
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
