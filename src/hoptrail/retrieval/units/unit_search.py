"""Search by keywords (BM25), by vectors (the highest cosines, all compared exactly), and by both fused."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hoptrail.models.encoder import FloatMatrix
from hoptrail.models.tracing import traced_search
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.rankings import CHANNEL, best_first, convex_scores, ranked, ranked_units, reciprocal_ranks
from hoptrail.setting_limits import AtLeast1, Share, check_limits
from hoptrail.types import Hit, Kind, Ranking


@traced_search
def keyword_search(corpus: Corpus, question: str, limit: int) -> Ranking:
    """The `limit` passages with the highest BM25 score: Robertson and Zaragoza 2009, with Lucene's idf (`corpus/keywords.py`)."""
    found = corpus.snapshot.search.keywords(question, limit)
    return ranked((Hit(unit, score, "keyword") for unit, score in found), limit)


@traced_search
def dense_search(corpus: Corpus, question: str, limit: int, kinds: tuple[Kind, ...] = (Kind.PASSAGE,)) -> Ranking:
    """The `limit` units of `kinds` nearest to the question; scores are cosines, -1 to 1."""
    vector = corpus.encoder.encode([question])[0]
    hits = [hit for kind in kinds for hit in nearest(corpus, vector, limit, kind)]
    return ranked(hits, limit)


def nearest(
    corpus: Corpus, vector: FloatMatrix, limit: int, kind: Kind, among: Collection[str] | None = None
) -> Ranking:
    """The `limit` units of one kind nearest to `vector` (shape (dimension,), length 1), optionally only `among` these ids."""
    cosines = dict(corpus.snapshot.search.nearest(kind, vector[np.newaxis], limit, among)[0])
    return ranked_units(corpus.snapshot, kind, cosines, "dense")


@dataclass(frozen=True, slots=True)
class HybridSearchSettings:
    """How the two rankings are fused, `depth` hits of each.

    `fusion` is `convex` (scores as shares of the best, weighted `dense_weight` for dense and the rest for keyword) or `rrf`
    (ranks).
    """

    fusion: str = "convex"
    dense_weight: Share = 0.5
    depth: AtLeast1 = 100

    def __post_init__(self) -> None:
        check_limits(self)
        if self.fusion not in ("convex", "rrf"):
            raise ValueError(f"fusion is convex or rrf, not {self.fusion}")

    def fused(self, rankings: Sequence[Mapping[str, float]], weights: Sequence[float], depth: int) -> dict[str, float]:
        """The fused scores of rankings of at most `depth` units; `rrf` ignores the weights."""
        if self.fusion == "rrf":
            return reciprocal_ranks(rankings)
        return convex_scores(rankings, weights, depth)


@traced_search
def hybrid_search(
    corpus: Corpus, question: str, limit: int, settings: HybridSearchSettings = HybridSearchSettings()
) -> Ranking:
    """The `limit` best passages by keyword and dense search fused."""
    depth = max(limit, settings.depth)
    snapshot, vector = corpus.snapshot, corpus.encoder.encode([question])
    rankings = [
        dict(snapshot.keywords.search(question, depth)),
        dict(snapshot.search.nearest(Kind.PASSAGE, vector, depth)[0]),
    ]
    best = best_first(settings.fused(rankings, [1 - settings.dense_weight, settings.dense_weight], depth), limit)
    units = snapshot.numbered.in_order(list(best))  # includes units without a vector yet
    return ranked(Hit(unit, best[unit.id], CHANNEL) for unit in units)
