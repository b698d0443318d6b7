"""Keyword and dense search fused, optionally reranked by late interaction, read once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from hoptrail.recipes.single_pass import SinglePass, SinglePassSettings
from hoptrail.retrieval.hybrid import HybridSearchSettings, hybrid_search
from hoptrail.types import Ranking


@dataclass(frozen=True, slots=True)
class HybridSettings(SinglePassSettings):
    """How the two searches are fused."""

    search: HybridSearchSettings = field(default_factory=HybridSearchSettings)


@dataclass(frozen=True)
class Hybrid(SinglePass):
    """Keyword and dense search fused, read once."""

    settings: HybridSettings = field(default_factory=HybridSettings)

    name: ClassVar[str] = "hybrid"

    def retrieve(self, question: str) -> Ranking:
        return hybrid_search(self.corpus, question, self.settings.k, self.settings.search)
