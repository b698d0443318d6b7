"""Keyword and dense search together: the first stage that most recipes start from."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.fuse import convex_fusion, reciprocal_rank_fusion
from hoptrail.retrieval.units.dense import dense_search
from hoptrail.retrieval.units.keyword import keyword_search
from hoptrail.types import Ranking


@dataclass(frozen=True, slots=True)
class HybridSearchSettings:
    """How the two rankings become one.

    `fusion` is `convex` (scores as shares of the best, `dense_weight` for dense and the rest for keyword) or `rrf` (ranks,
    with `rrf_constant`). `depth` hits of each are fused.
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


def hybrid_search(
    corpus: Corpus,
    question: str,
    limit: int,
    settings: HybridSearchSettings,
) -> Ranking:
    """The `limit` best passages by keyword and dense search fused."""
    depth = max(limit, settings.depth)
    rankings = [keyword_search(corpus, question, depth), dense_search(corpus, question, depth)]
    if settings.fusion == "rrf":
        return reciprocal_rank_fusion(rankings, limit, settings.rrf_constant)
    return convex_fusion(rankings, [1 - settings.dense_weight, settings.dense_weight], limit, depth)
