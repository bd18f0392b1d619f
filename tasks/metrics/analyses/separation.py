"""Do records of one paper stay together? Cosines of embedded records, of one paper against other papers.

Here belong the cosines, and an embedding that needs no model: hashed word n-grams, weighted by how rare they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from itertools import pairwise

import numpy as np

from storage.vocabulary import NULL_ARM, ORIGINAL
from tasks.metrics.analyses.result import Analysis, Line, Panel, PlotPoint, Row, point
from tasks.metrics.analyses.spec import EmbeddingSeparation
from tasks.metrics.effects import split_label
from tasks.metrics.grid import Floats, Point
from tasks.metrics.intervals import estimate, mean_t_interval

BUCKETS = 1 << 14
_TOKEN = re.compile(r"[a-zà-ÿ]{2,}|\d+(?:\.\d+)?")
LOCAL = "hashed word n-grams, weighted by rarity (made here, no model)"


def _buckets(text: str) -> list[int]:
    tokens = _TOKEN.findall(text.lower())
    grams = [*tokens, *(f"{a} {b}" for a, b in pairwise(tokens))]
    return [int.from_bytes(blake2b(gram.encode(), digest_size=4).digest(), "big") % BUCKETS for gram in grams]


def local_embeddings(texts: Sequence[str]) -> Floats:
    """Unit vectors of texts: log counts of hashed uni- and bigrams times log(N / documents) (shape: texts x buckets).

    Args:
        texts: the whole collection; rarity is measured in it.
    """
    counts = np.zeros((len(texts), BUCKETS), dtype=np.float64)
    for place, text in enumerate(texts):
        np.add.at(counts[place], _buckets(text), 1.0)
    documents = (counts > 0).sum(axis=0)
    rarity = np.log((1 + len(texts)) / (1 + documents)) + 1.0
    return unit(np.log1p(counts) * rarity)


def unit(vectors: Floats) -> Floats:
    """Vectors of length 1; zero vectors stay zero."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0))


def _auc(matched: Floats, crossed: Floats) -> float:
    """The probability that a matched pair is closer than a crossed one; ties count one half."""
    ordered = np.sort(crossed)
    below = np.searchsorted(ordered, matched, side="left")
    upto = np.searchsorted(ordered, matched, side="right")
    return float((below + upto).sum() / 2 / (matched.size * crossed.size))


def separation(
    spec: EmbeddingSeparation, vectors: Mapping[tuple[str, str], Floats], how: str = LOCAL
) -> Analysis:
    """Cosines of matched pairs (a paper's original and a rewrite of it) against cross-paper pairs, by producer.

    Args:
        spec: the analysis.
        vectors: (family, version label) -> the record's embedding.
        how: what embedded them, for the reader.
    """
    note = (f"Cosine of records by {how}: the record of an original against those of its rewrites (matched), and "
            "against those of other papers' rewrites (crossed). Records that keep the science and drop the wording "
            "stay matched.")
    families = sorted({family for family, version in vectors if version == ORIGINAL})
    rows: list[Row] = []
    lines: dict[str, list[PlotPoint]] = {"matched": [], "crossed": []}
    producers = sorted({split_label(version)[1] for _, version in vectors
                        if version != ORIGINAL and split_label(version)[0] not in NULL_ARM})
    for producer in producers:
        keys = [key for key in vectors if key[1] != ORIGINAL and split_label(key[1])[1] == producer
                and split_label(key[1])[0] not in NULL_ARM and key[0] in families]
        if len(families) < 2 or not keys:
            continue
        originals = unit(np.stack([vectors[family, ORIGINAL] for family in families]))
        cosines = unit(np.stack([vectors[key] for key in keys])) @ originals.T
        own = np.asarray([families.index(family) for family, _ in keys])
        is_matched = own[:, None] == np.arange(len(families))[None, :]
        sides = {}
        gaps = []
        for name, mask in (("matched", is_matched), ("crossed", ~is_matched)):
            places = sorted(set(own.tolist()))
            means = np.asarray([cosines[own == place][mask[own == place]].mean() for place in places])
            gaps.append(means)
            sides[name] = estimate(Point(float(cosines[mask].mean()), int(mask.sum())), mean_t_interval(means))
            found = point(producer or "–", sides[name], f"{name}, {producer}")
            if found is not None:
                lines[name].append(found)
        gap = gaps[0] - gaps[1]
        difference = estimate(Point(float(gap.mean()), gap.size), mean_t_interval(gap))
        rows.append(Row(label=producer or "–", values=[
            sides["matched"], sides["crossed"], difference, _auc(cosines[is_matched], cosines[~is_matched])]))
    if not rows:
        return Analysis(name=spec.name, kind=spec.kind, note=note, reason="needs records of two papers and a rewrite")
    panel = Panel(title="Cosine of records", x_title="", lines=[Line(name=n, points=p) for n, p in lines.items()])
    return Analysis(name=spec.name, kind=spec.kind, note=note, rows=rows, panels=[panel],
                    columns=["matched", "crossed", "difference", "chance that matched is closer"])
