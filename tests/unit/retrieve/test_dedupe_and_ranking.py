"""One work, one entry; the closest first, those without an abstract last."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tasks.retrieve.dedupe import unique
from tasks.retrieve.ranking import ranked
from tasks.retrieve.snapshot import literature
from tasks.retrieve.works import Found


def found(title, **fields):
    return Found(title=title, provider="openalex", **fields)


def test_versions_are_one_and_comments_are_none(idea):
    """B63."""
    title = "Slow waves over rough ground: a field study"
    works = [
        found(title.upper(), doi="10.48550/arxiv.2199.00001", year=2020, authors=("A. Wave",), kind="preprint",
              abstract="long abstract"),
        found(f"<i>{title}</i>".replace("<i>", "").replace("</i>", ""), doi="10.5555/jx-12-34-2021", year=2021,
              authors=("Anna Wave",), kind="article"),
        found(title, doi="10.5555/jx-2021-9", year=2021, authors=("Anna Wave",), kind="article"),
        found(f"Comment on jx-2021-9: {title}", doi="10.5555/jx-2021-9-rc1", year=2021, kind="peer-review"),
        found(title, doi="10.5555/jx-2021-9-ac1", year=2021, authors=("Anna Wave",)),
        found("Editorial", doi="10.5555/e1", year=2001, authors=("B. One",)),
        found("Editorial", doi="10.5555/e2", year=2015, authors=("C. Two",)),
        found("The Paper Itself", doi="10.9999/other", year=2024),
    ]
    kept = unique(works, idea)
    assert [work.title for work in kept.works] == [title, "Editorial", "Editorial"]
    assert kept.works[0].doi == "10.5555/jx-12-34-2021"
    assert kept.works[0].abstract == "long abstract"
    assert "merged" in kept.works[0].flags
    assert (kept.dropped, kept.merged, kept.excluded) == (2, 2, 1)


def test_the_ideas_own_paper_is_left_out_by_doi(idea):
    assert unique([found("Another title", doi="10.5555/self")], idea).excluded == 1


def test_short_titles_without_authors_are_not_merged(idea):
    assert len(unique([found("Introduction", year=2001), found("Introduction", year=2001)], idea).works) == 2


def test_missing_years_and_abstracts_rank_without_errors():
    """B59, B69."""
    works = [found("nothing here"), found("entailment of answers", abstract="cached answers and entailment"),
             found("cached answers", year=None), found("unrelated", abstract="sea ice"), found("", abstract="")]
    order = [each.found.title for each in ranked(works, "cached answers entailment")]
    assert order[:2] == ["entailment of answers", "unrelated"]
    assert order[2] == "cached answers"


def test_ranking_nothing_is_nothing():
    assert ranked([], "words") == []
    assert [each.score for each in ranked([found("a b", abstract="")], "")] == [0.0]


@given(st.lists(st.tuples(st.text(min_size=1, max_size=12), st.sampled_from(["", "10.5555/a", "10.5555/b"]),
                          st.none() | st.integers(1990, 2025)), max_size=25))
def test_unique_works_have_unique_dois_and_none_is_invented(rows):
    from storage.ideas import Idea

    idea = Idea(title="zzz qqq", domain="x", research_question="?", problem="p", mechanism="m", contribution="c")
    works = [found(title, doi=doi, year=year) for title, doi, year in rows]
    kept = unique(works, idea).works
    dois = [work.doi for work in kept if work.doi]
    assert len(dois) == len(set(dois))
    assert len(kept) <= len(works)


def test_the_list_can_be_cut_between_works():
    works = [found(f"Title {n}", abstract="word " * 500, year=2000 + n) for n in range(3)] + [found("Bare")]
    text = literature(works)
    parts = text.split("\n\n")
    assert len(parts) == 4
    assert parts[0].startswith("[1] Title 0 (2000)\nword")
    assert parts[0].endswith("...")
    assert parts[3] == "[4] Bare\n(no abstract)"
    assert literature([]) == "(No related work was found.)"
