"""Rank a flat pool: units of several kinds, and summaries of all levels of trees, as one list.

SiReRAG section 4.3 and RAPTOR's collapsed tree search such a pool; nothing here walks a tree. There are four scorers. Three are
those of SiReRAG's Table 6: dense vectors; BM25 with the statistics of the whole pool; late interaction over dense candidates. The
fourth, `hybrid`, fuses dense and BM25.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Literal

import numpy as np

from hoptrail.corpus.searching import top_rows
from hoptrail.corpus.snapshot import Snapshot, cached_per_snapshot
from hoptrail.models.encoder import FloatMatrix
from hoptrail.models.rerankers import open_reranker
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.rankings import Pool, convex_scores, ranked, ranked_units, rescored, scores_of
from hoptrail.retrieval.units.unit_search import nearest
from hoptrail.types import Kind, Ranking, Unit
from hoptrail_papers.keyword_statistics import KeywordStatistics
from hoptrail_papers.sirerag.tree_store import LEAVES, level_of


@dataclass(frozen=True, slots=True)
class TreePool(Pool):
    """Units of these `kinds`, and summaries of these `trees`; of trees in `lowest` only the first level."""

    trees: tuple[str, ...] = ()
    lowest: tuple[str, ...] = ()

    @classmethod
    def of(cls, pool: Pool) -> TreePool:
        """The pool, without summaries if it has no trees."""
        return pool if isinstance(pool, TreePool) else cls(pool.kinds)

    def units(self, snapshot: Snapshot) -> Iterator[Unit]:
        return chain(Pool.units(self, snapshot), snapshot.units(Kind.SUMMARY, summaries_of(snapshot, self)))

    def size(self, snapshot: Snapshot) -> int:
        summaries = summaries_of(snapshot, self).intersection(snapshot.table.ids(Kind.SUMMARY)) if self.trees else ()
        return Pool.size(self, snapshot) + len(summaries)


@cached_per_snapshot
def summaries_of(snapshot: Snapshot, pool: TreePool) -> frozenset[str]:
    """Group ids of a pool's trees, including groups whose summary is not made yet."""
    groups = ((tree, link.source) for tree in pool.trees for link in snapshot.links(tree))
    return frozenset(group for tree, group in groups if tree not in pool.lowest or level_of(group) == LEAVES + 1)


Scorer = Literal["dense", "bm25", "hybrid", "late-interaction"]
FUSED_DEPTH = 100  # hits of each fused ranking

WIDENINGS = (1, 8, 64, 512)
"""Factors by which more and more summaries are requested while too many of the nearest belong to other trees."""

LATE_INTERACTION_DEPTH = 100
"""Dense candidates that late interaction scores: token vectors of a whole pool would be gigabytes."""


def search_pool(corpus: Corpus, question: str, pool: TreePool, limit: int, scorer: Scorer) -> Ranking:
    """The `limit` best units of the pool; the meaning of scores depends on the scorer."""
    match scorer:
        case "dense":
            return _dense(corpus, question, pool, limit)
        case "bm25":
            return _by_keywords(corpus, question, pool, limit)
        case "hybrid":
            depth = max(limit, FUSED_DEPTH)
            rankings = [search(corpus, question, pool, depth) for search in (_by_keywords, _dense)]
            return rescored(rankings, convex_scores(list(map(scores_of, rankings)), (0.5, 0.5), depth), limit)
        case "late-interaction":
            candidates = _dense(corpus, question, pool, max(limit, LATE_INTERACTION_DEPTH))
            return open_reranker(scorer, corpus.encoder).rerank(question, candidates, limit)


def _by_keywords(corpus: Corpus, question: str, pool: TreePool, limit: int) -> Ranking:
    """BM25 over the whole pool in memory: the statistics of the stored keyword index are those of one kind."""
    units, statistics = _statistics(corpus.snapshot, pool)
    scores = statistics.scores(question)
    score_of = {units[row][0]: float(scores[row]) for row in top_rows(scores, limit) if scores[row] > 0}
    kinds = {kind for id_, kind in units if id_ in score_of}
    return ranked(hit for kind in kinds for hit in ranked_units(corpus.snapshot, kind, score_of, "keyword"))


@cached_per_snapshot
def _statistics(snapshot: Snapshot, pool: TreePool) -> tuple[list[tuple[str, Kind]], KeywordStatistics]:
    """The units of a pool by rising id, and the statistics of their texts in that order."""
    rows = sorted((unit.id, unit.kind, unit.searchable) for unit in pool.units(snapshot))
    return [(id_, kind) for id_, kind, _ in rows], KeywordStatistics.of(text for _, _, text in rows)


def _dense(corpus: Corpus, question: str, pool: TreePool, limit: int) -> Ranking:
    vector = corpus.encoder.encode([question])[0]
    hits = [hit for kind in pool.kinds for hit in nearest(corpus, vector, limit, kind)]
    if pool.trees:
        summaries = _nearest_summaries(corpus.snapshot, vector, limit, pool)
        hits += ranked_units(corpus.snapshot, Kind.SUMMARY, summaries, "dense")
    return ranked(hits, limit)


def _nearest_summaries(snapshot: Snapshot, vector: FloatMatrix, limit: int, pool: TreePool) -> dict[str, float]:
    """Summary ids with cosines. Other trees' summaries may be nearer: search ever deeper, finally the pool's trees alone."""
    for factor in WIDENINGS:
        nearest_of_all = dict(snapshot.search.nearest(Kind.SUMMARY, vector[np.newaxis], factor * limit)[0])
        own = summaries_of(snapshot, pool).intersection(nearest_of_all)
        if len(own) >= limit or len(nearest_of_all) == snapshot.count(Kind.SUMMARY):
            return {id_: score for id_, score in nearest_of_all.items() if id_ in own}
    return dict(snapshot.search.nearest(Kind.SUMMARY, vector[np.newaxis], limit, among=summaries_of(snapshot, pool))[0])
