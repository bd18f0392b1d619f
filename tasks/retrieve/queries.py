"""What is searched for: three queries from the idea as ingested (research question, method, key concepts).

Never from a variant: all variants of an idea are to be judged beside one literature.
"""

from __future__ import annotations

import re
from typing import Final

from storage.ideas import Idea
from tasks.retrieve.cleaning import query_text

QUERIES_VERSION: Final = 1
METHOD_WORDS: Final = 25
_COMMON_WORDS: Final = """
a about above after again all also am an and any are as at be because been before being below between both but by can
could did do does doing down during each every few for from further had has have having he her here his how i if in into
is it its itself just less many may might more most much must no nor not now of off on once one only or other our out
over own same should so some such than that the their them then there these they this those through to too two under
until up use used uses using very was we were what when where which while who whom why will with within without would
you your
"""
_COMMON: Final = frozenset(_COMMON_WORDS.split())


def queries_of(idea: Idea) -> list[str]:
    """The queries of an idea in order, without doubles and empty ones."""
    content = [word for word in re.findall(r"[^\W\d_][\w-]+", idea.mechanism) if word.lower() not in _COMMON]
    method = " ".join(dict.fromkeys(content[:METHOD_WORDS]))
    found = [query_text(idea.research_question), query_text(f"{idea.title} {method}"),
             query_text(" ".join(idea.concepts))]
    return [query for query in dict.fromkeys(found) if query]


def ranking_text(idea: Idea) -> str:
    """What works are ranked against: everything that the queries are made from, whole."""
    return " ".join([idea.title, idea.research_question, idea.mechanism, *idea.concepts, *idea.variables])
