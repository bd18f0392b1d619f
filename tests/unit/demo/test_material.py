"""The demonstration's papers, ideas, literature and pairs are what the suites and the README promise."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from pathlib import Path

import pytest

SUITES = Path(__file__).resolve().parents[3] / "deployments" / "suites"
PAPERS = SUITES / "papers"
STRATA = [(1, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 8.5)]
LATIN1, CRLF, BBL_ONLY = "group-temperature", "hub-edges", "quiet-frames"


def _scores() -> dict[str, float]:
    with (PAPERS / "human.csv").open(encoding="utf-8", newline="") as file:
        return {row["family"]: float(row["score"]) for row in csv.DictReader(file)}


def _lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _folders() -> list[str]:
    return sorted(path.name for path in PAPERS.iterdir() if path.is_dir())


def _words(text: str) -> int:
    return len(text.split())


def test_every_paper_has_a_score_and_every_score_a_paper():
    assert _folders() == sorted(_scores())
    assert len(_folders()) >= 6


def test_every_stratum_has_a_paper():
    scores = _scores().values()
    for low, high in STRATA:
        assert any(low <= score < high or score == high == 8.5 for score in scores), (low, high)


@pytest.mark.parametrize("name", _folders())
def test_paper_has_one_main_file_an_abstract_and_every_input(name):
    folder = PAPERS / name
    texts = {path: path.read_bytes().decode("latin-1") for path in folder.rglob("*.tex")}
    mains = [path for path, text in texts.items() if r"\documentclass" in text]
    assert len(mains) == 1
    assert any(r"\begin{abstract}" in text for text in texts.values())
    for text in texts.values():
        for target in re.findall(r"\\(?:input|include)\{([^}]+)\}", text):
            assert (folder / f"{target}.tex").is_file(), f"{name}: {target}"


@pytest.mark.parametrize("name", _folders())
def test_every_paper_says_in_its_source_that_it_is_invented(name):
    heads = [path.read_bytes()[:200] for path in (PAPERS / name).glob("*.tex")]
    assert any(b"invented" in head for head in heads)
    assert any(rb"\author{Anonymous}" in path.read_bytes() for path in (PAPERS / name).glob("*.tex"))


@pytest.mark.parametrize("name", _folders())
def test_encoding_is_the_one_intended(name):
    bodies = [path.read_bytes() for path in (PAPERS / name).rglob("*.tex")]
    if name == LATIN1:
        assert any(b"latin1" in body for body in bodies)
        with pytest.raises(UnicodeDecodeError):
            b"".join(bodies).decode("utf-8")
    else:
        for body in bodies:
            assert body.decode("utf-8")


@pytest.mark.parametrize("name", _folders())
def test_line_ends_survive_git(name):
    for path in (PAPERS / name).rglob("*.tex"):
        body = path.read_bytes()
        carriage_returns = body.count(b"\r\n") if name == CRLF else body.count(b"\r")
        assert carriage_returns == (body.count(b"\n") if name == CRLF else 0), path


def test_forms_of_bibliography_are_all_there():
    forms = {}
    for name in _folders():
        inline = any(rb"\begin{thebibliography}" in p.read_bytes() for p in (PAPERS / name).rglob("*.tex"))
        has = {suffix for suffix in (".bib", ".bbl") if list((PAPERS / name).rglob(f"*{suffix}"))}
        assert inline != bool(has), f"{name}: references either inline or in files"
        forms[name] = "inline" if inline else "+".join(sorted(has))
    assert set(forms.values()) == {"inline", ".bib", ".bbl", ".bbl+.bib"}
    assert forms[BBL_ONLY] == ".bbl"


def test_ideas_have_every_field_and_cover_the_domains():
    ideas = _lines(SUITES / "ideas" / "ideas.jsonl")
    text = ["id", "domain", "title", "research_question", "problem", "mechanism", "contribution", "evaluation",
            "limitations"]
    lists = ["variables", "concepts"]
    assert len(ideas) >= 12
    assert len({idea["id"] for idea in ideas}) == len(ideas)
    for idea in ideas:
        assert set(idea) == {*text, *lists}, idea["id"]
        assert all(isinstance(idea[key], str) and idea[key].strip() for key in text), idea["id"]
        assert all(len(idea[key]) >= 3 and all(isinstance(item, str) for item in idea[key]) for key in lists)
        rendered = sum(_words(idea[key]) for key in text[2:]) + sum(_words(" ".join(idea[key])) for key in lists)
        assert 150 <= rendered <= 300, (idea["id"], rendered)
    assert {idea["domain"] for idea in ideas} == {
        "Computer Science", "Biology", "Mathematics", "Astronomy/Space", "Economics", "Medicine"}


def test_corpus_holds_at_least_three_hundred_different_works():
    works = _lines(SUITES / "ideas" / "corpus.jsonl")
    assert len(works) >= 300
    assert all(set(work) == {"id", "title", "abstract", "year", "authors", "doi", "source"} for work in works)
    assert all(work["title"].strip() and 1900 <= work["year"] <= 2026 for work in works)
    for unique in (lambda w: w["id"], lambda w: re.sub(r"\W+", "", w["title"].lower())):
        assert max(Counter(map(unique, works)).values()) == 1
    assert max(Counter(work["doi"] for work in works if work["doi"]).values()) == 1
    described = [work for work in works if work["abstract"]]
    assert 100 <= len(described) < len(works)
    assert all(_words(work["abstract"]) <= 40 for work in described)


@pytest.mark.corpus
def test_corpus_facts_are_those_of_the_list_of_works(shared):
    rows = (line.split("\t") for line in (shared / "works.tsv").read_text(encoding="utf-8").splitlines()[1:])

    def bare(title: str) -> str:
        return re.sub(r"\W+", "", title.lower())

    known = {(bare(row[0]), row[1], row[3].lower()) for row in rows}
    for work in _lines(SUITES / "ideas" / "corpus.jsonl"):
        assert (bare(work["title"]), str(work["year"]), work["doi"]) in known, work["title"]


def test_pairs_are_complete_balanced_and_of_one_length():
    pairs = _lines(SUITES / "pairs" / "pairs.jsonl")
    assert len(pairs) == 64
    assert len({pair["id"] for pair in pairs}) == len({pair["question"] for pair in pairs}) == 64
    for pair in pairs:
        assert set(pair) == {"id", "topic", "question", "response1", "response2", "label"}
        assert all(60 <= _words(pair[side]) <= 120 for side in ("response1", "response2")), pair["id"]
        assert pair["response1"] != pair["response2"]
    assert len({pair["topic"] for pair in pairs}) >= 8
    by_topic = Counter((pair["topic"], pair["label"]) for pair in pairs)
    assert set(by_topic.values()) == {4}
    assert {label for _, label in by_topic} == {"response1", "response2"}


def test_length_does_not_give_the_better_answer_away():
    pairs = _lines(SUITES / "pairs" / "pairs.jsonl")
    other = {"response1": "response2", "response2": "response1"}
    gaps = [_words(pair[pair["label"]]) - _words(pair[other[pair["label"]]]) for pair in pairs]
    assert abs(sum(gaps)) / len(gaps) < 8
