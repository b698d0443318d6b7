"""Keyword and dense search fused: the first stage of most recipes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.fuse import CHANNEL, convex_scores, reciprocal_ranks
from hoptrail.retrieval.ranking import ranked
from hoptrail.types import Hit, Kind, Ranking


@dataclass(frozen=True, slots=True)
class HybridSearchSettings:
    """How the two rankings are fused, `depth` hits of each.

    `fusion` is `convex` (scores as shares of the best, weighted `dense_weight` for dense and the rest for keyword) or `rrf`
    (ranks, with `rrf_constant`).
    """

    fusion: str = "convex"
    dense_weight: float = 0.5
    rrf_constant: float = 60.0
    depth: int = 100

    def __post_init__(self) -> None:
        if self.fusion not in ("convex", "rrf"):
            raise ValueError(f"fusion is convex or rrf, not {self.fusion}")
        if not 0 <= self.dense_weight <= 1:
            raise ValueError(f"dense_weight lies between 0 and 1, not {self.dense_weight}")
        if self.depth < 1 or not 0 <= self.rrf_constant < math.inf:
            raise ValueError("depth is at least 1 and rrf_constant at least 0 and finite")


def hybrid_search(corpus: Corpus, question: str, limit: int, settings: HybridSearchSettings) -> Ranking:
    """The `limit` best passages by keyword and dense search fused."""
    depth = max(limit, settings.depth)
    snapshot, vector = corpus.snapshot, corpus.encoder.encode([question])
    rankings = [
        dict(snapshot.search.keyword_scores(question, depth)),
        dict(snapshot.search.nearest(Kind.PASSAGE, vector, depth)[0]),
    ]
    if settings.fusion == "rrf":
        scores = reciprocal_ranks(rankings, settings.rrf_constant)
    else:
        scores = convex_scores(rankings, [1 - settings.dense_weight, settings.dense_weight], depth)
    best = dict(sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:limit])
    units = snapshot.texts.units(snapshot.texts.numbers(list(best)))  # includes units without a vector yet
    return ranked(Hit(unit, best[unit.id], CHANNEL) for unit in units)
