"""Keyword and dense search fused, optionally reranked, read once: plain retrieval with a reader, the baseline `direct` of papers.

Presets rerank by late interaction (ColBERT; Khattab and Zaharia 2020, section 3.3; `models/rerankers.py`): over this first stage,
or over keyword search alone, like the paper. Faithful to matching every token of the question with its best in the text. Left
out: training for late interaction (token vectors come from the configured encoder, which must give one for each token), and
end-to-end retrieval by token vectors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from hoptrail.models.rerankers import Reranker, open_reranker
from hoptrail.recipes.recipe import PassageSettings
from hoptrail.recipes.single_pass import SinglePass
from hoptrail.retrieval.units.unit_search import HybridSearchSettings, hybrid_search
from hoptrail.setting_limits import AtLeast1
from hoptrail.types import Ranking


@dataclass(frozen=True, slots=True)
class HybridSettings(PassageSettings):
    """`search` fuses the two searches; `reranker` (`late-interaction` or `cross-encoder:MODEL`; empty for none) then reorders
    the first `rerank_depth` hits.
    """

    search: HybridSearchSettings = field(default_factory=HybridSearchSettings)
    reranker: str = ""
    rerank_depth: AtLeast1 = 50


@dataclass(frozen=True)
class Hybrid(SinglePass):
    """Keyword and dense search fused, read once."""

    settings: HybridSettings = field(default_factory=HybridSettings)

    name: ClassVar[str] = "hybrid"
    presets: ClassVar[Mapping[str, HybridSettings]] = {
        "late-interaction": HybridSettings(reranker="late-interaction", rerank_depth=100),
        "late-interaction-bm25": HybridSettings(
            search=HybridSearchSettings(dense_weight=0.0), reranker="late-interaction", rerank_depth=100
        ),
    }

    def retrieve(self, question: str) -> Ranking:
        """The `k` best passages of the fused search; with a reranker, the `k` that it puts first among `rerank_depth` of them."""
        if not self.settings.reranker:
            return hybrid_search(self.corpus, question, self.settings.k, self.settings.search)
        depth = max(self.settings.k, self.settings.rerank_depth)
        candidates = hybrid_search(self.corpus, question, depth, self.settings.search)
        return self._reranker.rerank(question, candidates, self.settings.k)

    @cached_property
    def _reranker(self) -> Reranker:
        return open_reranker(self.settings.reranker, self.corpus.encoder)
