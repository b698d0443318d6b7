"""Dense search by the encoder's vectors, read once. A baseline."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from hoptrail.recipes.passage_settings import PassageSettings
from hoptrail.recipes.single_pass import SinglePass
from hoptrail.retrieval.units.dense import dense_search
from hoptrail.types import Ranking


@dataclass(frozen=True, slots=True)
class DenseSettings(PassageSettings):
    """The settings of every single pass."""


@dataclass(frozen=True)
class Dense(SinglePass):
    """Dense search by the encoder's vectors, read once."""

    settings: DenseSettings = field(default_factory=DenseSettings)

    name: ClassVar[str] = "dense"

    def retrieve(self, question: str) -> Ranking:
        """The `k` passages nearest to the question; scores are cosines."""
        return dense_search(self.corpus, question, self.settings.k)
